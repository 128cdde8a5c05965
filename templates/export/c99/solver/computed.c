/* Whether there is a factor, or an X. */
static inline int is_computed(btd_status status) { return status.code == BTD_OK || status.code == BTD_NEARLY_SINGULAR; }

/* The outcome of a solution is that of the factorization, unless X has left the range. */
static inline btd_status solved(btd_status range, btd_status factorization) { return range.code == BTD_OK ? factorization : range; }
