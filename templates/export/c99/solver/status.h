/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    BTD_OK = 0,
    /* A is not positive definite: the pivot of this block and row is not in @PIVOTS@.
     * So end NaN and infinity in D or E too. */
    BTD_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    BTD_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    BTD_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    BTD_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: @SMALL@ below 64 @EPSILON@ times the diagonal entry that it began with,
     * and may be all rounding. The factor and X are computed all the same, but X may have no digit that is right. */
    BTD_NEARLY_SINGULAR = 5
} btd_code;

typedef struct {
    btd_code code;
    int block;
    int row;
} btd_status;
