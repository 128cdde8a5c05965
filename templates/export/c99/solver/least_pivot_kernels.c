btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d) {
    (void)d;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    return (btd_real)((const trifold_status*)(workspace->bytes + TRIFOLD_OFFSET_STATUS))->least_pivot;
}
