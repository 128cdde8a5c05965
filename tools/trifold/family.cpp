#include "tools/trifold/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::command {
namespace {

bool shares(const FamilyVerbs& family, const CLI::Option& option) {
    return std::ranges::find(family.shares, option.get_name()) != family.shares.end();
}

}  // namespace

FamilyChoice::FamilyChoice(CLI::App& app, Families families) : app_(app), known_(app.get_options().size()) {
    for (const auto& family : families) all_.push_back({&family});
}

FamilyChoice::Named& FamilyChoice::entry(const FamilyVerbs& family) { return *std::ranges::find(all_, &family, &Named::family); }

const std::string& FamilyChoice::name(const FamilyVerbs& family, bool is_listed) {
    auto& named = entry(family);
    if (!family.option.empty())
        named.option =
            family.is_flag ? app_.add_flag(family.option, family.purpose) : app_.add_option(family.option, *named.size, family.purpose);
    if (named.option != nullptr && !is_listed) named.option->group("");
    known_ = app_.get_options().size();
    return *named.size;
}

void FamilyChoice::own(const FamilyVerbs& family) {
    const auto all = app_.get_options();
    entry(family).own.assign(all.begin() + static_cast<std::ptrdiff_t>(known_), all.end());
    known_ = all.size();
}

void FamilyChoice::keep_apart() const {
    for (const auto& named : all_) {
        if (named.option == nullptr) continue;
        for (auto* option : named.own) option->needs(named.option);
        for (const auto& other : all_) {
            if (&other == &named) continue;
            if (other.option != nullptr) named.option->excludes(other.option);
            for (auto* option : other.own)
                if (!shares(*named.family, *option)) named.option->excludes(option);
        }
    }
}

bool FamilyChoice::is_open() const {
    const auto is_given = [](const CLI::Option* option) { return option != nullptr && option->count() > 0; };
    return std::ranges::none_of(all_,
                                [&](const Named& named) { return is_given(named.option) || std::ranges::any_of(named.own, is_given); });
}

void FamilyChoice::take(const FamilyVerbs& family, const std::string& size) {
    taken_ = &family;
    *entry(family).size = size;
}

std::size_t FamilyChoice::chosen() const {
    const auto is_given = [&](const Named& named) {
        return taken_ != nullptr ? named.family == taken_ : named.option != nullptr && named.option->count() > 0;
    };
    auto found = std::ranges::find_if(all_, is_given);
    if (found == all_.end()) found = std::ranges::find(all_, nullptr, &Named::option);
    return static_cast<std::size_t>(found - all_.begin());
}

std::string FamilyChoice::foreign(const FamilyVerbs& chosen, const FamilyVerbs*& owner) const {
    for (const auto& named : all_)
        for (const auto* option : named.own)
            if (named.family != &chosen && option->count() > 0 && !shares(chosen, *option)) {
                owner = named.family;
                return option->get_name();
            }
    return "";
}

void refuse_verb(const CLI::App& verb, const FamilyVerbs& family, const std::vector<const FamilyVerbs*>& able) {
    std::vector<std::string> others;
    for (const auto* other : able)
        others.push_back(other->option.empty() ? other->problems : fmt::format("{} ({})", other->problems, other->option));
    throw SpecError(fmt::format("{} has no {} yet; it takes {}", verb.get_name(), family.problems, fmt::join(others, ", ")));
}

int finish(const Report& report, bool json) {
    if (json)
        print(report.json);
    else
        print(report.text);
    return report.solved ? 0 : 1;
}

}  // namespace trifold::command
