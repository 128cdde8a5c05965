#include "tools/trifold/grid/verbs.hpp"
#include "tools/trifold/sparse/verbs.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

int main(int argc, char** argv) {
    using namespace trifold::command;
    const FamilyVerbs families[] = {tridiagonal_verbs(), grid_verbs(), sparse_verbs()};
    return run_command(argc, argv, families);
}
