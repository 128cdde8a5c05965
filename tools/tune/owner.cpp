#include "tools/tune/owner.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trifold::tune {
namespace {

/// First line of a file of the kernel's; empty where there is none.
std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string start_of_kernel() { return line_of("/proc/sys/kernel/random/boot_id"); }

std::string machine_name() {
    std::error_code ignored;
    return start_of_kernel() + " " + std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// When a process of this machine began; 0: there is none, or it has ended and nobody has asked for its status yet.
std::int64_t begin_of(std::int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const auto name_ends = all.rfind(')');  // the name before it may hold anything
    if (name_ends == std::string::npos) return 0;
    std::istringstream fields(all.substr(name_ends + 1));
    std::string state, field;
    fields >> state;
    if (state == "Z" || state == "X") return 0;
    constexpr int fields_between = 18;  // of proc(5): from the parent's number, field 4, to field 21
    for (int k = 0; k < fields_between; ++k) fields >> field;
    std::int64_t begun = 0;
    fields >> begun;
    return begun;
}

}  // namespace

Owner this_owner() { return {host_name(), machine_name(), ::getpid(), begin_of(::getpid())}; }

bool may_live(const Owner& owner) {
    if (owner.machine == machine_name()) return begin_of(owner.pid) == owner.begun;
    return owner.host != host_name() || owner.machine.starts_with(start_of_kernel());
}

}  // namespace trifold::tune
