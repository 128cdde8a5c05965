#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <utility>
#include <vector>

#include "generator/export/text.hpp"
#include "tools/trifold/bench.hpp"
#include "tools/trifold/solve.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// A file that a verb writes.
struct File {
    std::string name, bytes;
};

/// Options of `problem` that all families have.
struct ProblemOptions {
    std::string name, precision_name = "f64", format = "npy", output = ".";
    std::int64_t rhs = 1, batch = 1;
    std::uint64_t seed = 42;
    bool force = false;

    Precision precision() const { return parse_precision(precision_name); }
    /// Values are as the precision has them.
    void round(std::initializer_list<std::vector<double>*> all) const;
    /// An array [batch][...] as a NumPy file, without the first axis for one system.
    File array(const char* name, std::vector<std::int64_t> shape, const std::vector<double>& values) const;
};

/// The results of a verb, for machines and for people. `solved`: else the exit status is 1.
struct Report {
    Json json;
    std::string text;
    bool solved = true;
};

/// A Program that `generate` writes, and what its JSON says of how it came about.
struct Generated {
    Program program;
    Json choice;
};

/// Options that all exports have.
struct ExportOptions {
    std::string precision = "f64", target = "c99:generic", prefix = "btd", output = ".";
};

/// A family's part of a verb. It adds options of its own to `app`, and returns what is done once the command line is parsed. `options` are
/// those that all families have; `size` will be what was given to the option that names the family.
template <class Options, class Result>
using FamilyPart = std::function<std::function<Result()>(CLI::App& app, const Options& options, const std::string& size)>;

/// A row of the table of families, which every verb walks: what one family brings to the command. A null verb is one that it does not have.
struct FamilyVerbs {
    std::string name;                   ///< that of its folders
    std::string problems;               ///< its problems as messages call them, such as "images"
    std::string matrices;               ///< A of these, in a list of all families
    std::string option;                 ///< names the family on a command line, such as --grid; empty: the family where no other is named
    std::string purpose;                ///< of that option
    bool is_flag = false;               ///< that option takes no size
    std::vector<std::string> shares{};  ///< options of other families that it takes too, with their meaning
    std::string files;                  ///< which files `solve` takes
    std::string examples;               ///< the names that `problem` takes
    std::vector<std::pair<std::string, std::string>> suites;  ///< of `bench`, with what each is for
    FamilyPart<SolveOptions, Report> solve = nullptr;
    /// Whether `solve` has a method for a matrix that comes without a word on its structure.
    Fit (*fit)(const formats::SparseMatrix& a, const SolveOptions& options) = nullptr;
    FamilyPart<SpecOptions, Report> explain = nullptr;
    FamilyPart<SpecOptions, Generated> generate = nullptr;
    FamilyPart<ProblemOptions, std::vector<File>> problem = nullptr;
    FamilyPart<ExportOptions, std::vector<ExportedFile>> export_project = nullptr;
    FamilyPart<BenchOptions, int> bench = nullptr;
};

/// Adds the families' options to a verb's, and tells which family a command line is about.
class FamilyChoice {
  public:
    FamilyChoice(CLI::App& app, Families families);
    /// Adds the option that names the family; what it is given will be in the result.
    const std::string& name(const FamilyVerbs& family, bool is_listed);
    /// Gives the family all options that no family owns yet, but for those that were there at the start.
    void own(const FamilyVerbs& family);
    /// Throws SpecError where two families are named, or an option is given that is another family's own.
    void check() const;
    /// No family is named, or by a flag alone can be. `look` may take one: any, or the one that options were given of.
    bool is_open() const;
    /// The family whose own options were given where none is named; null: none were.
    const FamilyVerbs* implied() const;
    /// Takes a family that was not named, as if `size` had been given to the option that names it.
    void take(const FamilyVerbs& family, const std::string& size);
    /// Index of the family that is named or taken; else of the one that is named by a flag and whose options were given; else of the one
    /// that needs no name.
    std::size_t chosen() const;
    /// An option that was given and is another family's own, and that family; empty where there is none.
    std::string foreign(const FamilyVerbs& chosen, const FamilyVerbs*& owner) const;

  private:
    struct Named {
        const FamilyVerbs* family;
        std::unique_ptr<std::string> size = std::make_unique<std::string>();
        CLI::Option* option = nullptr;
        std::vector<CLI::Option*> own = {};
    };
    Named& entry(const FamilyVerbs& family);
    static std::string word_of(const Named& named);  ///< the option by which the command line names this family
    CLI::App& app_;
    std::vector<Named> all_;
    std::size_t known_;  // options of the app so far
    const FamilyVerbs* taken_ = nullptr;
};

/// "export has no images yet; it takes blocks". Throws SpecError.
[[noreturn]] void refuse_verb(const CLI::App& verb, const FamilyVerbs& family, const std::vector<const FamilyVerbs*>& able);

/// A verb as the family that a command line names has it. Where it names none, `look` may take one.
template <class Options, class Result>
std::function<Result()> by_family(CLI::App& app, Families families, FamilyPart<Options, Result> FamilyVerbs::* verb, const Options& options,
                                  const std::function<void(FamilyChoice&)>& look = {}) {
    std::vector<const FamilyVerbs*> able;
    for (const auto& family : families)
        if (family.*verb != nullptr) able.push_back(&family);
    const auto choice = std::make_shared<FamilyChoice>(app, families);
    std::vector<std::function<Result()>> parts;
    for (const auto& family : families) {
        const bool has = family.*verb != nullptr;
        const auto& size = choice->name(family, has);
        parts.push_back(has ? (family.*verb)(app, options, size)
                            : [&app, &row = family, able]() -> Result { refuse_verb(app, row, able); });
        choice->own(family);
    }
    return [choice, parts, look] {
        if (look && choice->is_open()) look(*choice);
        choice->check();
        return parts[choice->chosen()]();
    };
}

/// Prints it; returns the exit status.
int finish(const Report& report, bool json);

}  // namespace trifold::command
