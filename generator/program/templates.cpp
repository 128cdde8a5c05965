#include "generator/program/templates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <trifold/error.hpp>

namespace trifold {
namespace {

constexpr std::string_view platform_name = "gpu/platform.cuh";
constexpr std::string_view marker_begin = "/* ---- ", marker_end = " ---- */";

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

constexpr std::string_view include_begin = "#include \"";

/// The name in a line such as: #include "gpu/tridiagonal/common.cuh"
std::optional<std::string_view> needed_by(std::string_view line) {
    if (!line.starts_with(include_begin)) return std::nullopt;
    line.remove_prefix(include_begin.size());
    return line.substr(0, line.find('"'));
}

/// Calls pass(lines) for each run of lines that are pasted, and need(name) for each template that is needed.
template <class Pass, class Need>
void each_part(std::string_view text, const Pass& pass, const Need& need) {
    std::size_t from = 0;
    for (auto at = text.find(include_begin); at != text.npos; at = text.find(include_begin, at + 1)) {
        if (at > 0 && text[at - 1] != '\n') continue;
        pass(text.substr(from, at - from));
        need(*needed_by(text.substr(at)));
        from = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    pass(text.substr(from));
}

/// Pastes files, each behind the files that it needs.
class Paster {
  public:
    Paster(Platform platform, TemplateReader read) : platform_(platform), read_(read) {}

    void add(std::string_view name) {
        if (name == platform_name) name = platform_file();
        if (std::ranges::find(done_, name) != done_.end()) return;
        const bool circle = std::ranges::find(chain_, name) != chain_.end();
        chain_.push_back(name);
        if (circle) throw SpecError("templates need one another in a circle: " + described_chain());
        const auto text = text_of(name);
        auto own = marker(name) + "\n";
        each_part(text, [&](std::string_view lines) { own += lines; }, [this](std::string_view needed) { add(needed); });
        text_ += own;
        text_ += own.ends_with('\n') ? "\n" : "\n\n";
        chain_.pop_back();
        done_.push_back(name);
    }
    const std::string& text() const { return text_; }

  private:
    std::string_view platform_file() const {
        if (platform_ == Platform::cuda) return "gpu/platform_cuda.cuh";
        if (platform_ == Platform::hip) return "gpu/platform_hip.cuh";
        throw SpecError(fmt::format("'{}' stands for no dialect here: {}", platform_name, described_chain()));
    }
    std::string_view text_of(std::string_view name) const {
        try {
            return read_(name);
        } catch (const SpecError& error) {
            throw SpecError(fmt::format("{}: {}", error.what(), described_chain()));
        }
    }
    std::string described_chain() const { return fmt::format("{}", fmt::join(chain_, " needs ")); }

    Platform platform_;
    TemplateReader read_;
    std::vector<std::string_view> chain_, done_;
    std::string text_;
};

/// The name in a marker.
std::optional<std::string_view> marked(std::string_view line) {
    if (!line.starts_with(marker_begin) || !line.ends_with(marker_end)) return std::nullopt;
    return line.substr(marker_begin.size(), line.size() - marker_begin.size() - marker_end.size());
}

/// A line of a template that is pasted.
struct PastedLine {
    std::size_t number;
    std::string_view text;
};

/// The lines of a template that are pasted; empty where there is no such template.
std::vector<PastedLine> pasted_lines(std::string_view name, TemplateReader read) {
    std::vector<PastedLine> pasted;
    try {
        const auto lines = lines_of(read(name));
        for (std::size_t k = 0; k < lines.size(); ++k)
            if (!needed_by(lines[k])) pasted.push_back({k + 1, lines[k]});
    } catch (const SpecError&) {
    }
    return pasted;
}

/// Names of constants in a text. Those that the preprocessor completes end in ##.
std::set<std::string_view> read_words(std::string_view text) {
    constexpr std::string_view prefix = "TRIFOLD_", letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    std::set<std::string_view> words;
    for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
        auto end = std::min(text.find_first_not_of(letters, at), text.size());
        if (text.substr(end).starts_with("##")) end += 2;
        words.insert(text.substr(at, end - at));
    }
    return words;
}

/// Whether a line defines a constant that is among the words; true of other lines.
bool is_read(std::string_view line, const std::set<std::string_view>& words) {
    constexpr std::string_view define = "#define ";
    if (!line.starts_with(define)) return true;
    const auto name = line.substr(define.size(), line.find(' ', define.size()) - define.size());
    return std::ranges::any_of(words, [&](std::string_view word) {
        return word.ends_with("##") ? name.starts_with(word.substr(0, word.size() - 2)) : name == word;
    });
}

}  // namespace

Platform platform_of(const Target& target) { return target.backend == Backend::hip ? Platform::hip : Platform::cuda; }

std::vector<std::string> unit_options(const Target& target) {
    if (target.backend == Backend::cpu)
        return {"-std=gnu11", fmt::format("-march={}", instruction_set(target)), "-ffp-contract=fast", "-fno-math-errno"};
    if (target.backend == Backend::hip) return {"--offload-arch=" + target.arch, "-std=c++20", "-O3", "-Wno-pass-failed"};
    return {"-arch=" + target.arch, "-std=c++17", "--ptxas-options=-v", "--split-compile=4"};
}

std::string upper(std::string_view name) {
    std::string result(name);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

std::string kernel_macro(std::string_view kernel) { return "TRIFOLD_KERNEL_" + upper(kernel); }

std::string define_kernel(std::string_view kernel, std::string_view name) {
    return fmt::format("#define {} {}\n", kernel_macro(kernel), name);
}

std::string with_constants(std::string_view constants, std::string_view text) {
    const auto words = read_words(text);
    std::string result;
    result.reserve(constants.size() + 1 + text.size());
    bool kept = true, continues = false;
    for (const auto line : lines_of(constants)) {
        if (!continues) kept = is_read(line, words);
        continues = line.ends_with('\\');
        if (kept) result.append(line).push_back('\n');
    }
    result += '\n';
    return result.append(text);
}

std::string template_path(std::string_view name) {
    const bool is_shared_with_the_host = name.find('/') == name.npos;
    return (is_shared_with_the_host ? "generator/trifold/" : "templates/") + std::string(name);
}

std::string marker(std::string_view name) { return fmt::format("{}{}{}", marker_begin, name, marker_end); }

std::string paste(const std::vector<std::string>& roots, Platform platform, TemplateReader read) {
    Paster paster(platform, read);
    for (const auto& root : roots) paster.add(root);
    return paster.text();
}

std::vector<TemplateLine> places_of(std::string_view unit, TemplateReader read) {
    std::vector<TemplateLine> places;
    std::string file;
    std::vector<PastedLine> pasted;
    std::size_t next = 0;
    for (const auto line : lines_of(unit)) {
        // Titles within a template look like markers.
        const bool is_title = next < pasted.size() && pasted[next].text == line;
        if (const auto name = is_title ? std::nullopt : marked(line)) {
            file = *name;
            pasted = pasted_lines(*name, read);
            next = 0;
            places.emplace_back();
        } else if (next < pasted.size()) {
            places.push_back({file, pasted[next++].number});
        } else {
            places.emplace_back();
        }
    }
    return places;
}

}  // namespace trifold
