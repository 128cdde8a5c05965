#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <trifold/target.hpp>
#include <variant>
#include <vector>

/// Knowledge of devices: facts, numbers of time models, and choices that were measured. All of it is data, in generator/devices.
namespace trifold {

/// Numbers and words, by name, that the conditions of rows ask about.
using Quantities = std::map<std::string, std::variant<double, std::string>, std::less<>>;

/// One condition of a row. A quantity of numbers has bounds, one of words has a word.
struct Condition {
    std::string quantity;
    double least, most;  ///< both included
    std::string word;    ///< empty: a number is asked for
};

/// One row of a list of choices. It takes a number or a word, for the problems that meet its conditions.
struct Row {
    std::string device;     ///< on which it was measured: "cuda:sm_90"
    std::string list;       ///< name of the choice: "variant"
    std::size_t place = 0;  ///< in the list, from 0
    double number = 0;      ///< the choice, where that is a number; yes is 1, no is 0
    std::string word;       ///< ... where that is a word
    std::vector<Condition> when;
    std::string measured;  ///< the record that made the row; empty: a rule that no measurement made
};

/// Whether all conditions of a row hold. Throws std::logic_error where it asks for a quantity that is not there.
bool holds(const Row& row, const Quantities& quantities);
/// Text for people: "row 1 of variant for cuda:sm_90, history.md#2026-11-22-gpu-teams".
std::string to_string(const Row& row);

/// One architecture. It takes what it lacks from the device that it names as like itself. One that names none has facts of its own, numbers
/// of models from the reference device, and only those rows that have no conditions.
struct KnownDevice {
    std::string name;
    std::map<std::string, double, std::less<>> numbers;         ///< facts and models by path: "facts.multiprocessors"
    std::map<std::string, std::vector<Row>, std::less<>> rows;  ///< by list
    /// These throw std::logic_error where there is nothing of that name.
    double number(std::string_view path) const;
    std::int64_t count(std::string_view path) const;  ///< a number that is whole
    bool has(std::string_view fact) const;            ///< a fact that is yes or no
    const std::vector<Row>& rows_of(std::string_view list) const;
    const Row& first(std::string_view list, const Quantities& of) const;   ///< the first row that holds
    std::int64_t take(std::string_view list, const Quantities& of) const;  ///< its number
};

using KnownDevices = std::map<std::string, KnownDevice, std::less<>>;

/// The devices of some texts in JSON, by target. Throws std::runtime_error with what is wrong.
KnownDevices parse_devices(const std::vector<std::string_view>& texts);
/// The device of a resolved target, from generator/devices. Throws SpecError.
const KnownDevice& device_of(const Target& target);

}  // namespace trifold
