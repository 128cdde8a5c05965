#pragma once
#include <dlfcn.h>

#include "generator/export/c99/export.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {

/// One run of a command by the shell.
struct Ran {
    int status;
    std::string out;  ///< standard output and error together
};
Ran shell(const std::string& command);

/// An exported project in a directory of its own, removed at the end.
class Project {
  public:
    explicit Project(const ExportRequest& request) : Project(export_project(request)) {}
    explicit Project(const std::vector<ExportedFile>& files);
    Project(const Project&) = delete;
    Project& operator=(const Project&) = delete;
    ~Project();
    const std::filesystem::path& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const;
    std::string read(const std::string& name) const;
    nlohmann::json manifest() const { return nlohmann::json::parse(read("manifest.json")); }
    /// In the project's directory.
    Ran run(const std::string& command) const { return shell("cd '" + path_.string() + "' && " + command); }

  private:
    std::filesystem::path path_;
};

ExportRequest request(std::int64_t block, std::int64_t horizon, Precision precision, std::int64_t rhs = 1,
                      const std::string& target = "c99:generic", const std::string& prefix = "btd");

ExportRequest with_schedule(ExportRequest request, const std::string& schedule);
ExportRequest with_ldlt(ExportRequest request);
ExportRequest with_speed(ExportRequest request);
ExportRequest with_size(ExportRequest request);
ExportRequest with_corrections(ExportRequest request, std::int64_t corrections);

/// The flags every export is compiled with, to objects.
inline const std::string strict = " -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -ffreestanding -fno-math-errno -c ";
/// Compilers for the host, and those of the machines that an export may be for.
inline const std::string host_compilers[] = {"gcc", "clang-19"};
inline const std::string cortex_m4 = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard";
inline const std::string cortex_m7 = "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard";

}  // namespace trifold::test
