#include "generator/program/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"

namespace trifold {
namespace {

using nlohmann::json;

/// The device whose numbers models take where a device has none.
constexpr std::string_view reference = "cuda:sm_90";

Condition parse_condition(const std::string& quantity, const json& text) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text.is_string()) return {quantity, -infinity, infinity, text.get<std::string>()};
    if (text.is_number() || text.is_boolean()) {
        const double value = text.is_boolean() ? (text.get<bool>() ? 1 : 0) : text.get<double>();
        return {quantity, value, value, {}};
    }
    Condition result{quantity, -infinity, infinity, {}};
    for (const auto& [bound, value] : text.items()) {
        if (bound != "least" && bound != "most") throw std::runtime_error(fmt::format("'{}' is no bound; give least or most", bound));
        (bound == "least" ? result.least : result.most) = value.get<double>();
    }
    return result;
}

Row parse_row(const std::string& device, const std::string& list, std::size_t place, const json& text) {
    Row row;
    row.device = device;
    row.list = list;
    row.place = place;
    const auto& take = text.at("take");
    if (take.is_string())
        row.word = take.get<std::string>();
    else
        row.number = take.is_boolean() ? (take.get<bool>() ? 1 : 0) : take.get<double>();
    if (text.contains("when"))
        for (const auto& [quantity, condition] : text.at("when").items()) row.when.push_back(parse_condition(quantity, condition));
    row.measured = text.value("measured", "");
    return row;
}

/// Numbers by path. Texts are left out.
void flatten(KnownDevice& device, const std::string& path, const json& tree) {
    for (const auto& [name, value] : tree.items()) {
        if (value.is_object())
            flatten(device, path + name + ".", value);
        else if (value.is_boolean())
            device.numbers[path + name] = value.get<bool>() ? 1 : 0;
        else if (value.is_number())
            device.numbers[path + name] = value.get<double>();
    }
}

KnownDevice parse_device(const std::string& name, const json& tree) {
    KnownDevice device;
    device.name = name;
    for (const auto* part : {"facts", "models"})
        if (tree.contains(part)) flatten(device, std::string(part) + ".", tree.at(part));
    if (!tree.contains("rows")) return device;
    for (const auto& [list, rows] : tree.at("rows").items())
        for (const auto& row : rows) device.rows[list].push_back(parse_row(name, list, device.rows[list].size(), row));
    return device;
}

/// Adds a part of a device. Several texts may have parts of a device, but each list of rows is in one of them.
void add(KnownDevice& device, KnownDevice part) {
    device.name = part.name;
    device.numbers.merge(part.numbers);
    for (auto& [list, rows] : part.rows)
        if (!device.rows.emplace(list, std::move(rows)).second)
            throw std::runtime_error(fmt::format("the rows '{}' of {} stand in two texts; leave one", list, device.name));
}

/// Takes what a device lacks from the one that it is like.
void complete(KnownDevice& device, const KnownDevice& like) {
    device.numbers.insert(like.numbers.begin(), like.numbers.end());
    device.rows.insert(like.rows.begin(), like.rows.end());
}

/// Completes a device that is like no other. It gets the models of the reference device, which its own facts then scale, and the rows
/// without conditions.
void complete_from_facts(KnownDevice& device, const KnownDevice& of_reference) {
    for (const auto& item : of_reference.numbers)
        if (item.first.starts_with("models.")) device.numbers.insert(item);
    for (const auto& [list, rows] : of_reference.rows) {
        if (device.rows.contains(list)) continue;
        for (const auto& row : rows)
            if (row.when.empty()) device.rows[list].push_back(row);
    }
}

}  // namespace

bool holds(const Row& row, const Quantities& quantities) {
    return std::ranges::all_of(row.when, [&](const Condition& condition) {
        const auto found = quantities.find(condition.quantity);
        if (found == quantities.end())
            throw std::logic_error(
                fmt::format("row {} of {} asks for '{}', which is no quantity", row.place + 1, row.list, condition.quantity));
        if (!condition.word.empty()) return std::get<std::string>(found->second) == condition.word;
        const auto value = std::get<double>(found->second);
        return value >= condition.least && value <= condition.most;
    });
}

std::string to_string(const Row& row) {
    return fmt::format("row {} of {} for {}{}", row.place + 1, row.list, row.device, row.measured.empty() ? "" : ", " + row.measured);
}

double KnownDevice::number(std::string_view path) const {
    const auto found = numbers.find(path);
    if (found == numbers.end()) throw std::logic_error(fmt::format("{} has no number '{}'", name, path));
    return found->second;
}

std::int64_t KnownDevice::count(std::string_view path) const { return std::llround(number(path)); }

bool KnownDevice::has(std::string_view fact) const { return number(fmt::format("facts.{}", fact)) > 0; }

const std::vector<Row>& KnownDevice::rows_of(std::string_view list) const {
    const auto found = rows.find(list);
    if (found == rows.end()) throw std::logic_error(fmt::format("{} has no rows '{}'", name, list));
    return found->second;
}

const Row& KnownDevice::first(std::string_view list, const Quantities& of) const {
    const auto& all = rows_of(list);
    const auto found = std::ranges::find_if(all, [&](const Row& row) { return holds(row, of); });
    if (found == all.end())
        throw std::logic_error(fmt::format("no row '{}' of {} holds; the last one must have no conditions", list, name));
    return *found;
}

std::int64_t KnownDevice::take(std::string_view list, const Quantities& of) const { return std::llround(first(list, of).number); }

KnownDevices parse_devices(const std::vector<std::string_view>& texts) {
    KnownDevices result;
    std::map<std::string, std::string> likes;
    for (const auto text : texts) {
        const auto tree = json::parse(text, nullptr, true, true);
        for (const auto& [name, device] : tree.items()) {
            add(result[name], parse_device(name, device));
            if (device.contains("like")) likes[name] = device.at("like").get<std::string>();
        }
    }
    for (auto& [name, device] : result) {
        auto like = likes.find(name);
        const auto measured = result.find(reference);
        if (like == likes.end() && name != reference && !name.starts_with("cpu:") && measured != result.end())
            complete_from_facts(device, measured->second);
        for (; like != likes.end(); like = likes.find(like->second)) complete(device, result.at(like->second));
    }
    return result;
}

const KnownDevice& device_of(const Target& target) {
    static const auto devices = parse_devices({template_text("nvidia.json"), template_text("h200.json"), template_text("tuned.json"),
                                               template_text("amd.json"), template_text("cpu.json")});
    const auto found = devices.find(to_string(target));
    if (found == devices.end()) throw SpecError(fmt::format("nothing is known of target '{}'; give a resolved one", to_string(target)));
    return found->second;
}

}  // namespace trifold
