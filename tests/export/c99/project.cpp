#include "tests/export/c99/project.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace trifold::test {

Ran shell(const std::string& command) {
    FILE* pipe = ::popen(("{ " + command + "\n} 2>&1 </dev/null").c_str(), "r");
    Ran ran{-1, {}};
    if (pipe == nullptr) return ran;
    std::array<char, 4096> piece{};
    for (std::size_t count = 0; (count = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) ran.out.append(piece.data(), count);
    const int result = ::pclose(pipe);
    ran.status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
    return ran;
}

Project::Project(const std::vector<ExportedFile>& files) {
    static int count = 0;
    path_ = fs::temp_directory_path() / fmt::format("trifold-export-test-{}-{}", ::getpid(), ++count);
    fs::create_directories(path_);
    for (const auto& file : files) write(file.name, file.text);
}

Project::~Project() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void Project::write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name, std::ios::binary) << text; }

std::string Project::read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name, std::ios::binary).rdbuf();
    return text.str();
}

ExportRequest request(std::int64_t block, std::int64_t horizon, Precision precision, std::int64_t rhs, const std::string& target,
                      const std::string& prefix) {
    ExportRequest result;
    result.spec = {.block = block, .horizon = horizon, .precision = precision, .rhs = rhs};
    result.target = parse_target(target);
    result.prefix = prefix;
    return result;
}

ExportRequest with_schedule(ExportRequest request, const std::string& schedule) {
    request.schedule = schedule;
    return request;
}

ExportRequest with_ldlt(ExportRequest request) {
    request.factorization = Factorization::ldlt;
    return request;
}

ExportRequest with_speed(ExportRequest request) {
    request.optimize = Optimize::speed;
    return request;
}

ExportRequest with_size(ExportRequest request) {
    request.optimize = Optimize::size;
    return request;
}

ExportRequest with_corrections(ExportRequest request, std::int64_t corrections) {
    request.corrections = corrections;
    return request;
}

}  // namespace trifold::test
