    const real* s = source + r * n + j;
    const real* a = before + r * n;
    const real* b = multipliers;
@LOADS@    for (int k = 0; k < width; ++k) {
@BEFORE@        ++a;
        ++b;
    }
    real* y = x + r * n;
    b = own;
    for (int k = 0; k < j; ++k) {
@OWN@        ++y;
        ++b;
    }
@FINISH@