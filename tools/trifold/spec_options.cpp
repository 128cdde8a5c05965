#include "tools/trifold/spec_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>
#include <trifold/program.hpp>

#include "runtime/base/processors.hpp"

namespace trifold::command {

CLI::Validator number_of_workers() { return CLI::Range(1, max_workers); }

int all_workers() { return std::min(usable_processors(), max_workers); }

/// `holds` tells of a number whether it may be given.
static CLI::Validator number_that(bool (*holds)(double), const std::string& what, const std::string& name) {
    const auto check = [=](const std::string& text) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(text, value) && holds(value);  // of NaN nothing holds
        return good ? std::string() : "Value " + text + " is out of range; give a number " + what;
    };
    return {check, name};
}

CLI::Validator positive_number() {
    return number_that([](double value) { return value > 0; }, "above 0", "POSITIVE");
}
CLI::Validator non_negative_number() {
    return number_that([](double value) { return value >= 0; }, "from 0 on", "NONNEGATIVE");
}

CLI::Option* add_field(CLI::App& app, const Field& field, void* object, std::string option) {
    if (option.empty()) option = option_of(field);
    const auto add = [&]<class Value>(const Value& otherwise) {
        const auto set = [=, &field](const Value& value) {
            try {
                field.set(object, value, option);
            } catch (const SpecError& error) {
                throw CLI::ValidationError(error.what());
            }
        };
        return app.add_option_function<Value>(option, set, std::string(field.about))->default_str(fmt::format("{}", otherwise));
    };
    const auto otherwise = field.get(object);
    if (otherwise.is_boolean())
        return app.add_flag_callback(option, [=, &field] { field.set(object, true, option); }, std::string(field.about));
    if (field.words.empty()) return add(otherwise.get<std::int64_t>());
    return add(otherwise.get<std::string>());
}

void add_choices(CLI::App& app, const Fields& fields, void* object) {
    for (const auto* field : fields.choices())
        if (field->name != shared_field) add_field(app, *field, object);
}

void SharedField::add_to(CLI::App& app, const Field& field) {
    const auto name = option_of(field);
    option_ = app.get_option_no_throw(name);
    if (option_ == nullptr)
        option_ =
            app.add_option(name, CLI::callback_t([](const CLI::results_t&) { return true; }), std::string(field.about))->type_name("TEXT");
    else
        option_->description(fmt::format("{}; of images {}", option_->get_description(), field.about));
}

void SharedField::set(const Field& field, void* object) const {
    if (is_given()) field.set(object, option_->as<std::string>(), option_->get_name());
}

static std::optional<Device> native_device(const std::string& target) {
    if (target == "cpu:native" || target == "native" || target == "cpu") return Device::cpu();
    if (target == "cuda:native" || target == "cuda") return Device::cuda();
    if (target == "hip:native" || target == "hip") return Device::hip();
    return {};
}

void SpecOptions::add_to(CLI::App& app) {
    app.add_option("--precision", precision_, "f32, f64, or mixed: arrays in f64, factored in f32, solutions refined")
        ->check(CLI::IsMember({"f32", "f64", "mixed"}))
        ->capture_default_str();
    app.add_option("--rhs", rhs, "Right-hand sides m solved at once")->capture_default_str();
    app.add_option("--batch", batch, "Systems solved at once")->capture_default_str();
    app.add_option("--workers", workers, "CPU threads a call may use")->check(number_of_workers())->capture_default_str();
    app.add_option("--target", target_, "cpu:native, cpu:x86-64-v3, cuda:native, cuda:sm_90, hip:native, hip:gfx942, ...")
        ->capture_default_str();
}

std::optional<Device> SpecOptions::native() const { return native_device(target_); }

Target SpecOptions::target() const { return target_named(target_); }

Target target_named(const std::string& text) {
    const auto device = native_device(text);
    return device ? device->target() : parse_target(text);
}

}  // namespace trifold::command
