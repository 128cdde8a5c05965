#pragma once
#include "generator/export/gpu/export.hpp"
#include "tests/export/c99/project.hpp"
#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/unit.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {

enum Code {
    ok = 0,
    not_positive_definite = 1,
    out_of_range = 2,
    not_factored = 3,
    bad_argument = 4,
    no_kernels = 5,
    not_exported = 6,
    driver_failed = 7,
    nearly_singular = 8
};

/// btd_status
struct Status {
    int code, member, block, row;
    bool operator==(const Status&) const = default;
};
inline constexpr Status fine{ok, -1, -1, -1};

/// btd_options
struct Options {
    long long members = 0;
    const void *diagonal = nullptr, *shift = nullptr;
    const int* active = nullptr;
    double pivot_floor = 0;
    long long accept_nearly_singular = 0;
};

/// btd_outcome
struct Outcome {
    long long block, row, floors;
    double least_pivot;
    long long nearly_singular;
};

/// Of the backend under test, for the architecture that its fake driver has.
GpuExportRequest gpu_request(const Spec& spec, const std::string& schedule, const std::string& archs = EXPORT_ARCH);
/// The choice behind the first of its Programs.
Choice choice_of(const GpuExportRequest& request);
/// What stands for compiled kernels: the fake drivers have them already.
std::vector<KernelCode> stand_ins(const GpuExportRequest& request);

/// gcc or another compiler, with the flags that the driver's header needs.
inline std::string compile(const std::string& compiler) { return compiler + EXPORT_FLAGS; }

/// An exported project's sources as a library of this process, which has the fake driver.
class Library {
  public:
    explicit Library(const GpuExportRequest& request, const std::string& sources = "btd_solver.c btd_kernels_*.c");
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();
    template <class Signature>
    Signature* function(const std::string& name) const {
        auto* found = symbol(name);
        REQUIRE_MESSAGE(found != nullptr, name);
        return reinterpret_cast<Signature*>(found);
    }
    const Project& project() const { return project_; }

  private:
    void* symbol(const std::string& name) const;
    Project project_;
    void* library_ = nullptr;
};

/// The driver's context of the device, current in this scope; at its end nothing that was made in it may be left.
class Scope {
  public:
    Scope();
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

  private:
    FakeCuda before_;
};

/// Memory as the driver would allocate it.
struct Free {
    void operator()(void* memory) const;
};
std::unique_ptr<char, Free> aligned_memory(std::size_t bytes);

/// An exported solver over emulated kernels, with a workspace of the size it asks for. Arrays are the host's, which the fake device reads.
class Exported {
  public:
    explicit Exported(const GpuExportRequest& request);
    ~Exported();
    Exported(const Exported&) = delete;
    Exported& operator=(const Exported&) = delete;

    int create() { return library_.function<int(void*, void*)>("btd_create")(solver(), workspace_.get()); }
    void destroy() { library_.function<void(void*)>("btd_destroy")(solver()); }
    /// The calls but for the prefix, with the arrays in the order of the header.
    template <class... Arrays>
    int call(const std::string& name, const Options* options, Arrays... arrays) {
        return library_.function<int(void*, Arrays..., const Options*, void*)>("btd_" + name)(solver(), arrays..., options, stream);
    }
    Status check() { return library_.function<Status(void*, void*)>("btd_check")(solver(), stream); }
    const double* log_determinant() { return library_.function<const double*(void*)>("btd_log_determinant")(solver()); }
    const double* quadratic() { return library_.function<const double*(void*)>("btd_quadratic")(solver()); }
    const int* ranges() { return library_.function<const int*(void*)>("btd_ranges")(solver()); }
    const Outcome* outcomes() { return library_.function<const Outcome*(void*)>("btd_outcomes")(solver()); }
    std::string message(int code) { return library_.function<const char*(int)>("btd_message")(code); }
    std::string task();  ///< what the driver could not do
    void* solver() { return memory_.get(); }
    char* workspace() { return workspace_.get(); }
    const Library& library() const { return library_; }

    void* stream = nullptr;

  private:
    Scope scope_;
    Library library_;
    EmulatedUnit unit_;
    std::unique_ptr<char, Free> memory_, workspace_;
};

}  // namespace trifold::test
