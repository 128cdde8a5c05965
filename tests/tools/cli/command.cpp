#include "tests/tools/cli/command.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

fs::path unique_directory() {
    static int count = 0;
    return fs::temp_directory_path() / fmt::format("trifold-cli-test-{}-{}", ::getpid(), ++count);
}

}  // namespace

Ran run_shell(const fs::path& directory, const std::string& command) {
    const auto logs = unique_directory();
    fs::create_directories(logs);
    // The redirections stand first, so that the command may have others.
    const auto line =
        fmt::format("cd '{}' && >'{}' 2>'{}' </dev/null {}", directory.string(), (logs / "out").string(), (logs / "err").string(), command);
    const int result = std::system(line.c_str());
    Ran ran{WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result), contents(logs / "out"), contents(logs / "err")};
    fs::remove_all(logs);
    return ran;
}

Ran Scratch::run(const std::string& arguments, const std::string& environment) const {
    return run_shell(path, fmt::format("env TRIFOLD_CACHE_DIR='{}' XDG_DATA_HOME=/nowhere {} '{}' {}", TEST_CACHE, environment,
                                       TRIFOLD_COMMAND, arguments));
}

Ran Scratch::ends(int status, const std::string& arguments, const std::string& environment) const {
    auto ran = run(arguments, environment);
    INFO(arguments, "\n", ran.err, ran.out);
    REQUIRE(ran.status == status);
    return ran;
}

void Scratch::check(const std::string& arguments, int status, const std::string& words, const std::string& environment) const {
    const auto ran = run(arguments, environment);
    INFO(arguments, "\n", ran.err, ran.out);
    CHECK(ran.status == status);
    CHECK(ran.err.find(words) != std::string::npos);
}

void Scratch::check_refused(const std::string& begin, const std::vector<std::pair<std::string, std::string>>& runs) const {
    for (const auto& [end, words] : runs) check(begin + end, 2, words);
}

Scratch::Scratch() : path(unique_directory()) { fs::create_directories(path); }
Scratch::~Scratch() { fs::remove_all(path); }

void Scratch::write(const std::string& name, const std::string& bytes) const { std::ofstream(path / name, std::ios::binary) << bytes; }

std::string Scratch::read(const std::string& name) const { return contents(path / name); }

std::vector<std::string> Scratch::names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(path)) result.push_back(entry.path().filename().string());
    std::ranges::sort(result);
    return result;
}
