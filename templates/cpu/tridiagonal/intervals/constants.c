/* Constants of variant "intervals". */
#define INTERVALS (SEPARATORS + (SEPARATORS * SEPARATOR_SCALE < HORIZON)) /* chains between the separators */
#define RECORDS (INTERVALS + (SEPARATORS > 0))                            /* a verdict for each chain; that of the separators is the last */

#include "cpu/tridiagonal/lanes/constants.c"
