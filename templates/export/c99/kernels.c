/* The parts of btd_solver.c over the kernels of a CPU target, which stand before them. */

@@ kernels: targets that have kernels
/* ---- the interface, over the kernels ---- */

static void reset_workspace(btd_workspace* workspace) {
    double* reduction = (double*)(workspace->bytes + TRIFOLD_OFFSET_REDUCTION); /* kernels write to the ends of chains only */
    for (int k = 0; k < BTD_HORIZON; ++k) {
        reduction[k] = 0;
@RESET@
    }
    workspace->factored = outcome(BTD_NOT_FACTORED, -1, -1);
}

/* The arguments of every kernel; a factorization has no b and x. Elements of a block of b are BTD_RHS apart, blocks VECTOR. */
static trifold_args arguments(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x@U_DEFINED@) {
    const trifold_strides strides = {BTD_RHS, 1, VECTOR, SIZE};
    const trifold_args args = {.d = d,
                               .e = e,
                               .b = b,
                               .x = x,
@U_FIELD@
                               .b_strides = strides,
                               .x_strides = strides,
                               .columns = BTD_RHS,
                               .members = 1,
                               .workspace = workspace->bytes};
    return args;
}

static void* scratch_of(btd_workspace* workspace) { return workspace->bytes + TRIFOLD_OFFSET_SCRATCH; }

/* The status that a factorization left in its workspace. */
static btd_status finish(btd_workspace* workspace, const trifold_args* args) {
    TRIFOLD_KERNEL_FINISH_FACTOR(args, &every_block, 0, 1, NULL);
    const trifold_status* status = (const trifold_status*)(workspace->bytes + TRIFOLD_OFFSET_STATUS);
    if (status->block >= 0) {
        workspace->factored = outcome(BTD_NOT_POSITIVE_DEFINITE, (int)status->block, (int)status->row);
    } else {
        workspace->factored = outcome(status->nearly_singular ? BTD_NEARLY_SINGULAR : BTD_OK, -1, -1);
    }
    return workspace->factored;
}

BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const btd_real* BTD_RESTRICT d, const btd_real* BTD_RESTRICT e@FACTOR_DEFINED@) {
    const trifold_args args = arguments(workspace, d, e, NULL, NULL@GIVEN_SHAPE@);
    TRIFOLD_KERNEL_FACTOR(&args, &every_block, 0, 1, scratch_of(workspace));
    return finish(workspace, &args);
}

@@ sweeps: targets that have kernels, few right-hand sides
BTD_CODE btd_status btd_solve(btd_workspace* workspace, const btd_real* b, btd_real* x) {
    trifold_args args = arguments(workspace, NULL, NULL, b, x);
    if (!is_computed(workspace->factored)) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    TRIFOLD_KERNEL_FORWARD(&args, &every_block, 0, 1, scratch_of(workspace));
    args.b = x;
    TRIFOLD_KERNEL_BACKWARD(&args, &every_block, 0, 1, scratch_of(workspace));
    return solved(check_finite(x), workspace->factored);
}

/* The forward sweep rides with the factorization. */
BTD_CODE btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    trifold_args args = arguments(workspace, d, e, b, x);
    TRIFOLD_KERNEL_FACTOR_FORWARD(&args, &every_block, 0, 1, scratch_of(workspace));
    const btd_status status = finish(workspace, &args);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    args.b = x;
    TRIFOLD_KERNEL_BACKWARD(&args, &every_block, 0, 1, scratch_of(workspace));
    return solved(check_finite(x), status);
}

@@ panels: targets that have kernels, many right-hand sides
/* x = A^-1 b. Kernels take at most TRIFOLD_RHS right-hand sides in a call. */
static void solve_panels(btd_workspace* workspace, const btd_real* b, btd_real* x) {
    for (int first = 0; first < BTD_RHS; first += TRIFOLD_RHS) {
        trifold_args args = arguments(workspace, NULL, NULL, b + first, x + first);
        args.first_column = first;
        args.columns = BTD_RHS - first < TRIFOLD_RHS ? BTD_RHS - first : TRIFOLD_RHS;
        TRIFOLD_KERNEL_FORWARD(&args, &every_block, 0, 1, scratch_of(workspace));
        args.b = args.x;
        TRIFOLD_KERNEL_BACKWARD(&args, &every_block, 0, 1, scratch_of(workspace));
    }
}

BTD_CODE btd_status btd_solve(btd_workspace* workspace, const btd_real* b, btd_real* x) {
    if (!is_computed(workspace->factored)) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    solve_panels(workspace, b, x);
    return solved(check_finite(x), workspace->factored);
}

BTD_CODE btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    const btd_status status = btd_factor(workspace, d, e);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    solve_panels(workspace, b, x);
    return solved(check_finite(x), status);
}

@@ general: general matrices
/* X of A X = B or, `turned`, of A' X = B. Kernels take at most TRIFOLD_RHS right-hand sides in a call. */
static btd_status solve_panels(btd_workspace* workspace, const btd_real* b, btd_real* x, int turned) {
    if (!is_computed(workspace->factored)) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    for (int first = 0; first < BTD_RHS; first += TRIFOLD_RHS) {
        trifold_args args = arguments(workspace, NULL, NULL, b + first, x + first, NULL);
        args.columns = BTD_RHS - first < TRIFOLD_RHS ? BTD_RHS - first : TRIFOLD_RHS;
        if (turned) {
            TRIFOLD_KERNEL_FORWARD_TRANSPOSED(&args, &every_block, 0, 1, scratch_of(workspace));
        } else {
            TRIFOLD_KERNEL_FORWARD(&args, &every_block, 0, 1, scratch_of(workspace));
        }
        args.b = args.x;
        if (turned) {
            TRIFOLD_KERNEL_BACKWARD_TRANSPOSED(&args, &every_block, 0, 1, scratch_of(workspace));
        } else {
            TRIFOLD_KERNEL_BACKWARD(&args, &every_block, 0, 1, scratch_of(workspace));
        }
    }
    return solved(check_finite(x), workspace->factored);
}

BTD_CODE btd_status btd_solve(btd_workspace* workspace, const btd_real* b, btd_real* x) { return solve_panels(workspace, b, x, 0); }

BTD_CODE btd_status btd_solve_transposed(btd_workspace* workspace, const btd_real* b, btd_real* x) {
    return solve_panels(workspace, b, x, 1);
}

@@ inertia: targets that have kernels, pivots of both signs, and general matrices
static const trifold_inertia* inertia_of(const btd_workspace* workspace) {
    const trifold_status* status = (const trifold_status*)(workspace->bytes + TRIFOLD_OFFSET_STATUS);
    return is_computed(workspace->factored) ? (const trifold_inertia*)(status + 1) : NULL;
}

int btd_negative_pivots(const btd_workspace* workspace) {
    const trifold_inertia* inertia = inertia_of(workspace);
    return inertia == NULL ? -1 : (int)inertia->negative;
}

btd_real btd_growth(const btd_workspace* workspace) {
    const trifold_inertia* inertia = inertia_of(workspace);
    return inertia == NULL ? 0 : (btd_real)inertia->growth;
}

@@ least_pivot: targets that have kernels
btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d) {
    (void)d;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    return (btd_real)((const trifold_status*)(workspace->bytes + TRIFOLD_OFFSET_STATUS))->least_pivot;
}
