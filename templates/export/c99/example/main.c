/* Row (i, r) of (A + shift I) x in double precision, for column c of X; and the sum of the row's absolute values. */
static double multiply_row(double shift, int i, int r, int c, double* sum) {
    double value = 0;
    int k;
    for (k = 0; k < BTD_BLOCK; ++k) {
        const int row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */
        const double a = (double)d[BTD_D(i, row, column)] + (r == k ? shift : 0);
        value += a * (double)x[(i * BTD_BLOCK + k) * BTD_RHS + c];
        *sum += fabs(a);
        if (i > 0) {
            const double before = (double)e[BTD_E(i - 1, r, k)];
            value += before * (double)x[((i - 1) * BTD_BLOCK + k) * BTD_RHS + c];
            *sum += fabs(before);
        }
        if (i + 1 < BTD_HORIZON) {
            const double after = (double)e[BTD_E(i, k, r)];
            value += after * (double)x[((i + 1) * BTD_BLOCK + k) * BTD_RHS + c];
            *sum += fabs(after);
        }
    }
    return value;
}

static double larger(double a, double b_) { return a > b_ ? a : b_; }

/* ||A x - b|| / (||A|| ||x|| + ||b||), the largest elements; norms of A by rows. */
static double relative_residual(double shift) {
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    int i;
    for (i = 0; i < SIZE; ++i) {
        double sum = 0;
        const double ax = multiply_row(shift, i / BTD_RHS / BTD_BLOCK, i / BTD_RHS % BTD_BLOCK, i % BTD_RHS, &sum);
        residual = larger(residual, fabs(ax - (double)b[i]));
        norm_a = larger(norm_a, sum);
        norm_x = larger(norm_x, fabs((double)x[i]));
        norm_b = larger(norm_b, fabs((double)b[i]));
    }
    return residual / (norm_a * norm_x + norm_b);
}

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
    residual = relative_residual(shifts[problem]);
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
