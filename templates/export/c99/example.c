/* The parts of example_main.c; report_main.c has the problem too. */

@@ made_up_problem: where the request has no numbers
/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static btd_real d[BTD_D_SIZE];
static btd_real e[BTD_E_SIZE];
static btd_real b[SIZE];

static btd_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (btd_real)((int)(state >> 27) - 16) / 16;
}

static void make_problem(void) {
    int i, r, c;
    for (i = 0; i < BTD_HORIZON; ++i) {
        for (r = 0; r < BTD_BLOCK; ++r) {
            for (c = 0; c < r; ++c) {
                d[BTD_D(i, r, c)] = random_number();
                d[BTD_D(i, c, r)] = @MIRROR@;
            }
            d[BTD_D(i, r, r)] = @DIAGONAL@;
        }
    }
    for (i = 0; i@MORE@ < BTD_HORIZON; ++i) {
        for (r = 0; r < BTD_BLOCK; ++r) {
            for (c = 0; c < BTD_BLOCK; ++c) {
                e[BTD_E(i, r, c)] = random_number();
@MAKE_U@
            }
        }
    }
@MAKE_SHAPE@
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}

@@ made_up_border: in front of made_up_problem, borders
static btd_real f[BTD_HORIZON * BTD_BORDER * BTD_BLOCK];
static btd_real corner[BTD_BORDER * BTD_BORDER];

@@ make_border: in made_up_problem, borders
    for (i = 0; i < BTD_HORIZON * BTD_BORDER * BTD_BLOCK; ++i) {
        f[i] = random_number();
    }
    for (r = 0; r < BTD_BORDER; ++r) {
        for (c = 0; c < r; ++c) {
            corner[r * BTD_BORDER + c] = random_number();
            corner[c * BTD_BORDER + r] = corner[r * BTD_BORDER + c];
        }
        corner[r * BTD_BORDER + r] = BTD_HORIZON * BTD_BLOCK + BTD_BORDER;
    }

@@ made_up_sizes: in front of made_up_problem, sizes
/* The last block has a row less than the others, unless these have one. */
static int sizes[BTD_HORIZON];

@@ make_sizes: in made_up_problem, sizes
    for (i = 0; i < BTD_HORIZON; ++i) {
        sizes[i] = i + 1 == BTD_HORIZON && BTD_BLOCK > 1 ? BTD_BLOCK - 1 : BTD_BLOCK;
    }

@@ given_problem: where the request has the problem's numbers
/* The problem of btd_data.c. */
static const btd_real* const d = btd_data_d;
static const btd_real* const e = btd_data_e;
static const btd_real* const b = btd_data_b;

static void make_problem(void) {}

@@ given_matrix: factors that are constants
/* A made-up right-hand side of multiples of 1/16, the same on every machine. */
static btd_real b[SIZE];

static void make_problem(void) {
    uint32_t state = 1;
    int i;
    for (i = 0; i < SIZE; ++i) {
        state = state * 1664525U + 1013904223U;
        b[i] = (btd_real)((int)(state >> 27) - 16) / 16;
    }
}

@@ solver: a solver that factors
static btd_workspace workspace;
static btd_real x[SIZE];

enum { PROBLEMS = 1 };
static const double shifts[PROBLEMS] = {0};

static btd_status run_example(int problem) {
    (void)problem;
    btd_init(&workspace);
    return btd_factor_solve(&workspace, d, e, b, x@SHAPE_ARGUMENT@);
}

@@ refined: a solver that refines
static btd_workspace workspace;
static btd_real x[SIZE], residual[SIZE];

enum { PROBLEMS = 1 };
static const double shifts[PROBLEMS] = {0};

static btd_status run_example(int problem) {
    (void)problem;
    btd_init(&workspace);
    const btd_status status = btd_factor(&workspace, d, e);
    return status.code == BTD_OK ? btd_solve_refined(&workspace, d, e, b, x, residual) : status;
}

@@ prefactored: factors that are constants
/* The matrix of btd_data.c. */
static const btd_real* const d = btd_data_d;
static const btd_real* const e = btd_data_e;
static btd_real x[SIZE];

enum { PROBLEMS = BTD_SHIFTS };
static const double shifts[PROBLEMS] = BTD_SHIFT_LIST;

static btd_status run_example(int problem) { return btd_solve(problem, b, x); }

