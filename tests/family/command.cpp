// The command, the tuner, C and Python with one more family, which shows what a family has to change outside its own folder: its rows of
// these tables.
#include "tests/family/lower.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/stated.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

int main(int argc, char** argv) {
    using namespace trifold::command;
    const FamilyVerbs families[] = {tridiagonal_verbs(), grid_verbs(), stated_verbs(trifold::test::lower_family)};
    return run_command(argc, argv, families);
}
