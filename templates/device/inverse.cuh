TRIFOLD_DEVICE void invert_chain(const trifold_args&, const trifold_level&, trifold_int, trifold_int) {}
