#include <fmt/format.h>

#include <memory>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/records.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/device_rows.hpp"

namespace trifold::command {
namespace {

struct RowsOptions {
    RecordSource records;
    std::string target = "cuda:sm_90", measured = "trifold tune", output;
};

constexpr std::string_view head =
    "// Rows that `trifold tune rows` made of sweeps. h200.json says how rows are read. Change none by hand.\n";

/// The lists as people would write them, a row a line.
std::string text_of(const std::string& target, const Json& lists) {
    std::string text;
    for (const auto& [name, rows] : lists.items()) {
        std::string lines;
        for (const auto& row : rows) lines += fmt::format("{}        {}", lines.empty() ? "" : ",\n", row.dump());
        text += fmt::format("{}      \"{}\": [\n{}\n      ]", text.empty() ? "" : ",\n", name, lines);
    }
    return fmt::format("{}{{\n  \"{}\": {{\n    \"rows\": {{\n{}\n    }}\n  }}\n}}\n", head, target, text);
}

std::vector<std::vector<std::string>> table_of(const std::vector<tune::RowFinding>& findings) {
    std::vector<std::vector<std::string>> rows{{"list, row", "takes", "value", "points", "time, mean", "worst", ""}};
    for (const auto& finding : findings)
        for (const auto& [value, effect] : finding.effects)
            rows.push_back({fmt::format("{}, {}", finding.row->list, finding.row->place + 1), fmt::format("{}", finding.row->number),
                            std::to_string(value), std::to_string(effect.ratios.size()), fmt::format("{:.3f}", effect.mean()),
                            fmt::format("{:.3f}", effect.worst()), finding.is_changed() && finding.take == value ? "better" : ""});
    return rows;
}

Json json_of(const std::vector<tune::RowFinding>& findings) {
    auto rows = Json::array();
    for (const auto& finding : findings) {
        Json row = {{"list", finding.row->list}, {"row", finding.row->place + 1}, {"takes", finding.row->number}, {"take", finding.take}};
        for (const auto& [value, effect] : finding.effects)
            row["effects"].push_back(
                {{"value", value}, {"points", effect.ratios.size()}, {"mean", effect.mean()}, {"worst", effect.worst()}});
        rows.push_back(std::move(row));
    }
    return rows;
}

int run_rows(const RowsOptions& options, bool json) {
    const auto target = parse_target(options.target);
    validate(target);
    if (!options.output.empty()) formats::check_writable(options.output);
    const auto findings = tune::row_findings(options.records.read().trials, target);
    if (findings.empty())
        throw formats::InputError(
            fmt::format("no two trials for {} differ in one knob alone; `trifold tune --effort full` makes such trials", options.target));
    if (!options.output.empty())
        formats::write_file(options.output,
                            text_of(options.target, tune::rows_json(findings, target, options.measured).begin()->at("rows")));
    if (json)
        print(Json{{"target", options.target}, {"rows", json_of(findings)}, {"output", options.output}});
    else
        print(table(table_of(findings)));
    return 0;
}

}  // namespace

Action add_tune_rows(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<RowsOptions>();
    options->records.add_to(app);
    app.add_option("--target", options->target, "Whose rows")->capture_default_str();
    app.add_option("--measured", options->measured, "What the rows name as their record")->capture_default_str();
    app.add_option("-o,--output", options->output, "A file for the lists with findings, as generator/devices/tuned.json has them");
    return [=, &json] { return run_rows(*options, json); };
}

}  // namespace trifold::command
