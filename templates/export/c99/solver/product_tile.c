    real* s = c + r * n + j;
    const real* u = a + r * n;
    const real* v = b + j * n;
@LOADS@    for (int k = 0; k < n; ++k) {
@PRODUCTS@        ++u;
        ++v;
    }
@STORES@