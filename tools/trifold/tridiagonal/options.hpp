#pragma once
#include <optional>
#include <string>
#include <trifold/generate.hpp>
#include <vector>

#include "tools/formats/assemble.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/spec_options.hpp"

namespace trifold::command {

/// Options that say where the caller's arrays lie; the Spec lives as long as they do.
void add_layout(CLI::App& app, Spec& spec);

/// The kind of A that an option says; nothing where none is given. Throws SpecError.
std::optional<MatrixKind> kind_of(const SharedField& matrix);

/// The inputs of the generator that blocks alone have.
class BlockOptions {
  public:
    explicit BlockOptions(const SpecOptions& common) : common_(common) {}
    void add_to(CLI::App& app);
    /// Whether any size or shape was given.
    bool has_sizes() const;
    std::optional<MatrixKind> kind() const { return kind_of(matrix_); }
    Operations operations() const { return parse_operations(operations_); }
    /// Throws SpecError when a size is missing.
    Spec spec() const;
    /// What a Plan would take: by wisdom of the named device; for `native`, of this machine's; else of any of the architecture. Throws
    /// SpecError, DeviceError.
    Choice choice(const Spec& spec) const;

  private:
    const SpecOptions& common_;
    Spec spec_;
    SharedField matrix_;
    bool any_size_ = false;
    std::string schedule_ = Tuning().schedule, variant_ = Tuning().variant, device_name_, operations_ = to_string(usual_operations());
};

/// Block tridiagonal systems, as `trifold` has them.
FamilyVerbs tridiagonal_verbs();

std::function<Report()> tridiagonal_solve(CLI::App& app, const SolveOptions& options, const std::string&);
std::function<Report()> tridiagonal_explain(CLI::App& app, const SpecOptions& options, const std::string&);
std::function<std::vector<ExportedFile>()> tridiagonal_export(CLI::App& app, const ExportOptions& options, const std::string&);
std::function<int()> tridiagonal_bench(CLI::App& app, const BenchOptions& options, const std::string&);

/// The content of the user's files.
struct Input {
    Kind kind;
    formats::System system;
    Precision precision;              ///< to solve in
    std::vector<std::int64_t> shape;  ///< of b as given; x has it too
    bool batched = false;             ///< the arrays have a batch axis
};

/// A.mtx b.mtx, or D.npy E.npy b.npy, with F.npy C.npy behind where there is a border, or D.npy E.npy U.npy b.npy of a general matrix, told
/// apart by content. What is stated is inferred no more of A.mtx, and has to be so of arrays. Without a precision it is that of the arrays,
/// f64 for Matrix Market. Without a kind an A.mtx that is not symmetric is general. Throws InputError.
Input read_input(std::vector<Contents> files, const formats::Stated& stated, std::optional<Precision> precision,
                 std::optional<MatrixKind> kind);

/// Without a border where none is stated and what solves has none: ranks, and mixed precision.
formats::Stated stated_for(const SolveOptions& options, formats::Stated stated);

/// D and E alone, NumPy arrays; the right-hand side of the system is zero.
formats::System read_matrix(const std::string& d, const std::string& e, Precision precision);

/// x, as a System has b, as a file of that kind, without padding.
std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind);

}  // namespace trifold::command
