#include "tests/support/cpu/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "generator/program/sha256.hpp"

namespace fs = std::filesystem;

namespace trifold::test {
namespace {

/// A new folder, removed at the end. TRIFOLD_KEEP leaves it there, for a look at the sources.
class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / "trifold-unit-XXXXXX") {
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        if (!is_kept()) fs::remove_all(path_, ignored);
    }
    static bool is_kept() { return std::getenv("TRIFOLD_KEEP") != nullptr; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Copies what an earlier test left, if it did. A copy, because libraries loaded from one file would share their variables.
bool take(const fs::path& kept, const fs::path& library) {
    std::error_code failed;
    if (Folder::is_kept() || !fs::copy_file(kept, library, failed)) return false;
    fs::last_write_time(kept, fs::file_time_type::clock::now(), failed);
    return true;
}

/// Units of sources that have since changed would fill the disk.
void remove_old(const fs::path& folder) {
    const auto oldest = fs::file_time_type::clock::now() - std::chrono::hours(24);
    std::error_code failed, ignored;
    for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed))
        if (fs::last_write_time(file->path(), ignored) < oldest) fs::remove(file->path(), ignored);
}

/// Leaves a copy for other tests. It gets its name when it is whole, because other processes look for it meanwhile.
void keep(const fs::path& library, const fs::path& kept) {
    const auto part = fmt::format("{}.{}", kept.string(), library.parent_path().filename().string());
    std::error_code failed;
    fs::create_directories(kept.parent_path(), failed);
    remove_old(kept.parent_path());
    fs::copy_file(library, part, failed);
    if (!failed) fs::rename(part, kept, failed);
    if (failed) fs::remove(part, failed);
}

}  // namespace

std::shared_ptr<void> load_library(const std::string& ingredients, const std::function<void(const std::string& folder)>& make) {
    const auto folder = std::make_shared<Folder>();
    const fs::path library = folder->path() + "/unit.so", kept = fs::path(TEST_LIBRARIES) / (sha256(ingredients) + ".so");
    if (!take(kept, library)) {
        make(folder->path());
        keep(library, kept);
    }
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(fmt::format("cannot load a unit: {}", dlerror()));
    // The folder stays as long as the library is loaded, because the emulator's findings read its debug information.
    return {handle, [folder](void* loaded) { dlclose(loaded); }};
}

std::string compiler_version(const std::string& compiler) {
    static std::map<std::string, std::string> versions;
    auto& version = versions[compiler];
    if (!version.empty()) return version;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((compiler + " --version").c_str(), "r"), &pclose);
    std::array<char, 4096> piece{};
    while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr) version += piece.data();
    if (version.empty()) throw std::runtime_error("no version of " + compiler);
    return version;
}

std::string file_text(const std::string& path) {
    std::ostringstream text;
    if (!(text << std::ifstream(path, std::ios::binary).rdbuf())) throw std::runtime_error("cannot read " + path);
    return text.str();
}

}  // namespace trifold::test
