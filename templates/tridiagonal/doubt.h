/* Whether rounding decides the outcome of pivots of both signs. `grown`: the largest sum of a row's squares in the factor over the largest
 * entry of A; `least`: the least pivot over the sum of its row. Sums that have grown a lot mean that digits were lost. So do sums that have
 * grown a little, if there is a very small pivot too: between the two there were numbers larger than any sum. */
TRIFOLD_SIZE int is_doubtful(double grown, double least, int bytes) {
    const double most = bytes == 8 ? 0x1p28 : 0x1p15, rounding = bytes == 8 ? 0x1p-52 : 0x1p-23, little = 1024, apart = 4096;
    return !(grown <= most) || least < (double)trifold_nearly_singular * rounding || (grown > little && grown > most * apart * least);
}
