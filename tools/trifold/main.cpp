#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace trifold::command {
namespace {

/// Whether `solve` or `bench` was started as one of several processes by mpirun. Where --ranks is given, each process is for itself.
bool is_one_of_several(int argc, char** argv) {
    // Open MPI's, and that of MPICH and its relatives. Batch systems set others, for any program.
    constexpr const char* sizes[]{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    const bool several = std::ranges::any_of(sizes, [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && std::atoi(value) > 1;
    });
    const bool shares = argc > 1 && (std::string_view(argv[1]) == "solve" || std::string_view(argv[1]) == "bench");
    const bool alone = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word).starts_with("--ranks"); });
    return several && shares && !alone;
}

/// Goes on as the program trifold-mpi in this one's folder. Returns an exit status if there is none.
int become_mpi_command(char** argv) {
    std::error_code problem;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", problem).parent_path() / "trifold-mpi";
    ::execv(program.c_str(), argv);
    constexpr int bad_environment = 3;
    say(
        fmt::format("trifold: this is one of several processes of MPI, and there is no '{}' for them; build Trifold where CMake finds "
                    "an MPI, or give --ranks 1 where each process is for itself\n",
                    program.string()));
    return bad_environment;
}

}  // namespace
}  // namespace trifold::command

int main(int argc, char** argv) {
    using namespace trifold::command;
    if (is_one_of_several(argc, argv)) return become_mpi_command(argv);
    const FamilyVerbs families[] = {tridiagonal_verbs(), grid_verbs(), sparse_verbs()};
    return run_command(argc, argv, families);
}