@@ multiply_row: always; exports for GPUs too
/* Row r of block i of (A + shift I) x, for the column at which x points; and the sum of the row's absolute values. */
static double multiply_row(const btd_real* d_, const btd_real* e_, const btd_real* x_, double shift, size_t i, size_t r, double* sum) {
    double value = 0;
    size_t k;
    for (k = 0; k < BTD_BLOCK; ++k) {
@LOWER@
        const double a = (double)d_[BTD_D(i, @ROW@, @COLUMN@)] + (r == k ? shift : 0);
        value += a * (double)x_[(i * BTD_BLOCK + k) * BTD_RHS];
        *sum += fabs(a);
        if (i > 0) {
            const double before = (double)e_[BTD_E(i - 1, r, k)];
            value += before * (double)x_[((i - 1) * BTD_BLOCK + k) * BTD_RHS];
            *sum += fabs(before);
        }
        if (i + 1 < BTD_HORIZON) {
            const double after = (double)@AFTER@;
            value += after * (double)x_[((i + 1) * BTD_BLOCK + k) * BTD_RHS];
            *sum += fabs(after);
        }
    }
    return value;
}

@@ shape_row: rings, borders, sizes
static double term(double a, double x_, double* sum) {
    *sum += fabs(a);
    return a * x_;
}

/* Likewise row `row` of all of A. */
static double shape_row(const btd_real* d_, const btd_real* e_, const btd_real* x_, double shift, size_t row, double* sum) {
    const size_t i = row / BTD_BLOCK, r = row % BTD_BLOCK;
    double value = i < BTD_HORIZON ? multiply_row(d_, e_, x_, shift, i, r, sum) : 0;
@TERMS@
    return value;
}

@@ ring_terms: in shape_row, rings
    for (size_t k = 0; k < BTD_BLOCK; ++k) {
        const size_t last = BTD_HORIZON - 1;
        value += i == 0 ? term((double)e_[BTD_E(last, r, k)], (double)x_[(last * BTD_BLOCK + k) * BTD_RHS], sum) : 0;
        value += i == last ? term((double)e_[BTD_E(last, k, r)], (double)x_[k * BTD_RHS], sum) : 0;
    }

@@ border_terms: in shape_row, borders
    const size_t rows = (size_t)BTD_HORIZON * BTD_BLOCK;
    for (size_t k = 0; k < rows && row >= rows; ++k) {
        value += term((double)f[(k / BTD_BLOCK * BTD_BORDER + row - rows) * BTD_BLOCK + k % BTD_BLOCK], (double)x_[k * BTD_RHS], sum);
    }
    for (size_t k = 0; k < BTD_BORDER; ++k) {
        const btd_real a = row < rows ? f[(i * BTD_BORDER + k) * BTD_BLOCK + r] : corner[(row - rows) * BTD_BORDER + k];
        value += term((double)a, (double)x_[(rows + k) * BTD_RHS], sum);
    }

@@ check: always; exports for GPUs too
/* NaN counts as the largest. */
static double larger(double a, double b_) { return a > b_ || a != a ? a : b_; }

/* ||A x - b|| / (||A|| ||x|| + ||b||), A with the shift, in double precision: the largest elements; norms of A by rows. */
static double relative_residual(const btd_real* d_, const btd_real* e_, const btd_real* b_, const btd_real* x_, double shift) {
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    size_t row, c;
    for (row = 0; row < (size_t)@ROWS@; ++row) {
@SKIP@
        for (c = 0; c < BTD_RHS; ++c) {
            const size_t k = row * BTD_RHS + c;
            double sum = 0;
            const double ax = @AX@, &sum);
            residual = larger(fabs(ax - (double)b_[k]), residual);
            norm_a = larger(sum, norm_a);
            norm_x = larger(fabs((double)x_[k]), norm_x);
            norm_b = larger(fabs((double)b_[k]), norm_b);
        }
    }
    return residual / (norm_a * norm_x + norm_b);
}

@@ main: always
/* FNV-1a over the bits of X, value by value from the lowest byte. */
static uint32_t checksum(uint32_t hash) {
    int i;
    unsigned byte;
    for (i = 0; i < SIZE; ++i) {
        btd_bits bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (byte = 0; byte < sizeof bits; ++byte) {
            hash = (hash ^ (uint32_t)(bits >> (8 * byte) & 0xff)) * 16777619U;
        }
    }
    return hash;
}

/* Solves one problem, checks it, and adds it to the checksum. */
static int solve(int problem, uint32_t* hash) {
    const btd_status status = run_example(problem);
    double residual;
    if (status.code != BTD_OK) {
        printf("status %d at block %d, row %d\n", (int)status.code, status.block, status.row);
        return 0;
    }
    residual = relative_residual(d, e, b, x, shifts[problem]);
    printf("n = %d, N = %d, m = %d: x[0] = %.9g\n", BTD_BLOCK, BTD_HORIZON, BTD_RHS, (double)x[0]);
    printf("relative residual %.1e: %s\n", residual, residual <= tolerance ? "good" : "too large");
    *hash = checksum(*hash);
    return residual <= tolerance;
}

int main(void) {
    uint32_t hash = 2166136261U;
    int problem, good = 1;
    make_problem();
    for (problem = 0; problem < PROBLEMS; ++problem) {
        good &= solve(problem, &hash);
    }
    printf("checksum of the bits of X: %08lx\n", (unsigned long)hash);
    return good ? 0 : 1;
}
