/* ---- L L': L, with 1 / L(k, k) on the diagonal; multipliers are rows of the coupling to the block before, and of L ---- */
