#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

static bool to_standard_error = false;

void report_to_standard_error() { to_standard_error = true; }

void print(const std::string& text) {
    if (to_standard_error)
        say(text);
    else
        formats::write_standard_output(text);
}

/// Names of files need not be UTF-8; JSON must be.
static std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void print(const Json& json) { print(dump(json)); }

namespace {

enum Exit { done = 0, unsolved = 1, bad_input = 2, bad_environment = 3 };

struct Verb {
    const char *name, *purpose, *task;
    std::function<Action(CLI::App&, const bool&)> add;
    bool json = false;
    CLI::App* app = nullptr;
    Action action = {};
};

/// Says it twice: programs that read the JSON see no message, and people who read the message see no JSON.
void print_error(Exit status, const std::string& message) try {
    print(Json{{"status", "error"}, {"exit", static_cast<int>(status)}, {"message", message}});
} catch (const formats::OutputError& error) {
    say(fmt::format("trifold: {}\n", error.what()));
}

int fail(const Verb& verb, Exit status, const std::string& message) {
    say(fmt::format("trifold {}: {}\n", verb.name, message));
    if (verb.json) print_error(status, message);
    return status;
}

/// The one place where exceptions become exit statuses.
int run(const Verb& verb) {
    try {
        check_switches();
        return verb.action();
    } catch (const Unsolvable& error) {
        return fail(verb, unsolved, error.what());
    } catch (const formats::InputError& error) {
        return fail(verb, bad_input, error.what());
    } catch (const SpecError& error) {
        return fail(verb, bad_input, error.what());
    } catch (const std::bad_alloc&) {
        return fail(verb, bad_environment, "not enough memory for a problem of this size");
    } catch (const std::exception& error) {  // no device or compiler, a launch that failed, a full disk
        return fail(verb, bad_environment, error.what());
    }
}

/// The nearest of the names, where it is near: it begins with the word, or differs by a letter in three at most.
std::string nearest(const std::string& word, const std::vector<std::string>& names) {
    const auto distance = [&](const std::string& name) { return name.starts_with(word) ? 0 : spelling_distance(word, name); };
    const auto best = std::ranges::min_element(names, {}, distance);
    return best != names.end() && distance(*best) <= (word.size() + 2) / 3 ? *best : "";
}

/// Options of a verb, and of the verbs above it that may stand after this one.
std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* at = &app; at != nullptr; at = at->get_fallthrough() ? at->get_parent() : nullptr)
        for (const auto* option : at->get_options())
            for (const auto& name : option->get_lnames()) names.push_back(name);
    return names;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* verb : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(verb->get_name());
    return names;
}

/// "trifold cache list", as it is typed.
std::string command_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name() : command_of(*app.get_parent()) + " " + app.get_name();
}

std::string complaint_of_option(const CLI::App& app, const std::string& word) {
    const auto dashes = word.starts_with("--") ? 2U : 1U;
    const auto name = word.substr(dashes, word.find('=') - dashes);
    const auto near = nearest(name, options_of(app));
    return fmt::format(
        "{} has no option '{}'; {}", command_of(app), word.substr(0, dashes) + name,
        near.empty() ? fmt::format("{} --help lists what it has", command_of(app)) : fmt::format("did you mean --{}?", near));
}

std::string complaint_of_verb(const CLI::App& app, const std::string& word) {
    const auto verbs = verbs_of(app);
    const auto near = nearest(word, verbs);
    return fmt::format("'{}' was not expected; {}", word,
                       near.empty() ? fmt::format("give a verb of {}: {}", command_of(app), fmt::join(verbs, ", "))
                                    : fmt::format("did you mean {}?", near));
}

/// The verb to which an unknown word was given: some verbs hand on what they do not know to those above.
const CLI::App& reader_of(const CLI::App& app) {
    const auto verbs = app.get_subcommands();
    return verbs.empty() || !verbs.back()->get_fallthrough() ? app : reader_of(*verbs.back());
}

/// Names the unknown option or verb, and the known one that is nearest; "" if all are known.
std::string complaint_of_word(const CLI::App& app) {
    for (const auto* verb : app.get_subcommands())
        if (auto complaint = complaint_of_word(*verb); !complaint.empty()) return complaint;
    const auto& reader = reader_of(app);
    for (const auto& word : app.remaining()) {
        if (word.size() > 1 && word.starts_with('-') && word != "--") return complaint_of_option(reader, word);
        if (reader.get_subcommands().empty() && !verbs_of(reader).empty()) return complaint_of_verb(reader, word);
    }
    return "";
}

