#include "tools/trifold/tune/report.hpp"

#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/records.hpp"
#include "tools/tune/report.hpp"

namespace trifold::command {
namespace {

struct ReportOptions {
    RecordSource records;
    std::string output = "report.html";
};

int write_report(const ReportOptions& options, bool json) {
    formats::check_writable(options.output);
    const auto [trials, decisions] = options.records.read();
    formats::write_file(options.output, tune::report_html(trials, decisions));
    if (json)
        print(Json{{"output", options.output}, {"trials", trials.size()}, {"decisions", decisions.size()}});
    else
        print(fmt::format("{}: {}, {}\n", options.output, plural(static_cast<std::int64_t>(decisions.size()), "decision"),
                          plural(static_cast<std::int64_t>(trials.size()), "trial")));
    return 0;
}

}  // namespace

Action add_tune_report(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<ReportOptions>();
    options->records.add_to(app);
    app.add_option("-o,--output", options->output, "The page")->capture_default_str();
    return [=, &json] { return write_report(*options, json); };
}

}  // namespace trifold::command
