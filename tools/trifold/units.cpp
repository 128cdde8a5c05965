#include "tools/trifold/units.hpp"

#include "runtime/compile/async.hpp"
#include "runtime/compile/cache.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

std::vector<NeededUnit> needed_units(const Program& program) {
    std::vector<NeededUnit> result;
    for (const auto& unit : program.units) {
        const auto key = cache_key(unit);
        const auto found = obtain_cached(unit, key);
        const auto where = !found ? Place::nowhere : found->prebuilt ? Place::layer : Place::cache;
        result.push_back({unit.id, key, static_cast<std::int64_t>(unit.source.size()), where});
    }
    return result;
}

Json to_json(const std::vector<NeededUnit>& units) {
    auto list = Json::array();
    for (const auto& unit : units)
        list.push_back({{"id", unit.id},
                        {"key", unit.key},
                        {"bytes", unit.bytes},
                        {"cached", unit.place != Place::nowhere},
                        {"prebuilt", unit.place == Place::layer}});
    return list;
}

std::string to_text(const std::vector<NeededUnit>& units) {
    static constexpr const char* words[] = {"no", "in the cache", "prebuilt"};
    std::vector<std::vector<std::string>> rows{{"unit", "text", "compiled", "key"}};
    for (const auto& unit : units)
        rows.push_back({unit.id, bytes_text(unit.bytes), words[static_cast<int>(unit.place)], unit.key.substr(0, 12)});
    return table(rows);
}

}  // namespace trifold::command
