/* Scaling of rows. The rows of a matrix that is not symmetric are multiplied by powers of two, so that the largest entry of each is from
 * 1/2 to 1. Partial pivoting then compares rows of equal size, and no digit changes. Right-hand sides are multiplied before the sweeps;
 * with A' x = b, solutions after them. Both dialects name `real`, and `real_bits`, an unsigned integer of its size. */

enum {
    scale_digits = sizeof(real) == 8 ? 52 : 23,  /* bits of a mantissa */
    scale_bias = sizeof(real) == 8 ? 1023 : 127, /* bias of an exponent */
    scale_max = scale_bias - 1                   /* 2^scale_max and its reciprocal are normal numbers */
};

/* The exponent of a row's scale, from the bits of its largest entry without a sign. */
TRIFOLD_SIZE int scale_exponent(real_bits largest_entry) {
    const int exponent = scale_max - (int)(largest_entry >> scale_digits);
    return largest_entry == 0 ? 0 : exponent < -scale_max ? -scale_max : exponent;
}
TRIFOLD_SIZE real_bits scale_bits(int exponent) { return (real_bits)(exponent + scale_bias) << scale_digits; }
