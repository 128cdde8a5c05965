#include "tools/trifold/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::command {
namespace {

bool is_given(const CLI::Option* option) { return option != nullptr && option->count() > 0; }
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
    for (auto* option : entry(family).own)
        if (option->get_group() == "Options")
            option->group(family.option.empty() ? fmt::format("For {}", family.problems)
                          : family.is_flag      ? fmt::format("For {}; each implies {}", family.problems, family.option)
                                                : fmt::format("For {}, with {}", family.problems, family.option));
}

std::string FamilyChoice::word_of(const Named& named) {
    const auto own = std::ranges::find_if(named.own, is_given);
    return is_given(named.option) || own == named.own.end() ? named.family->option : (*own)->get_name();
}

void FamilyChoice::check() const {
    const auto& named = all_[chosen()];
    for (const auto& other : all_) {
        if (&other == &named) continue;
        if (is_given(other.option))
            throw SpecError(
                fmt::format("{} and {} name two kinds of matrices; give one of them", named.family->option, other.family->option));
        for (const auto* option : other.own)
            if (is_given(option) && !shares(*named.family, *option))
                throw SpecError(fmt::format(
                    "{} is for {}; leave it out, or {}", option->get_name(), other.family->problems,
                    other.option == nullptr ? "leave out " + word_of(named) : fmt::format("give {} too", other.family->option)));
    }
}

bool FamilyChoice::is_open() const {
    const auto* family = implied();
    const bool is_named = std::ranges::any_of(all_, [](const Named& named) { return is_given(named.option); });
    return !is_named && (family == nullptr || (!family->is_flag && !family->option.empty()));
}

const FamilyVerbs* FamilyChoice::implied() const {
    const FamilyVerbs* result = nullptr;
    for (const auto& named : all_) {
        if (is_given(named.option)) return nullptr;
        const bool is_better = result == nullptr || named.family->is_flag;  // others' options may be shared by it
        if (is_better && std::ranges::any_of(named.own, is_given)) result = named.family;
    }
    return result;
}

void FamilyChoice::take(const FamilyVerbs& family, const std::string& size) {
    taken_ = &family;
    *entry(family).size = size;
}

std::size_t FamilyChoice::chosen() const {
    const auto* family = taken_ != nullptr ? taken_ : implied();
    const auto is_named = [&](const Named& named) {
        return family != nullptr && (family == taken_ || family->is_flag) ? named.family == family : is_given(named.option);
    };
    auto found = std::ranges::find_if(all_, is_named);
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
