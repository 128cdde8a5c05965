#include "generator/program/template_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"

namespace trifold {
namespace {

namespace fs = std::filesystem;

/// Only files of templates/ have a folder in their names. Headers of generator/trifold, devices and wisdom are always those of the build.
bool is_in_folder(std::string_view name) { return name.find('/') != name.npos; }

/// The folder that TRIFOLD_TEMPLATES names; none where it is unset, and in builds for users.
TemplateFolder* folder_of_switch() {
#ifdef TRIFOLD_READS_TEMPLATES
    static const auto folder = []() -> std::unique_ptr<TemplateFolder> {
        const char* value = std::getenv(templates_switch);
        if (value == nullptr || *value == '\0') return nullptr;
        return std::make_unique<TemplateFolder>(value, templates_switch);
    }();
    return folder.get();
#else
    return nullptr;
#endif
}

}  // namespace

TemplateFolder::TemplateFolder(std::string folder, std::string switch_name)
    : folder_(std::move(folder)), switch_name_(std::move(switch_name)) {
    std::error_code ignored;
    if (!fs::is_directory(folder_, ignored))
        throw SpecError(fmt::format("{} names '{}', which is no directory; name the directory templates/ of Trifold's source, or unset it",
                                    switch_name_, folder_));
}

std::string_view TemplateFolder::text(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = texts_.find(name); found != texts_.end()) return found->second;
    const auto path = fs::path(folder_) / name;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
        throw SpecError(
            fmt::format("{} names '{}', where the template {} cannot be read; name the directory templates/ of Trifold's source",
                        switch_name_, folder_, name));
    if (is_compiled_in(name) && text != embedded_text(name))
        throw SpecError(fmt::format("{} has changed since this program was built, and the generator has it compiled in; build it again",
                                    path.string()));
    return texts_.emplace(name, std::move(text)).first->second;
}

bool is_compiled_in(std::string_view name) { return name.ends_with("shared.h") || name == "grid/boxes.h"; }

bool reads_template_folder() {
#ifdef TRIFOLD_READS_TEMPLATES
    return true;
#else
    return false;
#endif
}

std::string_view template_text(std::string_view name) {
    auto* folder = is_in_folder(name) ? folder_of_switch() : nullptr;
    return folder == nullptr ? embedded_text(name) : folder->text(name);
}

std::vector<std::string_view> template_names() { return embedded_names(); }

}  // namespace trifold
