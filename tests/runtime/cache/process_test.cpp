// Several processes on one cache: races, killed ones, full and forbidden places.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/compile/cache.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/support/test.hpp"

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
    void kill(int signal = SIGKILL) const { ::kill(pid_, signal); }
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

bool waits_for(const auto& condition) {
    for (int k = 0; k < 1000 && !condition(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
}

/// A process that has ended may be there until its parent looks.
bool is_running(const std::string& pid) {
    const auto stat = read_file("/proc/" + pid + "/stat").value_or("");
    const auto state = stat.find(") ");
    return state != std::string::npos && stat[state + 2] != 'Z' && stat[state + 2] != 'X';
}

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
    REQUIRE(waits_for([&] { return fs::exists(started); }));
    helper.kill();
    helper.wait();
    const auto start_time = std::chrono::steady_clock::now();
    CHECK(run({"obtain", "1"}) == miss);
    CHECK(std::chrono::steady_clock::now() - start_time < std::chrono::seconds(4));
}

TEST_CASE_FIXTURE(Fixture,
                  "a compiler and what it has started end with a process that is killed, and what they leave is found by its age") {
    const auto compiler = directory.path() / "cc", temporary = directory.path() / "temporary", pid = directory.path() / "pid";
    fs::create_directory(temporary);
    // A compiler that starts a child as cc starts cc1, and waits for it; its temporary files are where TMPDIR says.
    write_file(compiler, "#!/bin/sh\n[ \"$1\" = --version ] && exec echo toy 1.0\necho half > \"$TMPDIR/cc.s\"\n" +
                             std::string("sh -c 'echo $$ > \"$0.new\" && mv \"$0.new\" \"$0\" && exec sleep 60' ") + pid.string() +
                             " &\nwait\n");
    fs::permissions(compiler, fs::perms::owner_all);
    const WithEnvironment slow{{"TRIFOLD_CC", compiler.c_str()}, {"TMPDIR", temporary.c_str()}};
    for (const int signal : {SIGTERM, SIGKILL}) {
        fs::remove(pid);
        auto helper = start({"obtain", "1"});
        REQUIRE(waits_for([&] { return fs::exists(pid); }));
        auto number = read_file(pid).value_or("");
        number.erase(number.find('\n'));
        CHECK(is_running(number));
        REQUIRE(children(temporary).size() == 1);
        const auto left = children(temporary).front();
        CHECK(fs::exists(left / "cc.s"));
        const auto make_old = [&] { fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2)); };
        make_old();
        CHECK_FALSE(is_abandoned(left));  // the process lives
        helper.kill(signal);
        helper.wait();
        CHECK(waits_for([&] { return !is_running(number); }));
        make_old();
        CHECK(is_abandoned(left));
        CHECK(remove_abandoned() >= 5);
        CHECK_FALSE(fs::exists(left));
    }
}

TEST_CASE_FIXTURE(Fixture, "only old private directories are abandoned") {
    const WithEnvironment here{{"TMPDIR", directory.path().c_str()}};
    const PrivateDirectory mine;
    CHECK(mine.path().parent_path() == directory.path());
    if (::access("/dev/shm", W_OK) == 0) {
        const WithEnvironment there{{"TMPDIR", "/dev/shm"}};
        CHECK(PrivateDirectory().path().parent_path() == "/dev/shm");
    }
    const auto old = directory.path() / "trifold-aB3xyz", young = directory.path() / "trifold-young1",
               other = directory.path() / "trifold-other";
    for (const auto& path : {old, young, other}) fs::create_directory(path);
    fs::create_directory_symlink(other, directory.path() / "trifold-link12");
    for (const auto& path : {old, other, mine.path()}) fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
    (void)remove_abandoned();
    CHECK_FALSE(fs::exists(old));
    for (const auto& path : {young, other, directory.path() / "trifold-link12", mine.path()}) CHECK(fs::exists(path));
}

TEST_CASE_FIXTURE(Fixture, "without file descriptors: an error that names the limit, and then it works") {
    for (const auto* disabled : {"clang", ""}) {
        const WithEnvironment with{{"TRIFOLD_DISABLE", disabled}};
        const auto output = run({"descriptors", "1"});
        CAPTURE(output);
        CHECK(output.starts_with("failures "));
        CHECK(std::stoi("0" + output.substr(9)) >= 2);
        Cache(root).clear();
        const auto again = run({"again", "1"});
        CAPTURE(again);
        CHECK(says(again, "\nfailures "));
        Cache(root).clear();
    }
}

TEST_CASE_FIXTURE(Fixture, "without file descriptors, and where nothing may be compiled: so too") {
    run({"obtain", "1"});
    const WithEnvironment deployed{{"TRIFOLD_DISABLE", "jit"}};
    const auto output = run({"descriptors", "1"});
    CHECK(output.starts_with("failures "));
    CHECK(Cache(root).list().size() == 1);
    CHECK_FALSE(fs::exists(root / "bad"));
    CHECK(run({"obtain", "1"}) == hit);
}

TEST_CASE_FIXTURE(Fixture, "without file descriptors, in C: no internal error") {
    const auto output = run({"c", "0"});
    CAPTURE(output);
    CHECK(output.starts_with("failures "));
}

TEST_CASE_FIXTURE(Fixture, "a sound entry that cannot be read now stays where it is") {
    run({"obtain", "1"});
    const auto unmoved = [&] {
        CHECK_FALSE(fs::exists(root / "bad"));
        CHECK(Cache(root).find(key_of_one));
    };
    SUBCASE("no descriptors") {
        CHECK(run({"find", "1"}) == "found\n");
        unmoved();
    }
    SUBCASE("errors of the system: the source and the log are done without") {
        CHECK(run({"errors", "1"}) ==
              "kernel.so kernel.so cannot be read: Input/output error\nmeta.json meta.json cannot be read: Input/output error\nfound\n");
        unmoved();
    }
    SUBCASE("no memory") {
        fs::resize_file(root / key_of_one.substr(0, 2) / key_of_one / "kernel.so", std::uintmax_t{900} << 20);
        CHECK(says(run({"memory", "1"}), "std::bad_alloc"));
        CHECK_FALSE(fs::exists(root / "bad"));
    }
}

TEST_CASE_FIXTURE(Fixture, "without processes and threads: errors that name the limit") {
    const WithEnvironment bare{{"TRIFOLD_DISABLE", "clang,cache"}, {"TRIFOLD_CC", nullptr}, {"TMPDIR", nullptr}};
    const auto output = run({"processes", "1"});
    CAPTURE(output);
    CHECK(says(output, "cannot start /", "the system started only 0 of 2 threads"));
    const auto limit = output.find("the limit is 1 (ulimit -u)");
    REQUIRE(limit != std::string::npos);
    CHECK(output.find("the limit is 1 (ulimit -u)", limit + 1) != std::string::npos);
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
    CHECK(run({"stranger", root}) == miss);
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
        CHECK(says(cache.problem(), place));
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
        CHECK(says(Cache(root).problem(), "chmod"));
        CHECK(run({"obtain", "1"}) == miss);
        CHECK(fs::is_empty(root));
    }
    fs::permissions(root, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
    CHECK(Cache(root).path() == root);
    fs::permissions(root, fs::perms::owner_all);
    if (::geteuid() == 0) REQUIRE(::chown(root.c_str(), 65534, 65534) == 0);
    const auto foreign = ::geteuid() == 0 ? root : fs::path("/usr");
    CHECK(Cache(foreign).path().empty());
    CHECK(says(Cache(foreign).problem(), "another user"));
}
