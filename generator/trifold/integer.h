/* The integer of all that host and kernels share. */
#ifndef TRIFOLD_INTEGER_H
#define TRIFOLD_INTEGER_H

typedef long long trifold_int;

#endif
