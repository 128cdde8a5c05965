#include "tools/tune/report.hpp"

#include <fmt/format.h>

#include <map>

#include "tools/formats/file.hpp"
#include "tools/tune/report/figures.hpp"
#include "tools/tune/report/maps.hpp"
#include "tools/tune/report/page.hpp"
#include "tools/tune/report/sections.hpp"

namespace trifold::tune {
namespace {

/// The skeleton with a part in place of each name in double braces. What parts say is not looked at.
std::string filled(std::string_view skeleton, const std::map<std::string_view, std::string>& parts) {
    std::string page;
    for (auto rest = skeleton;;) {
        const auto open = rest.find("{{"), close = rest.find("}}");
        page += rest.substr(0, open);
        if (open == std::string_view::npos) return page;
        page += parts.at(rest.substr(open + 2, close - open - 2));
        rest = rest.substr(close + 2);
    }
}

std::string line_of(const nlohmann::ordered_json& tree) {
    return tree.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// JSON within a script: no text in it can end the script.
std::string within_script(const std::string& lines) {
    std::string safe;
    safe.reserve(lines.size());
    for (const char letter : lines) {
        if (letter == '<')
            safe += "\\u003c";
        else
            safe += letter;
    }
    return safe;
}

}  // namespace

std::string record_lines(const std::vector<Trial>& trials, const std::vector<Decision>& decisions) {
    std::string lines;
    for (const auto& trial : trials) lines += line_of(to_json(trial));
    for (const auto& decision : decisions) lines += line_of(to_json(decision));
    return lines;
}

Records parse_records(std::string_view lines) {
    Records records;
    for (int number = 1; !lines.empty(); ++number) {
        const auto end = lines.find('\n');
        const auto line = lines.substr(0, end);
        lines = end == std::string_view::npos ? "" : lines.substr(end + 1);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            if (nlohmann::json::parse(line).contains("standard_schedule"))
                records.decisions.push_back(parse_decision(line));
            else
                records.trials.push_back(parse_trial(line));
        } catch (const std::exception& error) {  // of JSON, of a Spec, of a verdict
            throw formats::InputError(fmt::format("line {} is neither a trial nor a decision of a sweep: {}", number, error.what()));
        }
    }
    return records;
}

std::string report_html(const std::vector<Trial>& trials, const std::vector<Decision>& decisions) {
    const auto sweep = report::sweep_of(trials, decisions);
    const auto winners = report::winners_of(sweep);
    return filled(report::page_text("page.html"), {
                                                      {"style", std::string(report::page_text("style.css"))},
                                                      {"script", std::string(report::page_text("page.js"))},
                                                      {"summary", report::summary_html(sweep, trials)},
                                                      {"machines", report::machines_html(sweep)},
                                                      {"maps", report::maps_html(sweep, winners)},
                                                      {"gains", report::gains_html(sweep)},
                                                      {"effects", report::effects_html(report::effects(sweep))},
                                                      {"progress", report::progress_html(report::progress(sweep))},
                                                      {"failures", report::failures_html(trials)},
                                                      {"decisions", report::decisions_html(sweep, decisions)},
                                                      {"records", within_script(record_lines(trials, decisions))},
                                                  });
}

}  // namespace trifold::tune
