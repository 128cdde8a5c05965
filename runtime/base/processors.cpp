#include "runtime/base/processors.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include "runtime/base/files.hpp"
#endif

namespace trifold {
namespace {

constexpr double unlimited_processors = std::numeric_limits<double>::infinity();

/// The processors of the affinity mask; those of the machine where it is too large for the mask that is asked for.
int processors_of_mask() {
    constexpr int most = 1 << 16;
    for (int bits = CPU_SETSIZE; bits <= most; bits *= 2) {
        const auto size = CPU_ALLOC_SIZE(bits);
        auto* mask = CPU_ALLOC(bits);
        if (mask == nullptr) break;
        const int count = ::sched_getaffinity(0, size, mask) == 0 ? CPU_COUNT_S(size, mask) : 0;
        CPU_FREE(mask);
        if (count > 0) return count;
    }
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const auto end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == word) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

/// Mount of the groups that hold quotas of processor time, and the group that it shows first.
struct Mount {
    bool second_version;
    std::string shown, place;
};

/// A line of mountinfo: `id parent device root place options fields... - type source options`.
std::optional<Mount> mount_of(const std::string& line) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) return {};
    const bool second = dash[1] == "cgroup2";
    if (!second && (dash[1] != "cgroup" || !has_word(dash[3], "cpu"))) return {};
    return Mount{second, words[3], words[4]};
}

/// The group of this process: of version 2 it is behind "0::", of version 1 behind "4:cpu,cpuacct:".
std::optional<std::string> group_of(const std::string& line, bool second_version) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) return {};
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (second_version ? !controllers.empty() : !has_word(controllers, "cpu")) return {};
    return line.substr(second + 1);
}

/// Quotient of two numbers; unlimited where they are none, as "max" and -1.
double ratio(const std::string& quota, const std::string& period) {
    std::istringstream above(quota), below(period);
    double time = 0, length = 0;
    return above >> time && below >> length && time > 0 && length > 0 ? time / length : unlimited_processors;
}

std::string first_line(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

double quota_of_group(const std::filesystem::path& group, bool second_version) {
    if (!second_version) return ratio(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
    const auto words = words_of(first_line(group / "cpu.max"));
    return words.size() == 2 ? ratio(words[0], words[1]) : unlimited_processors;
}

/// The least quota of the groups from the mount down to `group`. A container often sees its own group as the mount.
double min_quota(const std::filesystem::path& root, const Mount& mount, std::string group) {
    if (mount.shown != "/") group = group.starts_with(mount.shown) ? group.substr(mount.shown.size()) : "";
    auto place = root / mount.place.substr(1);
    auto least = quota_of_group(place, mount.second_version);
    for (const auto& name : std::filesystem::path(group).relative_path()) {
        if (name == "..") break;  // the group is outside of what is mounted
        place /= name;
        least = std::min(least, quota_of_group(place, mount.second_version));
    }
    return least;
}

}  // namespace

double quota_of_processors(const std::filesystem::path& root) {
    auto least = unlimited_processors;
    std::ifstream mounts(root / "proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        const auto mount = mount_of(line);
        if (!mount) continue;
        std::ifstream groups(root / "proc/self/cgroup");
        for (std::string entry; std::getline(groups, entry);) {
            if (const auto group = group_of(entry, mount->second_version)) least = std::min(least, min_quota(root, *mount, *group));
        }
    }
    return least;
}

int usable_processors() {
    const auto quota = std::max(1.0, std::floor(quota_of_processors()));
    return static_cast<int>(std::min<double>(processors_of_mask(), quota));
}

#if defined(__x86_64__)

std::string processor_name() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid(0, &a, &b, &c, &d);
    std::array<char, 13> vendor{};  // in this order of registers
    std::memcpy(vendor.data(), &b, 4);
    std::memcpy(vendor.data() + 4, &d, 4);
    std::memcpy(vendor.data() + 8, &c, 4);
    for (auto& letter : vendor)
        if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
    __get_cpuid(1, &a, &b, &c, &d);
    // Bits 8 to 11 are the family, 4 to 7 the model; both have more bits in newer processors.
    constexpr unsigned extended_family = 0xf;
    const auto base = a >> 8 & 0xf;
    const auto family = base == extended_family ? base + (a >> 20 & 0xff) : base;
    const auto model = (a >> 4 & 0xf) + (base == extended_family || base == 6 ? (a >> 16 & 0xf) << 4 : 0);
    return fmt::format("{} family {} model {}", vendor.data(), family, model);
}

#elif defined(__aarch64__)

std::string processor_name() {
    auto text = read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").value_or("unknown");
    const auto number = text.substr(0, text.find('\n'));
    const auto digits = number.find_first_not_of("0x");  // 0x00000000410fd0c0
    return "AArch64 part " + (number == "unknown" || digits == std::string::npos ? "unknown" : "0x" + number.substr(digits));
}

#else

std::string processor_name() { return "unknown processor"; }

#endif

}  // namespace trifold
