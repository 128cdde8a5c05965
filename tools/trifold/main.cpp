#include "tools/trifold/grid/verbs.hpp"
#include "tools/trifold/processes.hpp"
#include "tools/trifold/sparse/verbs.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

int main(int argc, char** argv) {
    using namespace trifold::command;
    if (is_one_of_several(argc, argv)) return become_mpi_command(argv);
    const FamilyVerbs families[] = {tridiagonal_verbs(), grid_verbs(), sparse_verbs()};
    return run_command(argc, argv, families);
}
