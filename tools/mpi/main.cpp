// trifold-mpi: `mpirun -n 4 trifold solve D.npy E.npy b.npy -o x.npy`, where each process reads and holds its part of the chain.
// Or `mpirun -n 4 trifold solve --iterative A.mtx b.mtx -o x.mtx`, where each reads all and the first one writes.
// Or `mpirun -n 4 trifold bench block --size 4096x64`, where all make the same data, and the first one prints.
// `trifold` starts it in its place where it is one of several processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <trifold/mpi.hpp>
#include <trifold/trifold.hpp>

#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/solve.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace {

using namespace trifold;
using formats::InputError;

/// The exit statuses of `trifold`.
enum Exit { done = 0, unsolved = 1, bad_input = 2, bad_environment = 3 };

constexpr std::int64_t columns_at_once = 16;  // a wider b goes in panels

struct Options {
    std::vector<std::string> files;
    std::string output, precision;
    Tuning tuning;
    double time_limit = 30;
};

/// The files of a chain: D [N][n][n], E [N - 1][n][n], b [N][n] or [N][n][columns].
struct Files {
    explicit Files(const std::vector<std::string>& names) : d(names[0]), e(names[1]), b(names[2]) {
        const auto& shape = d.shape();
        const auto wrong = [](const std::string& name, const formats::NpyFile& file, const std::string& wanted) {
            throw InputError(
                fmt::format("'{}' has shape {}; ranks take one chain, D [N][n][n], E [N - 1][n][n] and b [N][n] or "
                            "[N][n][columns], so it should be {}",
                            name, formats::shape_text(file.shape()), wanted));
        };
        if (shape.size() != 3 || shape[1] != shape[2] || shape[0] < 1) wrong(names[0], d, "(N, n, n)");
        if (e.shape() != std::vector{shape[0] - 1, shape[1], shape[1]})
            wrong(names[1], e, formats::shape_text({shape[0] - 1, shape[1], shape[1]}));
        const auto& rows = b.shape();
        if ((rows.size() != 2 && rows.size() != 3) || rows[0] != shape[0] || rows[1] != shape[1])
            wrong(names[2], b, formats::shape_text({shape[0], shape[1]}));
    }
    std::int64_t horizon() const { return d.shape()[0]; }
    std::int64_t block() const { return d.shape()[1]; }
    std::int64_t columns() const { return b.shape().size() == 3 ? b.shape()[2] : 1; }
    formats::NpyFile d, e, b;
};

template <class Real>
std::vector<Real> part(const formats::NpyFile& file, std::int64_t first, std::int64_t count) {
    const auto values = file.part(first, count);
    return {values.begin(), values.end()};
}

void write_at(const std::string& name, int file, const void* data, std::size_t bytes, std::size_t at) {
    for (std::size_t done = 0; done < bytes;) {
        const auto wrote = ::pwrite(file, static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(at + done));
        if (wrote < 0) throw formats::OutputError(fmt::format("'{}' could not be written: {}", name, std::strerror(errno)));
        done += static_cast<std::size_t>(wrote);
    }
}

/// The first rank makes the file, then all write their parts.
template <class Real>
void write(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<Real>& mine, std::int64_t first,
           Transport& transport) {
    const auto header = formats::npy_header(shape, AnyArray::precision_of<Real>);
    const bool begins = transport.rank() == 0;
    char sign = 0;
    if (!begins) transport.receive(0, &sign, 1);
    const int file = ::open(name.c_str(), begins ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) throw InputError(fmt::format("'{}' cannot be opened for writing: {}", name, std::strerror(errno)));
    try {
        if (begins) write_at(name, file, header.data(), header.size(), 0);
        for (int rank = 1; begins && rank < transport.ranks(); ++rank) transport.send(rank, &sign, 1);
        const auto each = mine.empty() ? 0 : static_cast<std::size_t>(shape[1] * (shape.size() == 3 ? shape[2] : 1));
        write_at(name, file, mine.data(), mine.size() * sizeof(Real),
                 header.size() + static_cast<std::size_t>(first) * each * sizeof(Real));
    } catch (...) {
        ::close(file);
        throw;
    }
    if (::close(file) != 0) throw formats::OutputError(fmt::format("'{}' could not be written: {}", name, std::strerror(errno)));
}

template <class Real>
int solve(const Options& options, const Files& files, const std::shared_ptr<Transport>& transport) {
    Spec spec;
    spec.block = files.block();
    spec.horizon = files.horizon();
    spec.rhs = std::min(files.columns(), columns_at_once);
    spec.precision = AnyArray::precision_of<Real>;
    spec.operations = {Operation::factor, Operation::solve};
    RankSolver solver(RankPlan(spec, transport, Device::cpu(), options.tuning));
    const auto& rank = solver.plan().spec();
    const auto first = rank.first_block(), blocks = rank.blocks();
    const auto d = part<Real>(files.d, first, blocks), e = part<Real>(files.e, first, std::min(blocks, spec.horizon - 1 - first)),
               b = part<Real>(files.b, first, blocks);
    auto x = b;
    std::vector<Outcome> status;
    const auto factor_seconds = command::seconds_of([&] {
        solver.factor(d, e);
        status = solver.status();
    });
    const RankOptions sweep{.columns = files.columns()};
    double log_determinant = 0;
    const auto solve_seconds = command::seconds_of([&] {
        solver.solve(b, x, sweep);
        log_determinant = solver.log_determinant().front();
    });
    const bool sound = status.front().block < 0;
    const auto refined = sound ? solver.refine(d, e, b, x, sweep).front() : Refinement{};
    if (!options.output.empty()) write(options.output, files.b.shape(), x, first, *transport);
    if (transport->rank() != 0) return sound && refined.converged ? done : unsolved;
    fmt::print("{} blocks of {} by {}, {}, {} ranks, {} right-hand sides\n", spec.horizon, spec.block, spec.block,
               to_string(spec.precision), rank.ranks(), files.columns());
    if (!sound) {
        fmt::print(stderr, "trifold solve: not positive definite: block {}, row {} (from 0); x is NaN\n", status.front().block,
                   status.front().row);
        return unsolved;
    }
    fmt::print("schedule         {}\nvariant          {}\nfactor           {:.3g} ms\nsolve            {:.3g} ms\n",
               solver.plan().choice().tuning.schedule, solver.plan().choice().variant, 1e3 * factor_seconds, 1e3 * solve_seconds);
    fmt::print("corrections      {}\nbackward error   {:.2e}\nlog determinant  {:.10g}\n", refined.iterations, refined.backward_error,
               log_determinant);
    if (!refined.converged) fmt::print(stderr, "trifold solve: x is not as accurate as {} allows\n", to_string(spec.precision));
    return refined.converged ? done : unsolved;
}