bool writes_to_standard_output(const CLI::App& app) {
    const auto* output = app.get_option_no_throw("--output");
    return output != nullptr && output->results() == std::vector<std::string>{"-"};
}

/// Prints what --help and --version ask for, or what is wrong with the command line.
int answer(const CLI::App& app, const CLI::ParseError& error, bool json) try {
    std::ostringstream out, err;
    const bool good = app.exit(error, out, err) == 0;
    if (!out.str().empty()) print(out.str());
    if (good) return done;
    for (const auto* verb : app.get_subcommands())
        if (writes_to_standard_output(*verb)) report_to_standard_error();
    const auto complaint = complaint_of_word(app);
    say(complaint.empty() ? err.str() : complaint + "\n");
    if (json) print_error(bad_input, complaint.empty() ? error.what() : complaint);
    return bad_input;
} catch (const formats::OutputError& failure) {
    say(fmt::format("trifold: {}\n", failure.what()));
    return bad_environment;
}

/// Takes those of the descriptors 0 to 2 that are closed, for something that cannot be written to: else a file opened later would have such
/// a number, and messages would be written into it.
void take_standard_descriptors() {
    int taken = ::open("/", O_RDONLY);
    while (taken >= 0 && taken <= STDERR_FILENO) taken = ::open("/", O_RDONLY);
    if (taken >= 0) ::close(taken);
}

}  // namespace

int run_command(int argc, char** argv, Families families) {
    take_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error like any other
    const auto walks = [=](Action (*add)(CLI::App&, const bool&, Families)) {
        return [=](CLI::App& app, const bool& json) { return add(app, json, families); };
    };
    constexpr const char *solving = "To solve", *speed = "To see and raise speed", *shipping = "To put kernels into other programs",
                         *machine = "This machine";
    Verb verbs[] = {
        {"solve", "Solve A X = B from files: A.mtx b.mtx, or D.npy E.npy b.npy", solving, walks(add_solve)},
        {"problem", "Write a test problem of the field to files", solving, walks(add_problem)},
        {"bench", "Time the solver beside its peers and the device's floor", speed, walks(add_bench)},
        {"explain", "Show the schedule, kernels, launches and memory of a problem; draw the elimination tree", speed, walks(add_explain)},
        {"tune", "Find the fastest kernels of a device for problems, and remember them", speed, add_tune},
        {"export", "Write a self-contained C project that solves problems of one size, for embedded targets", shipping, walks(add_export)},
        {"generate", "Write the kernels' source for a problem, and with --binaries the compiled kernels", shipping, walks(add_generate)},
        {"pack", "Compile the kernels of problems into a folder, for machines without a compiler", shipping, add_pack},
        {"doctor", "Say what was found to compile and run with, and what to install", machine, add_doctor},
        {"cache", "Look after the cache of compiled kernels", machine, add_cache},
    };
    std::vector<std::string> kinds;
    for (const auto& family : families) kinds.push_back(family.matrices);
    CLI::App app{
        fmt::format("Trifold solves A X = B by kernels that are made for the problem at hand. A is one of {}.\n"
                    "Exit status: 0 done; 1 the problem could not be solved; 2 bad usage or input; 3 something is missing on this machine.",
                    fmt::join(kinds, "; ")),
        "trifold"};
    app.set_version_flag("--version", "trifold " TRIFOLD_VERSION);
    app.require_subcommand(0, 1);
    for (auto& verb : verbs) {
        verb.app = app.add_subcommand(verb.name, verb.purpose)->group(verb.task);
        verb.app->add_flag("--json", verb.json, "Results as JSON on standard output");
        verb.action = verb.add(*verb.app, verb.json);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const auto is_json = [](const char* word) { return std::strcmp(word, "--json") == 0; };
        return answer(app, error, std::any_of(argv, argv + argc, is_json));
    }
    for (const auto& verb : verbs) {
        if (verb.app->parsed()) return run(verb);
    }
    say(app.help());
    return bad_input;
}

}  // namespace trifold::command
