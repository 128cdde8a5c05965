/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / BTD_LARGEST)
/* A pivot below this part of the diagonal entry that it began with is nearly zero: rounding may be all that is left of it. A power of two,
 * so that products with it are exact. */
#define NEARLY_ZERO (64 * BTD_EPSILON)

/* Whether a pivot is sound beyond doubt, by one comparison. No pivot is larger than the entry that it began with, so that this refuses
 * infinity, and NaN whatever the sign. */
static inline int is_sound(real pivot, real entry) { return pivot > NEARLY_ZERO * entry + TOO_SMALL; }

static inline int is_pivot(real pivot) { return pivot > TOO_SMALL && pivot <= BTD_LARGEST; }
