#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/owner.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

class Connection;

/// $XDG_DATA_HOME/trifold/tuning.db, else ~/.local/share/trifold/tuning.db. Throws InputError where neither variable is set.
std::filesystem::path default_database();

/// A decision with the time of its record, in UTC by the clock of its machine. It is for people: clocks jump.
struct DatedDecision {
    std::string when;
    Decision decision;
};

/// A point that a tuner has taken.
struct Claim {
    std::string machine, point;  ///< for people
    Owner owner;
};

/// Tells which records are meant.
using RecordFilter = std::function<bool(const Machine&, const std::string& generator, const Point&)>;

struct RecordCount {
    std::int64_t trials = 0, decisions = 0;
};

/// The log of all trials and decisions, in one SQLite file that several tuners share. Records are only added, in the order in which they
/// were made. Their key is the machine, the generator version and the point without its weight; it is not the list of candidates, so a
/// search with other candidates goes on from what was measured.
///
/// Errors: InputError (no database, damaged, of a later version, may not be opened), OutputError (full disk, locked for a minute). A file
/// that is no database of trials is left as it is. An object is used by one thread at a time, and not by a child after fork().
class Database {
  public:
    enum class Access { write, read };

    /// Opened, or with Access::write created; the directory of the default place is made, others must exist.
    explicit Database(const std::filesystem::path& path, Access access = Access::write);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database();

    /// On the disk when it returns: a process that is killed, or a power cut, loses at most what had not returned.
    void append(const Trial& trial);
    void append(const Decision& decision);
    /// All of them or none. Trials that are there already are left out, and so are decisions about what has one: what was measured here
    /// stands. Returns how many were new.
    RecordCount add(const std::vector<Trial>& trials, const std::vector<Decision>& decisions);

    /// In the order in which they were made.
    std::vector<Trial> trials(const Machine& machine, const std::string& generator, const Point& point) const;
    /// The last.
    std::optional<Decision> decision(const Machine& machine, const std::string& generator, const Point& point) const;
    std::vector<Trial> all_trials() const;
    std::vector<Decision> all_decisions() const;
    std::vector<DatedDecision> dated_decisions() const;
    /// Records that could not be read: their checksum is wrong, or they are of a program that knows more. They count as never made.
    std::int64_t unreadable() const;

    /// Removes the records that the filter says; without a filter all, with those that cannot be read.
    RecordCount forget(const RecordFilter& filter);

    /// True: this process has the point until release() or its end, whichever way it ends. False: another tuner that lives has it.
    bool claim(const Machine& machine, const Point& point);
    void release(const Machine& machine, const Point& point);
    /// Of tuners that live, or may live on other hosts.
    std::vector<Claim> claims() const;
    /// Frees all points, also those of other hosts' tuners, of which nobody here can tell whether they live. Returns how many.
    std::int64_t release_all();

  private:
    std::unique_ptr<Connection> connection_;
};

}  // namespace trifold::tune
