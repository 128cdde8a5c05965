/// What the tests in a browser run. `make_report sweep SEED POINTS TRIALS FILE` writes the records of a made-up sweep;
/// `make_report database FILE DATABASE` puts records into a database; `make_report tune report ...` is the command's verb.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "tests/tools/tune/made_up_sweep.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/tune/report.hpp"
#include "tools/tune/database.hpp"

namespace trifold::command {

void print(const std::string& text) { fmt::print("{}", text); }
void print(const Json& json) { fmt::print("{}\n", json.dump()); }

}  // namespace trifold::command

int main(int argc, char** argv) try {
    if (argc == 6 && std::string_view(argv[1]) == "sweep") {
        const auto [trials, decisions] =
            trifold::tests::made_up_sweep(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), std::atoi(argv[4]));
        trifold::formats::write_file(argv[5], trifold::tune::record_lines(trials, decisions));
        return 0;
    }
    if (argc == 4 && std::string_view(argv[1]) == "database") {
        const auto [trials, decisions] = trifold::tune::parse_records(trifold::formats::read_file(argv[2]));
        trifold::tune::Database(argv[3]).add(trials, decisions);
        return 0;
    }
    CLI::App app("make_report");
    bool json = false;
    auto* tune = app.add_subcommand("tune", "");
    tune->add_flag("--json", json);
    auto* verb = tune->add_subcommand("report", "");
    verb->fallthrough();
    const auto report = trifold::command::add_tune_report(*verb, json);
    CLI11_PARSE(app, argc, argv);
    return report();
} catch (const trifold::Error& error) {
    fmt::print(stderr, "make_report: {}\n", error.what());
    return 2;
}
