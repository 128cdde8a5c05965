#!/bin/sh
# usage: sh embed.sh NAME FILE   writes FILE as a C array NAME of 64-bit words, in the order of bytes of this machine and of the device's host
set -eu
printf '/* %s; see mpc_solver.h. Made by embed.sh. */\n#include "mpc_solver.h"\n\nconst unsigned long long %s[] = {\n' "$2" "$1"
od -An -v -tx8 "$2" | sed 's/ *\([0-9a-f][0-9a-f]*\)/0x\1ULL,/g'
printf '};\n'
