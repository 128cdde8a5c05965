#include <fmt/format.h>
#include <unistd.h>

#include <trifold/binary.hpp>

#include "tools/formats/file.hpp"
#include "tools/tune/compile.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {

std::string unit_text(const Point& point, const Target& target, const Candidate& candidate, std::size_t unit) {
    return nlohmann::json{{"spec", point.spec},           {"workers", point.workers},
                          {"target", to_string(target)},  {"schedule", candidate.schedule},
                          {"variant", candidate.variant}, {"unit", unit}}
        .dump();
}

void compile_unit(const std::string& text, int most_seconds) {
    // Who started this process may be killed: then nobody else ends a compiler that hangs.
    ::alarm(static_cast<unsigned>(most_seconds));
    const auto tree = nlohmann::json::parse(text, nullptr, false);
    const auto has = [&](const char* name) { return tree.is_object() && tree.contains(name); };
    if (!has("spec") || !has("workers") || !has("target") || !has("schedule") || !has("variant") || !has("unit"))
        throw formats::InputError(fmt::format("'{}' is no unit to compile", text));
    const auto& family = family_of(tree["spec"]);
    const Point point{family.parse(tree["spec"]), tree["workers"].get<int>()};
    const Candidate candidate{tree["schedule"].get<std::string>(), tree["variant"].get<std::string>()};
    const auto program = family.program(point, parse_target(tree["target"].get<std::string>()), candidate);
    obtain(program.units.at(tree["unit"].get<std::size_t>()));
}

}  // namespace trifold::tune
