#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>
#include <utility>
#include <vector>

/// Facts that a family states about its Spec in a table. JSON, checks of ranges, texts of words and options of the command are derived.
namespace trifold {

/// Names of an enum's values, in their order.
template <class Value>
inline constexpr std::nullptr_t names_of = nullptr;
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 3> names_of<Precision>{"f32", "f64", "mixed"};

/// The place of a name among others. Throws SpecError with all of them: "unknown method 'lu'; give bicgstab, cg or gmres".
std::size_t place_of(std::string_view name, std::span<const std::string_view> names, std::string_view what);
template <class Value>
std::string_view name_of(Value value) {
    return names_of<Value>.at(static_cast<std::size_t>(value));
}
template <class Value>
Value value_named(std::string_view name, std::string_view what) {
    return static_cast<Value>(place_of(name, names_of<Value>, what));
}
template <class Value>
std::set<Value> all_values() {
    std::set<Value> all;
    for (std::size_t k = 0; k < names_of<Value>.size(); ++k) all.insert(static_cast<Value>(k));
    return all;
}

/// One fact, as people write it.
struct Field {
    std::string_view name, about;
    std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();  ///< range of a number
    std::span<const std::string_view> words{};            ///< the field has one or some of them; empty: it is a number
    nlohmann::json (*get)(const void* object) = nullptr;  ///< a number, true or false, a word, a text, a list of words
    void (*set)(void* object, const nlohmann::json& value, const std::string& where) = nullptr;  ///< throws SpecError
    bool has_several = false;                                                                    ///< some words, not one
};
std::string option_of(const Field& field);  ///< "--rhs-layout"
/// An object with the defaults.
template <class Object>
[[gnu::visibility("hidden")]] inline const Object usual_of{};

/// All fields that an object has.
struct Fields {
    std::string_view thing, example;  ///< "a grid", and one in JSON
    std::span<const Field> all;
    const void* usual;  ///< an object with the defaults: &usual_of<Object>
    const Field& operator[](std::string_view name) const;
    /// The fields with one word but precision, which every family has: what a family may be told of its matrices and methods.
    std::vector<const Field*> choices() const;
};

nlohmann::json to_json(const Fields& fields, const void* object);
/// Numbers and single words: "width 129, height 65, precision f64, matrix general".
std::string to_text(const Fields& fields, const void* object);
/// The choices of an object that are not the usual ones, and their words.
std::vector<std::pair<const Field*, std::string>> unusual_choices(const Fields& fields, const void* object);
/// Makes the choice that has the word. False where none has.
bool choose_by_word(const Fields& fields, void* object, std::string_view word);
/// Reads the fields that the tree has; the others keep their values. Throws SpecError where a value is none of its field's, or a name none
/// of the object's.
void read_json(const Fields& fields, void* object, const nlohmann::json& tree);
/// Throws SpecError where a number is out of range.
void check_ranges(const Fields& fields, const void* object);
/// Whole numbers with an x between them, `least` to `most` of them: "129x65". Empty where the text is something else.
std::vector<std::int64_t> parse_size(std::string_view text, std::size_t least, std::size_t most);

namespace field_values {

inline nlohmann::json encode(std::int64_t value) { return value; }
inline nlohmann::json encode(int value) { return value; }
inline nlohmann::json encode(bool value) { return value; }
inline nlohmann::json encode(double value) { return value; }
inline nlohmann::json encode(const std::optional<double>& value) { return value ? nlohmann::json(*value) : nlohmann::json(); }
inline nlohmann::json encode(const std::string& value) { return value; }
template <class Value>
    requires std::is_enum_v<Value>
nlohmann::json encode(Value value) {
    return name_of(value);
}
template <class Value>
nlohmann::json encode(const std::set<Value>& values) {
    auto names = nlohmann::json::array();
    for (const auto value : values) names.push_back(name_of(value));
    return names;
}

std::int64_t whole_number(const nlohmann::json& value, const std::string& where);
bool flag(const nlohmann::json& value, const std::string& where);
double real_number(const nlohmann::json& value, const std::string& where);
std::string text(const nlohmann::json& value, const std::string& where);
std::size_t word(const nlohmann::json& value, std::span<const std::string_view> words, const std::string& where);
const nlohmann::json& list(const nlohmann::json& value, const std::string& where);

inline void decode(std::int64_t& to, const nlohmann::json& value, const std::string& where) { to = whole_number(value, where); }
inline void decode(int& to, const nlohmann::json& value, const std::string& where) { to = static_cast<int>(whole_number(value, where)); }
inline void decode(bool& to, const nlohmann::json& value, const std::string& where) { to = flag(value, where); }
inline void decode(double& to, const nlohmann::json& value, const std::string& where) { to = real_number(value, where); }
inline void decode(std::optional<double>& to, const nlohmann::json& value, const std::string& where) {
    to = value.is_null() ? std::nullopt : std::optional(real_number(value, where));
}
inline void decode(std::string& to, const nlohmann::json& value, const std::string& where) { to = text(value, where); }
template <class Value>
    requires std::is_enum_v<Value>
void decode(Value& to, const nlohmann::json& value, const std::string& where) {
    to = static_cast<Value>(word(value, names_of<Value>, where));
}
template <class Value>
void decode(std::set<Value>& to, const nlohmann::json& value, const std::string& where) {
    to.clear();
    for (const auto& one : list(value, where)) to.insert(static_cast<Value>(word(one, names_of<Value>, where)));
}

template <class Member>
struct Access;
template <class Object, class Value>
struct Access<Value Object::*> {
    using Owner = Object;
};

template <class Value>
constexpr std::span<const std::string_view> words_of(Value*) {
    if constexpr (std::is_enum_v<Value>) return names_of<Value>;
    return {};
}
template <class Value>
constexpr std::span<const std::string_view> words_of(std::set<Value>*) {
    return names_of<Value>;
}

}  // namespace field_values

/// The field of a member.
template <auto Member>
constexpr Field field(std::string_view name, std::string_view about, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    using Owner = typename field_values::Access<decltype(Member)>::Owner;
    using Value = std::remove_cvref_t<decltype(std::declval<Owner>().*Member)>;
    return {name,
            about,
            least,
            most,
            field_values::words_of(static_cast<Value*>(nullptr)),
            [](const void* object) {
                using field_values::encode;
                return encode(static_cast<const Owner*>(object)->*Member);
            },
            [](void* object, const nlohmann::json& value, const std::string& where) {
                using field_values::decode;
                decode(static_cast<Owner*>(object)->*Member, value, where);
            },
            !std::is_enum_v<Value> && !field_values::words_of(static_cast<Value*>(nullptr)).empty()};
}

}  // namespace trifold
