// The exported code under the address and undefined-behaviour sanitizers, with exact allocations and any numbers at all.
#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const char* const program = R"(
#include "btd_solver.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANARY = 64 };
static uint64_t state = 88172645463325252ULL;
static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* An array with canary bytes on both sides, in an allocation of exactly that size. */
static unsigned char* make(size_t bytes) {
    unsigned char* memory = malloc(bytes + 2 * CANARY);
    memset(memory, 0xa5, bytes + 2 * CANARY);
    return memory + CANARY;
}
static int intact(const unsigned char* array, size_t bytes) {
    int k;
    for (k = 0; k < CANARY; ++k) {
        if (array[-1 - k] != 0xa5 || array[bytes + (size_t)k] != 0xa5) return 0;
    }
    return 1;
}

/* Any bits; or numbers of ordinary size; or these with a few that are special. */
static void fill(btd_real* values, size_t count, int kind) {
    const double special[] = {NAN, INFINITY, -INFINITY, 1e-320, 1e38, -0.0};
    size_t k;
    for (k = 0; k < count; ++k) {
        const uint64_t bits = random_bits();
        values[k] = (btd_real)((double)(bits >> 40) / 1e6 - 8);
        if (kind == 1 && bits % 20 == 0) values[k] = (btd_real)special[bits / 20 % 6];
        if (kind == 2) memcpy(&values[k], &bits, sizeof values[k]);
    }
}

/* Makes A positive definite where the other numbers are of ordinary size. */
static void raise_diagonals(btd_real* d) {
    int i, r;
    for (i = 0; i < BTD_HORIZON; ++i) {
        for (r = 0; r < BTD_BLOCK; ++r) d[(i * BTD_BLOCK + r) * BTD_BLOCK + r] = 100 * BTD_BLOCK;
    }
}

int main(void) {
    const size_t diagonal = (size_t)BTD_HORIZON * BTD_BLOCK * BTD_BLOCK, coupling = (size_t)(BTD_HORIZON - 1) * BTD_BLOCK * BTD_BLOCK,
                 vector = (size_t)BTD_HORIZON * BTD_BLOCK * BTD_RHS, size = sizeof(btd_real);
    unsigned char *memory = make(btd_workspace_size()), *d = make(diagonal * size), *e = make(coupling * size), *b = make(vector * size),
                  *x = make(vector * size);
    btd_workspace* workspace = btd_init(memory);
    int round, seen[6] = {0, 0, 0, 0, 0, 0};
    size_t k;
    if (workspace == NULL) return 2;
    for (round = 0; round < 300; ++round) {
        fill((btd_real*)(void*)d, diagonal, round % 3);
        fill((btd_real*)(void*)e, coupling, round % 3);
        fill((btd_real*)(void*)b, vector, round / 3 % 3);
        if (round / 9 % 2 == 0) raise_diagonals((btd_real*)(void*)d);
        ++seen[btd_factor_solve(workspace, (btd_real*)(void*)d, (btd_real*)(void*)e, (btd_real*)(void*)b, (btd_real*)(void*)x).code];
        ++seen[btd_factor(workspace, (btd_real*)(void*)d, (btd_real*)(void*)e).code];
        ++seen[btd_solve(workspace, (btd_real*)(void*)b, (btd_real*)(void*)b).code];
        ++seen[btd_refactor(workspace, (btd_real*)(void*)d, (btd_real*)(void*)e).code];
        ++seen[btd_solve(workspace, (btd_real*)(void*)b, (btd_real*)(void*)x).code];
        if (!intact(memory, btd_workspace_size()) || !intact(d, diagonal * size) || !intact(e, coupling * size) || !intact(b, vector * size) ||
            !intact(x, vector * size)) {
            printf("a canary died in round %d\n", round);
            return 1;
        }
    }
    for (k = 0; k < 4; ++k) {
        if (seen[k] == 0) return printf("status %d was never seen\n", (int)k), 3;
    }
    free(memory - CANARY);
    free(d - CANARY);
    free(e - CANARY);
    free(b - CANARY);
    free(x - CANARY);
    printf("intact\n");
    return 0;
}
)";

}  // namespace

TEST_CASE("export: whatever the numbers, nothing outside the arrays is touched") {
    for (const auto precision : {Precision::f32, Precision::f64})
        for (const std::int64_t n : {1, 2, 7, 12}) {
            const Project project(request(n, n == 1 ? 1 : 5, precision, n % 2 + 1));
            project.write("program.c", program);
            CAPTURE(n);
            const auto ran = project.run(
                "gcc -O1 -g -std=c99 -fsanitize=address,undefined -fno-sanitize-recover=all -o program program.c btd_solver.c -lm && "
                "./program");
            CHECK(ran.status == 0);
            CHECK(ran.out == "intact\n");
        }
}
