// The command with one more family, which shows what a family has to change outside its own folder: its row of this table.
#include "tests/family/verbs.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

int main(int argc, char** argv) {
    using namespace trifold::command;
    const FamilyVerbs families[] = {tridiagonal_verbs(), grid_verbs(), trifold::test::triangular_verbs()};
    return run_command(argc, argv, families);
}
