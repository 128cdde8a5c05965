/* Results of a member from those of its blocks, in a fixed order. Tasks are members. */
#include "cpu/tridiagonal/common.c"

#define RECORDS_OF(args, member) (CLIPS ? BLOCKS_OF(args, member) : RECORDS)

#if HAS_INERTIA
INLINE double greater(double a, double b) { return a > b ? a : b; }

#if HAS_SIGNS
/* The largest entry of A, from the caller's arrays. */
COLD double largest_entry(const trifold_args* args, integer member) {
    enum { EACH = n / BANDWIDTH };
    const integer blocks = BLOCKS_OF(args, member);
    double largest = 0;
    for (int ahead = 0; ahead < 2; ++ahead)
        for (integer k = 0; k < (blocks - (ahead && !IS_RING)) * BANDWIDTH * BANDWIDTH; ++k) {
            const integer block = k / (BANDWIDTH * BANDWIDTH), p = k / BANDWIDTH % BANDWIDTH, q = k % BANDWIDTH;
            const given from = given_block(args, member, block, ahead, p, q);
            const integer rows = smaller(rows_of(args, member, (block + ahead) % HORIZON) - p * EACH, EACH);
            const integer columns = smaller(rows_of(args, member, block) - q * EACH, EACH);
            for (integer r = 0; from.first && r < rows; ++r)
                for (integer c = 0; c < (ahead || p != q ? columns : r + 1); ++c)
                    largest = greater(largest, __builtin_fabs((double)from.first[r * from.row + c * from.column]));
        }
    return largest;
}
#endif

/* Pivots below zero, and the growth of the factor. Where pivots of a symmetric matrix have signs, all of its entries are
 * looked at, in place of those of its diagonal, where the growth may be large. Returns whether rounding decides the outcome. */
COLD int finish_inertia(const trifold_args* args, integer member, double least) {
    const double some = 1024;
    trifold_inertia* inertia = (trifold_inertia*)((trifold_status*)workspace_at(args, OFFSET_STATUS) + MEMBERS) + member;
    double grown = 0, largest = 0;
    inertia->negative = 0;
    ROLLED for (integer block = 0; block < RECORDS_OF(args, member); ++block) {
        inertia->negative += *negatives_of(args, member, block);
        grown = greater(grown, *grown_of(args, member, block));
        largest = greater(largest, *largest_of(args, member, block));
    }
#if HAS_SIGNS
    if (grown > some * largest) largest = largest_entry(args, member);
#endif
    (void)some;
    inertia->growth = grown > 0 ? grown / largest : 0;
    return is_doubtful(inertia->growth, least, REAL_BYTES);
}
#endif

COLD void finish_factor(const trifold_args* args, integer member) {
    integer worst = SOUND, floors = 0;
    double sum = 0, reduction = 1;
    ROLLED for (integer block = 0; block < RECORDS_OF(args, member); ++block) {
        worst = smaller(worst, *failure_of(args, member, block));
        floors += *floors_of(args, member, block);
        sum += *block_log_determinant_of(args, member, block);
        const double other = *reduction_of(args, member, block);
        if (other > reduction) reduction = other;
    }
    if (HAS_LENGTHS && lengths_of(args)[member] == 0) sum = 0; /* lanes have roots of ones, which are not exact */
    trifold_status* status = (trifold_status*)workspace_at(args, OFFSET_STATUS) + member;
    double* log_determinant = (double*)workspace_at(args, OFFSET_LOG_DETERMINANT) + member;
    const int sound = worst == SOUND;
    const double least = sound ? 1 / reduction : 0, min_sound = (double)trifold_nearly_singular * (REAL_BYTES == 8 ? 0x1p-52 : 0x1p-23);
    const int accepted = args->accept_nearly_singular || args->pivot_floor > 0;
#if HAS_INERTIA
    const int doubtful = sound && finish_inertia(args, member, least);
#else
    enum { doubtful = 0 };
#endif
    *status = (trifold_status){sound ? -1 : worst / n % HORIZON, sound ? 0 : worst % n, floors, least,
                               sound && !accepted && (HAS_INERTIA ? doubtful : least < min_sound)};
    *log_determinant = sound ? sum : __builtin_nan("");
}

/* Neither too large nor too small for f64. */
INLINE int in_range(double sum) {
#if HAS_SIGNS
    sum = __builtin_fabs(sum);
#endif
    return sum == 0 || (sum >= LEAST_NORMAL && sum <= 1.79769313486231570814527423731704357e+308);
}

/* Sums of the squares of all blocks, for a few columns at a time: those of a block stand together. */
COLD void finish_forward(const trifold_args* args, integer member) {
    enum { FEW = PANEL_COLUMNS == 1 ? 1 : 4 };
    double* quadratic = (double*)workspace_at(args, OFFSET_QUADRATIC) + member * QUADRATICS + args->first_column;
    const integer columns = smaller(columns_of(args), QUADRATICS - args->first_column);
    for (integer first = 0; first < columns; first += FEW) {
        double sum[FEW] = {0};
        ROLLED for (integer block = 0; block < RECORDS_OF(args, member); ++block) {
            const double* squares = block_quadratic_of(args, member, block) + first;
            UNROLL for (int c = 0; c < FEW; ++c) sum[c] += first + c < columns ? squares[c] : 0;
        }
        for (int c = 0; c < FEW && first + c < columns; ++c) quadratic[first + c] = in_range(sum[c]) ? sum[c] : __builtin_nan("");
    }
}

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
KERNEL TRIFOLD_KERNEL_FINISH_FACTOR(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                    void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_factor(args, member);
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
KERNEL TRIFOLD_KERNEL_FINISH_FORWARD(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                     void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_forward(args, member);
}
#endif
