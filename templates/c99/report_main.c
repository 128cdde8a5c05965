/* Instructions of a factorization and of a solve, as JSON: see `make report`. */
static btd_workspace workspace;
static btd_real x[SIZE];

static void print_call(const char* call, unsigned long instructions, unsigned long flops, const char* after) {
    printf("  \"%s\": {\"instructions\": %lu, \"flops\": %lu, \"instructions_per_flop\": %.3f}%s\n", call, instructions, flops,
           (double)instructions / (double)(flops > 0 ? flops : 1), after);
}

static void print_report(const char* counted_by, unsigned long factor, unsigned long solve) {
    printf("{\n  \"target\": \"%s\",\n  \"compiler\": \"%s\",\n", TARGET, __VERSION__);
    printf("  \"flags\": \"%s\",\n  \"counted_by\": \"%s\",\n", FLAGS, counted_by);
    print_call("factor", factor, FACTOR_FLOPS, ",");
    print_call("solve", solve, SOLVE_FLOPS, "");
    printf("}\n");
}

static int run_factor(void) { return btd_factor(&workspace, d, e).code != BTD_OK; }
static int run_solve(void) { return btd_solve(&workspace, b, x).code != BTD_OK; }
