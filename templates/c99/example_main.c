static btd_workspace workspace;
static btd_real x[SIZE];

/* Row (i, r) of A x in double precision, for column c of X; and the sum of the row's absolute values. */
static double multiply_row(int i, int r, int c, double* sum) {
    double value = 0;
    int k;
    for (k = 0; k < BTD_BLOCK; ++k) {
        const int row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */
        const double a = (double)d[(i * BTD_BLOCK + row) * BTD_BLOCK + column];
        value += a * (double)x[(i * BTD_BLOCK + k) * BTD_RHS + c];
        *sum += fabs(a);
        if (i > 0) {
            const double before = (double)e[((i - 1) * BTD_BLOCK + r) * BTD_BLOCK + k];
            value += before * (double)x[((i - 1) * BTD_BLOCK + k) * BTD_RHS + c];
            *sum += fabs(before);
        }
        if (i + 1 < BTD_HORIZON) {
            const double after = (double)e[(i * BTD_BLOCK + k) * BTD_BLOCK + r];
            value += after * (double)x[((i + 1) * BTD_BLOCK + k) * BTD_RHS + c];
            *sum += fabs(after);
        }
    }
    return value;
}

static double larger(double a, double b_) { return a > b_ ? a : b_; }

/* ||A x - b|| / (||A|| ||x|| + ||b||), the largest elements; norms of A by rows. */
static double relative_residual(void) {
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    int i;
    for (i = 0; i < SIZE; ++i) {
        double sum = 0;
        const double ax = multiply_row(i / BTD_RHS / BTD_BLOCK, i / BTD_RHS % BTD_BLOCK, i % BTD_RHS, &sum);
        residual = larger(residual, fabs(ax - (double)b[i]));
        norm_a = larger(norm_a, sum);
        norm_x = larger(norm_x, fabs((double)x[i]));
        norm_b = larger(norm_b, fabs((double)b[i]));
    }
    return residual / (norm_a * norm_x + norm_b);
}

/* FNV-1a over the bits of X, value by value from the lowest byte. */
static uint32_t checksum(void) {
    uint32_t hash = 2166136261U;
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

int main(void) {
    btd_status status;
    double residual;
    int good;
    make_problem();
    if (btd_init(&workspace) == NULL) {
        printf("the workspace is not aligned to %u bytes\n", (unsigned)BTD_ALIGNMENT);
        return 1;
    }
    status = btd_factor_solve(&workspace, d, e, b, x);
    if (status.code != BTD_OK) {
        printf("status %d at block %d, row %d\n", (int)status.code, status.block, status.row);
        return 1;
    }
    residual = relative_residual();
    good = residual <= tolerance;
    printf("n = %d, N = %d, m = %d: x[0] = %.9g\n", BTD_BLOCK, BTD_HORIZON, BTD_RHS, (double)x[0]);
    printf("relative residual %.1e: %s\n", residual, good ? "good" : "too large");
    printf("checksum of the bits of X: %08lx\n", (unsigned long)checksum());
    return good ? 0 : 1;
}
