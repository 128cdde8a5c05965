#include <fmt/format.h>

#include <utility>

#include "generator/program/sha256.hpp"
#include "tools/tune/database.hpp"
#include "tools/tune/keys.hpp"
#include "tools/tune/sqlite.hpp"

namespace trifold::tune {
namespace {

/// A row of a table as it is written: its key, body and checksum.
struct StoredRow {
    std::string key, body;
    std::string sum() const { return sha256(key + "\n" + body); }
};

template <class Record>
StoredRow stored_row(const Record& record) {
    return {record_key(record.machine, record.generator, record.point), compact_text(to_json(record))};
}

void insert_row(const Connection& connection, const std::string& table, const StoredRow& row) {
    Statement(connection, "INSERT INTO " + table + "(at, key, body, sum) VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, ?, ?)", row.key,
              row.body, row.sum())
        .step();
}

/// Whether a column of the table has this text.
bool has_row(const Connection& connection, const std::string& table, const std::string& column, const std::string& text) {
    return Statement(connection, "SELECT 1 FROM " + table + " WHERE " + column + " = ? LIMIT 1", text).step();
}

/// Calls take(id, when, record) for each row that is sound, in the order in which they were made; returns how many are not.
template <class Record, class Take>
std::int64_t read_rows(Statement& rows, Record (*parse)(std::string_view), Take&& take) {
    std::int64_t unreadable = 0;
    while (rows.step()) {
        const StoredRow row{rows.text(2), rows.text(3)};
        std::optional<Record> record;
        try {
            if (row.sum() == rows.text(4)) record = parse(row.body);
        } catch (const std::exception&) {  // of a program that knows more
        }
        if (record)
            take(rows.number(0), rows.text(1), *std::move(record));
        else
            ++unreadable;
    }
    return unreadable;
}

template <class Take>
std::int64_t read_trials(const Connection& connection, Take&& take) {
    Statement rows(connection, "SELECT id, at, key, body, sum FROM trials ORDER BY id");
    return read_rows(rows, parse_trial, take);
}

template <class Take>
std::int64_t read_decisions(const Connection& connection, Take&& take) {
    Statement rows(connection, "SELECT id, at, key, body, sum FROM decisions ORDER BY id");
    return read_rows(rows, parse_decision, take);
}

/// Removes what the filter says from a table that read_rows(connection, take) reads; returns how many.
template <class Read>
std::int64_t remove_rows(const Connection& connection, const std::string& table, Read&& read_all, const RecordFilter& filter) {
    std::vector<std::int64_t> gone;
    read_all(connection, [&](std::int64_t id, const std::string&, const auto& record) {
        if (filter(record.machine, record.generator, record.point)) gone.push_back(id);
    });
    for (const auto id : gone) Statement(connection, "DELETE FROM " + table + " WHERE id = ?", id).step();
    return static_cast<std::int64_t>(gone.size());
}

}  // namespace

std::string compact_text(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string point_key(const Machine& machine, const Point& point) {
    return compact_text({machine.device, machine.target, machine.driver, point.spec, point.workers, to_string(point.objective)});
}

std::string record_key(const Machine& machine, const std::string& generator, const Point& point) {
    return compact_text({generator, point_key(machine, point)});
}

void Database::append(const Trial& trial) { insert_row(*connection_, "trials", stored_row(trial)); }

void Database::append(const Decision& decision) { insert_row(*connection_, "decisions", stored_row(decision)); }

RecordCount Database::add(const std::vector<Trial>& trials, const std::vector<Decision>& decisions) {
    RecordCount added;
    Transaction transaction(*connection_);
    for (const auto& trial : trials) {
        const auto row = stored_row(trial);
        if (has_row(*connection_, "trials", "sum", row.sum())) continue;
        insert_row(*connection_, "trials", row);
        ++added.trials;
    }
    for (const auto& decision : decisions) {
        const auto row = stored_row(decision);
        if (has_row(*connection_, "decisions", "key", row.key)) continue;
        insert_row(*connection_, "decisions", row);
        ++added.decisions;
    }
    transaction.commit();
    return added;
}

std::vector<Trial> Database::trials(const Machine& machine, const std::string& generator, const Point& point) const {
    std::vector<Trial> result;
    Statement rows(*connection_, "SELECT id, at, key, body, sum FROM trials WHERE key = ? ORDER BY id",
                   record_key(machine, generator, point));
    read_rows(rows, parse_trial, [&](std::int64_t, const std::string&, Trial trial) { result.push_back(std::move(trial)); });
    return result;
}

std::optional<Decision> Database::decision(const Machine& machine, const std::string& generator, const Point& point) const {
    std::optional<Decision> result;
    Statement rows(*connection_, "SELECT id, at, key, body, sum FROM decisions WHERE key = ? ORDER BY id",
                   record_key(machine, generator, point));
    read_rows(rows, parse_decision, [&](std::int64_t, const std::string&, Decision decision) { result = std::move(decision); });
    return result;
}

std::vector<Trial> Database::all_trials() const {
    std::vector<Trial> result;
    read_trials(*connection_, [&](std::int64_t, const std::string&, Trial trial) { result.push_back(std::move(trial)); });
    return result;
}

std::vector<Decision> Database::all_decisions() const {
    std::vector<Decision> result;
    for (auto& dated : dated_decisions()) result.push_back(std::move(dated.decision));
    return result;
}

std::vector<DatedDecision> Database::dated_decisions() const {
    std::vector<DatedDecision> result;
    read_decisions(*connection_,
                   [&](std::int64_t, const std::string& when, Decision decision) { result.push_back({when, std::move(decision)}); });
    return result;
}

std::int64_t Database::unreadable() const {
    const auto leave = [](std::int64_t, const std::string&, const auto&) {};
    return read_trials(*connection_, leave) + read_decisions(*connection_, leave);
}

RecordCount Database::forget(const RecordFilter& filter) {
    RecordCount gone;
    Transaction transaction(*connection_);
    if (filter) {
        gone.trials = remove_rows(*connection_, "trials", [](const auto& c, const auto& take) { read_trials(c, take); }, filter);
        gone.decisions = remove_rows(*connection_, "decisions", [](const auto& c, const auto& take) { read_decisions(c, take); }, filter);
    } else {
        connection_->run("DELETE FROM trials");
        gone.trials = connection_->changes();
        connection_->run("DELETE FROM decisions");
        gone.decisions = connection_->changes();
    }
    transaction.commit();
    return gone;
}

}  // namespace trifold::tune
