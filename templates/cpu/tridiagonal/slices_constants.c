/* Constants of variants with slices of right-hand sides. */
#include "cpu/tridiagonal/constants.c"

#define PANEL_LANES TRIFOLD_PANEL_LANES /* right-hand sides in a vector of a slice */
#define PANEL_ROWS TRIFOLD_PANEL_ROWS   /* rows of a register tile of a slice */
#define HAS_SLICES (PANEL_COLUMNS > MOST_BESIDE)
