#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"

namespace trifold::command {
namespace {

struct ForgetRequest {
    RecordOptions records;
    bool all = false, claims = false;
};

int forget(const ForgetRequest& options, bool json) {
    if (!options.all && !options.claims && !options.records.has_filters())
        throw formats::InputError("nothing says what to forget; give --device, --block or another filter, or --all");
    if (options.all && options.records.has_filters()) throw formats::InputError("--all and a filter exclude each other; give one");
    const auto path = options.records.database();
    tune::Database(path, tune::Database::Access::read);  // it must be there: forgetting makes none
    tune::Database database(path);
    const auto freed = options.claims ? database.release_all() : 0;
    tune::RecordCount gone;
    if (options.all) gone = database.forget({});
    if (options.records.has_filters()) gone = database.forget(options.records.filter());
    if (gone.trials + gone.decisions + freed == 0)
        throw formats::InputError("nothing in the database is meant by that; `trifold tune show` lists what is there");
    if (json)
        print(Json{{"trials", gone.trials}, {"decisions", gone.decisions}, {"claims", freed}});
    else
        print(fmt::format("{} forgotten{}\n", records_text(gone), options.claims ? "; " + plural(freed, "claim") + " freed" : ""));
    return 0;
}

}  // namespace

Action add_tune_forget(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<ForgetRequest>();
    options->records.add_database(app);
    options->records.add_filters(app);
    app.add_flag("--all", options->all, "Every trial and decision");
    app.add_flag("--claims", options->claims,
                 "Free the points that tuners have taken, also those of other hosts, which may be dead. Tuners that run go on");
    return [options, &json] { return forget(*options, json); };
}

}  // namespace trifold::command
