#include "runtime/compile/cache.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

Json to_json(const CacheEntry& entry) {
    return {{"key", entry.key},           {"name", entry.name},   {"target", entry.target},
            {"compiler", entry.compiler}, {"bytes", entry.bytes}, {"used", std::chrono::system_clock::to_time_t(entry.used)},
            {"problem", entry.problem}};
}

std::string to_text(const std::vector<CacheEntry>& entries) {
    std::vector<std::vector<std::string>> rows{{"name", "target", "compiler", "size", "last used", "key"}};
    for (const auto& entry : entries) {
        const auto used = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::chrono::system_clock::to_time_t(entry.used)));
        rows.push_back({entry.name, entry.target, entry.compiler, bytes_text(entry.bytes), used, entry.key.substr(0, 12)});
        if (!entry.problem.empty()) rows.back().push_back(entry.problem);
    }
    return table(rows);
}

void show_entries(const std::vector<CacheEntry>& entries, const std::string& none, bool json) {
    if (!json) return print(entries.empty() ? none + "\n" : to_text(entries));
    auto list = Json::array();
    for (const auto& entry : entries) list.push_back(to_json(entry));
    print(list);
}

void show_freed(std::int64_t bytes, bool json) {
    if (json)
        print(Json{{"freed_bytes", bytes}});
    else
        print(fmt::format("{} freed\n", bytes_text(bytes)));
}

/// Without a directory there is nothing to look after, and the user wants to know why.
Cache open() {
    auto cache = Cache::from_environment();
    if (cache.path().empty())
        throw CacheError(fmt::format("there is no cache directory: {}", cache.problem().empty() ? "none is named" : cache.problem()));
    return cache;
}

int show_size(bool json) {
    const auto cache = open();
    if (json)
        print(Json{{"bytes", cache.size()}, {"limit_bytes", cache.limit()}, {"entries", cache.list().size()}});
    else
        print(fmt::format("{} of {} in {}\n", bytes_text(cache.size()), bytes_text(cache.limit()),
                          cache.list().size() == 1 ? "1 entry" : fmt::format("{} entries", cache.list().size())));
    return 0;
}

int show_path(bool json) {
    const auto path = open().path().string();
    if (json)
        print(Json{{"path", path}});
    else
        print(path + "\n");
    return 0;
}

int verify(bool json) {
    const auto bad = open().verify();
    show_entries(bad, "every entry is sound", json);
    const auto moved = std::ranges::count(bad, true, &CacheEntry::set_aside), left = std::ssize(bad) - moved;
    if (moved > 0) say(fmt::format("trifold cache: bad entries: {}; they were set aside and will be rebuilt when needed\n", moved));
    if (left > 0) say(fmt::format("trifold cache: entries that cannot be read, or moved: {}; they were left as they are\n", left));
    return bad.empty() ? 0 : 1;
}

}  // namespace

Action add_cache(CLI::App& app, const bool& json) {
    struct Options {
        std::optional<std::int64_t> to;
    };
    const auto options = std::make_shared<Options>();
    app.require_subcommand(1);
    app.fallthrough();
    const auto* list = app.add_subcommand("list", "Entries, the most recently used first");
    const auto* size = app.add_subcommand("size", "Bytes used and allowed");
    const auto* clear = app.add_subcommand("clear", "Remove every entry");
    const auto* verify_entries = app.add_subcommand("verify", "Read every byte; set bad entries aside (then the exit status is 1)");
    auto* prune =
        app.add_subcommand("prune", "Remove the least recently used entries, and what killed processes left in temporary directories");
    const auto* path = app.add_subcommand("path", "The directory");
    prune->add_option("--to", options->to, "Bytes that may be left; the cache's limit when not given")->check(non_negative_number());
    for (auto* verb : app.get_subcommands([](CLI::App*) { return true; })) verb->fallthrough();  // so that --json may stand after them
    return [=, &json] {
        if (list->parsed()) show_entries(open().list(), "the cache is empty", json);
        if (clear->parsed()) show_freed(open().clear(), json);
        if (prune->parsed()) {
            const auto cache = open();
            show_freed(cache.prune(options->to.value_or(cache.limit())) + remove_abandoned(), json);
        }
        if (size->parsed()) return show_size(json);
        if (path->parsed()) return show_path(json);
        if (verify_entries->parsed()) return verify(json);
        return 0;
    };
}

}  // namespace trifold::command
