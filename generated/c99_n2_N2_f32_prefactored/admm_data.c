/* A problem, baked in: see admm_solver.h. */
#include "admm_solver.h"

const admm_real admm_data_d[ADMM_D_SIZE] = {
    4.0f, 1.0f, 1.0f, 3.0f, 5.0f, 1.0f, 1.0f, 4.0f
};

const admm_real admm_data_e[ADMM_E_SIZE] = {
    1.0f, 0.0f, 0.0f, 1.0f
};
