#include <fmt/format.h>

#include "runtime/base/switches.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Values of cuDSS's and CUDA's own enumerations.
constexpr int real_f32 = 0, real_f64 = 1, int_32 = 10;
constexpr int general = 0, positive_definite = 3;
constexpr int whole = 0, lower_triangle = 1;
constexpr int from_zero = 0, column_major = 0, uniform_batch_size = 18, major_version = 0;
constexpr int analysis = 0x3, factorization = 0x4, refactorization = 0x8, solution = 0x3f0;

/// Entries that one member has here; in a stencil zeros have places too.
std::int64_t entries_of(const ChainProblem& one) {
    const auto horizon = one.spec.horizon, n = one.spec.block;
    return horizon * n * (n + 1) / 2 + (horizon - 1) * n * n;
}
std::int64_t entries_of(const ImageProblem& one) { return 9 * one.spec.width * one.spec.height; }
std::int64_t entries_of(const SparseProblem& one) { return one.pattern.entries() * one.spec.block * one.spec.block; }

/// Matrices of one pattern in compressed rows, and what is solved with them.
struct Rows {
    int type;  ///< of a positive definite one the lower triangle is here
    std::int64_t batch;
    const std::vector<double>& b;
    std::vector<int> starts{0}, columns = {};
    std::vector<double> values = {};  ///< of all members

    /// `walk` visits the entries of a member row by row.
    void fill(std::int64_t entries, const auto& walk) {
        columns.reserve(static_cast<std::size_t>(entries));
        values.reserve(static_cast<std::size_t>(entries * batch));
        const auto end_rows = [&](std::int64_t next) {
            starts.resize(static_cast<std::size_t>(next + 1), static_cast<int>(columns.size()));
        };
        for (std::int64_t member = 0; member < batch; ++member)
            walk(member, [&](std::int64_t row, std::int64_t column, double value) {
                if (type == positive_definite && column > row) return;
                values.push_back(value);
                if (member > 0) return;
                end_rows(row);
                columns.push_back(static_cast<int>(column));
            });
        end_rows(static_cast<std::int64_t>(b.size()) / batch);
    }
};

Rows rows_of(const ChainProblem& one) {
    Rows rows{positive_definite, one.system.batch, one.system.b};
    rows.fill(entries_of(one), [&](std::int64_t member, const auto& visit) { for_each_entry(one.system, member, visit); });
    return rows;
}

Rows rows_of(const ImageProblem& one) {
    Rows rows{one.spec.matrix == GridMatrix::symmetric ? positive_definite : general, one.system.batch, one.system.b};
    rows.fill(entries_of(one), [&](std::int64_t image, const auto& visit) { for_each_entry(one.system, one.spec, image, visit); });
    return rows;
}

Rows rows_of(const SparseProblem& one) {
    Rows rows{general, 1, one.b};
    rows.fill(entries_of(one), [&](std::int64_t, const auto& visit) { for_each_entry(one.a, visit); });
    return rows;
}

/// Version 1, whose calls these are. cuDSS needs the first three libraries; a copy that is open already serves it wherever it lies. Throws
/// Error.
Library open() {
    for (const auto* needed : {"libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13"}) {
        try {
            Library{{needed}};
        } catch (const Error&) {  // cuDSS may find it by itself, or says that it did not
        }
    }
    const Library library({"libcudss.so.1"});
    int version = 0;
    library.call("cudssGetProperty", major_version, &version);
    if (version != 1) throw Error(fmt::format("this is version {} of cuDSS; version 1 is needed", version));
    return library;
}

struct Cudss {
    Cudss(const Library& of, const Rows& rows, Precision precision, const DeviceTools& tools)
        : library(of),
          starts(on_device(tools, rows.starts)),
          columns(on_device(tools, rows.columns)),
          values(tools, rows.values, precision),
          b(tools, rows.b, precision),
          x(tools, rows.b, precision),
          handle(library.make("cudssCreate", "cudssDestroy")),
          config(library.make("cudssConfigCreate", "cudssConfigDestroy")) {
        x.take();
        const int type = precision == Precision::f64 ? real_f64 : real_f32;
        library.call("cudssSetStream", handle.get(), tools.stream());
        if (!switch_value("CUDSS_THREADING_LIB").empty())
            library.call("cudssSetThreadingLayer", handle.get(), static_cast<const char*>(nullptr));
        if (const auto batch = static_cast<int>(rows.batch); batch > 1)
            library.call("cudssConfigSet", config.get(), uniform_batch_size, static_cast<const void*>(&batch), sizeof batch);
        void* made = nullptr;
        library.call("cudssDataCreate", handle.get(), &made);
        data = {made, [kept = handle, destroy = library.find<int(void*, void*)>("cudssDataDestroy")](void* ended) {
                    destroy(kept.get(), ended);
                }};
        const auto size = static_cast<std::int64_t>(rows.starts.size()) - 1;
        a_matrix = library.make("cudssMatrixCreateCsr", "cudssMatrixDestroy", size, size, static_cast<std::int64_t>(rows.columns.size()),
                                starts.get(), static_cast<void*>(nullptr), columns.get(), values.data(), int_32, int_32, type, rows.type,
                                rows.type == general ? whole : lower_triangle, from_zero);
        const auto vector = [&](const Array& array) {
            return library.make("cudssMatrixCreateDn", "cudssMatrixDestroy", size, std::int64_t{1}, size, array.data(), type, column_major);
        };
        b_matrix = vector(b), x_matrix = vector(x);
    }
    void execute(int phase) const {
        library.call("cudssExecute", handle.get(), phase, config.get(), data.get(), a_matrix.get(), x_matrix.get(), b_matrix.get());
    }
    Library library;
    std::shared_ptr<void> starts, columns;
    Array values, b, x;
    std::shared_ptr<void> handle, config, data, a_matrix, b_matrix, x_matrix;
};

}  // namespace

Peer cudss() {
    const auto fits = []<class One>(const One& one) {
        constexpr std::int64_t max_entries = (std::int64_t{1} << 31) - 1;  // indices have 32 bits
        const bool is_plain = one.spec.precision != Precision::f32 && one.spec.batch == 1;
        return one.spec.rhs == 1 && entries_of(one) <= max_entries && (!std::same_as<One, SparseProblem> || is_plain);
    };
    return peer_of<Problem>(
        "cudss", [fits](const Problem& problem) { return std::visit(fits, problem); },
        [] {
            return [library = open()](const Problem& problem, const DeviceTools& tools) {
                const auto all = std::visit(
                    [&](const auto& one) {
                        const auto precision = one.spec.precision == Precision::f32 ? Precision::f32 : Precision::f64;
                        return std::make_shared<Cudss>(library, rows_of(one), precision, tools);
                    },
                    problem);
                const auto step = [&](const char* operation, int phase) {
                    return Step{.operation = operation,
                                .call = [all, phase] { all->execute(phase); },
                                .solves = phase == solution,
                                .once = phase == analysis};
                };
                return Contender{.steps = {step("analysis", analysis), step("factor", factorization), step("refactor", refactorization),
                                           step("solve", solution)},
                                 .take_solution = [all] { return all->x.take(); }};
            };
        });
}

}  // namespace trifold::bench
