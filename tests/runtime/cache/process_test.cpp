// Several processes on one cache: races, killed ones, full and forbidden places.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/compile/cache.hpp"
#include "tests/runtime/cache/unit.hpp"

using namespace trifold;
using namespace trifold::test;
namespace fs = std::filesystem;

namespace {

/// A helper process whose output goes to a file.
class Helper {
  public:
    Helper(const std::vector<std::string>& words, fs::path output) : output_(std::move(output)) {
        std::vector<std::string> texts{TRIFOLD_CACHE_HELPER};
        texts.insert(texts.end(), words.begin(), words.end());
        std::vector<char*> arguments;
        for (auto& text : texts) arguments.push_back(text.data());
        arguments.push_back(nullptr);
        const int file = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(file, 1);
            ::execv(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(file);
    }
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        return status;
    }
    void kill() const { ::kill(pid_, SIGKILL); }
    std::string output() const { return read_file(output_).value_or(""); }

  private:
    fs::path output_;
    pid_t pid_ = 0;
};

struct Fixture {
    PrivateDirectory directory;
    fs::path root = directory.path() / "cache";
    WithEnvironment environment{{"TRIFOLD_CACHE_DIR", root.c_str()}, {"TRIFOLD_LOG", "off"}, {"TRIFOLD_BINARIES", nullptr}};

    Helper start(const std::vector<std::string>& words) { return Helper(words, directory.path() / ("output" + std::to_string(count_++))); }
    std::string run(const std::vector<std::string>& words) {
        auto helper = start(words);
        CHECK(helper.wait() == 0);
        return helper.output();
    }
    int count_ = 0;
};

const std::string key_of_one = cache_key(cpu_unit(1));
const std::string miss = "miss 286 " + key_of_one + "\n", hit = "hit 286 " + key_of_one + "\n";

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the first process compiles, the next ones do not, keys agree whatever their surroundings") {
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(run({"obtain", "1"}) == hit);
    const WithEnvironment other{{"LC_ALL", "de_DE.UTF-8"}, {"TZ", "Asia/Tokyo"}, {"HOME", "/nonexistent"}};
    CHECK(run({"obtain", "1"}) == hit);
}

TEST_CASE_FIXTURE(Fixture, "eight processes at once: all get it, one entry remains, the work is done once") {
    std::vector<Helper> helpers;
    for (int k = 0; k < 8; ++k) helpers.push_back(start({"obtain", "1"}));
    int misses = 0;
    for (auto& helper : helpers) {
        CHECK(helper.wait() == 0);
        const auto output = helper.output();
        CHECK((output == hit || output == miss));
        misses += output == miss ? 1 : 0;
    }
    CHECK(misses == 1);
    const Cache cache(root);
    CHECK(cache.list().size() == 1);
    CHECK(cache.verify().empty());
    CHECK(fs::is_empty(root / "stage"));
}

TEST_CASE_FIXTURE(Fixture, "processes killed at any moment leave a cache that works") {
    run({"obtain", "1"});
    const Cache cache(root);
    for (int k = 0; k < 24; ++k) {
        cache.clear();
        auto helper = start({"obtain", "1"});
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * k));
        helper.kill();
        helper.wait();
        CHECK(cache.verify().empty());
    }
    cache.clear();
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(run({"obtain", "1"}) == hit);
}

