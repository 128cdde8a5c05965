#include "tools/trifold/units.hpp"

#include "runtime/compile/beside.hpp"
#include "runtime/compile/cache.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

std::vector<NeededUnit> needed_units(const Program& program) {
    std::vector<NeededUnit> result;
    for (const auto& unit : program.units) {
        const auto key = cache_key(unit);
        result.push_back({unit.id, key, static_cast<std::int64_t>(unit.source.size()), obtain_cached(unit, key).has_value()});
    }
    return result;
}

Json to_json(const std::vector<NeededUnit>& units) {
    auto list = Json::array();
    for (const auto& unit : units) list.push_back({{"id", unit.id}, {"key", unit.key}, {"bytes", unit.bytes}, {"cached", unit.cached}});
    return list;
}

std::string to_text(const std::vector<NeededUnit>& units) {
    std::vector<std::vector<std::string>> rows{{"unit", "text", "in the cache", "key"}};
    for (const auto& unit : units) rows.push_back({unit.id, bytes_text(unit.bytes), unit.cached ? "yes" : "no", unit.key.substr(0, 12)});
    return table(rows);
}

}  // namespace trifold::command
