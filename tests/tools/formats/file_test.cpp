#include "tools/formats/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/tools/formats/expect.hpp"

namespace fs = std::filesystem;
using namespace trifold::formats;

namespace {

/// A directory of this test's own, removed at the end.
struct Scratch {
    fs::path path = fs::temp_directory_path() / ("trifold-file-test-" + std::to_string(::getpid()));
    Scratch() { fs::create_directories(path); }
    ~Scratch() { fs::remove_all(path); }
};

std::size_t files_in(const fs::path& path) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
}

}  // namespace

TEST_CASE("files: written as a whole, read back") {
    const Scratch scratch;
    const auto path = scratch.path / "x";
    const std::string bytes("a\0b\n", 4);
    write_file(path, "something longer that was there before");
    write_file(path, bytes);
    CHECK(read_file(path) == bytes);
    CHECK(files_in(scratch.path) == 1);
}

TEST_CASE("files: links are followed, devices are written and not replaced") {
    const Scratch scratch;
    fs::create_symlink("target", scratch.path / "link");
    write_file(scratch.path / "link", "1");
    CHECK(fs::is_symlink(scratch.path / "link"));
    CHECK(read_file(scratch.path / "target") == "1");
    write_file("/dev/null", "2");
    CHECK(fs::is_character_file("/dev/null"));
    CHECK_THROWS_AS(write_file("/dev/full", "3"), OutputError);
}

TEST_CASE("files: what cannot be read says why") {
    const Scratch scratch;
    CHECK_INPUT_ERROR("No such file", read_file(scratch.path / "missing"));
    CHECK_INPUT_ERROR("is a directory; give a file", read_file(scratch.path));
    CHECK_INPUT_ERROR("neither a file nor a pipe", read_file("/dev/null"));
    std::ofstream(scratch.path / "empty").close();
    CHECK_INPUT_ERROR("is empty", read_file(scratch.path / "empty"));
}

TEST_CASE("files: what cannot be written says why, and leaves what was there") {
    const Scratch scratch;
    CHECK_INPUT_ERROR("is a directory", write_file(scratch.path, "x"));
    CHECK_INPUT_ERROR("there is no directory", write_file(scratch.path / "no" / "x", "x"));
    write_file(scratch.path / "file", "kept");
    CHECK_INPUT_ERROR("there is no directory", write_file(scratch.path / "file" / "x", "x"));
    if (::geteuid() != 0) {  // the super-user may write everywhere
        fs::permissions(scratch.path, fs::perms::owner_read | fs::perms::owner_exec);
        CHECK_INPUT_ERROR("Permission denied", write_file(scratch.path / "file", "lost"));
        fs::permissions(scratch.path, fs::perms::owner_all);
    }
    CHECK(read_file(scratch.path / "file") == "kept");
}