TEST_CASE_FIXTURE(Fixture, "a process killed while it compiles does not hold up the next") {
    const auto compiler = directory.path() / "slow-cc", started = directory.path() / "started";
    write_file(compiler, "#!/bin/sh\n[ \"$1\" = --version ] && exec cc --version\n[ -e " + started.string() +
                             " ] && exec cc \"$@\"\ntouch " + started.string() + "\nexec sleep 5\n");
    fs::permissions(compiler, fs::perms::owner_all);
    const WithEnvironment slow{{"TRIFOLD_CC", compiler.c_str()}};
    auto helper = start({"obtain", "1"});
    for (int k = 0; k < 1000 && !fs::exists(started); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    REQUIRE(fs::exists(started));
    helper.kill();
    helper.wait();
    const auto start_time = std::chrono::steady_clock::now();
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(std::chrono::steady_clock::now() - start_time < std::chrono::seconds(4));
}

TEST_CASE_FIXTURE(Fixture, "a lock that is never released only costs its patience") {
    const Cache cache(root);
    const auto held = cache.lock(key_of_one, std::chrono::milliseconds(0));
    REQUIRE(held);
    CHECK_FALSE(cache.lock(key_of_one, std::chrono::milliseconds(20)));
    CHECK(cache.lock(cache_key(cpu_unit(2)), std::chrono::milliseconds(0)));
}

TEST_CASE_FIXTURE(Fixture, "a full disk: nothing published, nothing left behind, no failure") { run({"full", "1"}); }

TEST_CASE_FIXTURE(Fixture, "a read-only cache is read, and not being able to write is no failure") {
    const WithEnvironment lean{{"TRIFOLD_DISABLE", "clang"}};  // the other user may not be able to read the build tree
    fs::permissions(directory.path(), fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
    fs::create_directory(root);
    fs::permissions(root, fs::perms::owner_all);
    CHECK(run({"nobody", root}) == miss);
    CHECK(fs::is_empty(root));
}

TEST_CASE_FIXTURE(Fixture, "places that cannot be used: memory only") {
    const auto file = directory.path() / "file";
    write_file(file, "");
    for (const std::string& place : {file.string(), (file / "below").string(), std::string("/proc/trifold"), std::string("/dev/null"),
                                     std::string("/sys/kernel/trifold")}) {
        const WithEnvironment named{{"TRIFOLD_CACHE_DIR", place.c_str()}};
        CAPTURE(place);
        const auto cache = Cache::from_environment();
        CHECK(cache.path().empty());
        CHECK(cache.problem().find(place) != std::string::npos);
        CHECK(run({"obtain", "1"}) == miss);
    }
}

TEST_CASE_FIXTURE(Fixture, "without TRIFOLD_CACHE_DIR: XDG, then home, then memory only") {
    const auto xdg = directory.path() / "xdg", home = directory.path() / "home";
    const WithEnvironment none{{"TRIFOLD_CACHE_DIR", nullptr}, {"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}};
    CHECK(Cache::from_environment().path().empty());
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(run({"obtain", "1"}) == miss);
    const WithEnvironment with_home{{"HOME", home.c_str()}};
    CHECK(Cache::from_environment().path() == home / ".cache" / "trifold");
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(run({"obtain", "1"}) == hit);
    const WithEnvironment with_xdg{{"XDG_CACHE_HOME", xdg.c_str()}};
    CHECK(Cache::from_environment().path() == xdg / "trifold");
    const WithEnvironment relative{{"XDG_CACHE_HOME", "relative/path"}};
    CHECK(Cache::from_environment().path() == home / ".cache" / "trifold");
}

TEST_CASE_FIXTURE(Fixture, "a directory that others own or may write to is refused") {
    fs::create_directory(root);
    for (const auto extra : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(root, fs::perms::owner_all | extra);
        CHECK(Cache(root).path().empty());
        CHECK(Cache(root).problem().find("chmod") != std::string::npos);
        CHECK(run({"obtain", "1"}) == miss);
        CHECK(fs::is_empty(root));
    }
    fs::permissions(root, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
    CHECK(Cache(root).path() == root);
    fs::permissions(root, fs::perms::owner_all);
    if (::geteuid() == 0) REQUIRE(::chown(root.c_str(), 65534, 65534) == 0);
    const auto foreign = ::geteuid() == 0 ? root : fs::path("/usr");
    CHECK(Cache(foreign).path().empty());
    CHECK(Cache(foreign).problem().find("another user") != std::string::npos);
}