/// Ends all processes, since others may wait for this one.
[[noreturn]] void fail(int rank, Exit status, const std::string& why) {
    fmt::print(stderr, "trifold: rank {}: {}\n", rank, why);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
}

/// Runs `work` with messages of MPI.
int run(double time_limit, const std::function<int(const std::shared_ptr<Transport>&)>& work) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        return work(std::make_shared<MpiTransport>(MPI_COMM_WORLD, std::chrono::milliseconds(std::llround(1e3 * time_limit))));
    } catch (const InputError& error) {
        fail(rank, bad_input, error.what());
    } catch (const SpecError& error) {
        fail(rank, bad_input, error.what());
    } catch (const std::exception& error) {
        fail(rank, bad_environment, error.what());
    }
}

void add_time_limit(CLI::App& verb, double& seconds) {
    verb.add_option("--time-limit", seconds, "seconds that a rank waits for another")->check(CLI::PositiveNumber);
}

int solve_chain(CLI::App& app, int argc, char** argv) {
    Options options;
    auto* verb = app.add_subcommand("solve", "D.npy E.npy b.npy; or --iterative A.mtx b.mtx, whose options --iterative --help lists");
    verb->add_option("files", options.files, "D.npy E.npy b.npy: one chain, without a batch axis")->expected(3)->required();
    verb->add_option("-o,--output", options.output, "where x goes, a NumPy array that all ranks write into");
    verb->add_option("--precision", options.precision, "f32 or f64; that of D when it is not given")->check(CLI::IsMember({"f32", "f64"}));
    verb->add_option("--schedule", options.tuning.schedule, "of a rank's own blocks");
    verb->add_option("--variant", options.tuning.variant, "of the kernels, and knobs");
    add_time_limit(*verb, options.time_limit);
    app.parse(argc, argv);
    return run(options.time_limit, [&](const std::shared_ptr<Transport>& transport) {
        const Files files(options.files);
        const bool single = options.precision.empty() ? files.d.precision() == Precision::f32 : options.precision == "f32";
        return single ? solve<float>(options, files, transport) : solve<double>(options, files, transport);
    });
}

/// The part that the family has in `trifold solve`.
int solve_sparse(CLI::App& app, int argc, char** argv) {
    command::SolveOptions options;
    bool json = false;
    double time_limit = Options().time_limit;
    auto* verb = app.add_subcommand("solve", "--iterative A.mtx b.mtx");
    const auto family = command::sparse_verbs();
    verb->add_flag(family.option, family.purpose);
    verb->add_option("--block", "rows of its blocks");
    verb->add_flag("--json", json, "one JSON object on standard output");
    command::add_solve_options(*verb, options, "A.mtx b.mtx, which all processes read");
    add_time_limit(*verb, time_limit);
    const std::string found_block;
    const auto solve = family.solve(*verb, options, found_block);
    app.parse(argc, argv);
    return run(time_limit, [&](const std::shared_ptr<Transport>& transport) {
        if (std::ranges::find(options.files, "-") != options.files.end())
            throw InputError("all processes read the files, and - is one's own; give their names");
        options.transport = transport;
        if (options.output.is_standard()) command::report_to_standard_error();
        const auto report = solve();
        if (transport->rank() == 0) command::finish(report, json);
        return report.solved ? done : unsolved;
    });
}

/// The suites of chains and of sparse systems.
int run_bench(CLI::App& app, int argc, char** argv) {
    auto* verb = app.add_subcommand("bench", "times of problems that all processes share");
    const std::array families{command::tridiagonal_verbs(), command::sparse_verbs()};
    bool json = false;
    double time_limit = Options().time_limit;
    verb->add_flag("--json", json, "one JSON object on standard output");
    add_time_limit(*verb, time_limit);
    std::shared_ptr<Transport> shared;
    const auto action = command::add_bench_of_rank(*verb, json, families, shared);
    app.parse(argc, argv);
    return run(time_limit, [&](const std::shared_ptr<Transport>& transport) {
        shared = transport;
        return action();
    });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const bool is_sparse = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--iterative"; });
    CLI::App app{"Solves a chain over processes of MPI, each of which reads its part of the files; or a sparse system; or measures both"};
    app.require_subcommand(1);
    int status = done;
    try {
        const bool is_bench = argc > 1 && std::string_view(argv[1]) == "bench";
        status = (is_bench ? run_bench : is_sparse ? solve_sparse : solve_chain)(app, argc, argv);
    } catch (const CLI::ParseError& error) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        status = error.get_exit_code() == 0 ? done : bad_input;
        if (rank == 0) app.exit(error);
    }
    MPI_Finalize();
    return status;
}
