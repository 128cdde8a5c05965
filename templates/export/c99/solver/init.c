/* ---- memory ---- */

size_t btd_workspace_size(void) { return sizeof(btd_workspace); }

btd_workspace* btd_init(void* memory) {
    btd_workspace* workspace = NULL;
    if (memory != NULL && (uintptr_t)memory % BTD_ALIGNMENT == 0) {
        workspace = (btd_workspace*)memory;
        reset_workspace(workspace);
    }
    return workspace;
}
