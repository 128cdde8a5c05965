#include "tools/tune/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <optional>

#include "runtime/base/switches.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/sqlite.hpp"

namespace trifold::tune {
namespace {

namespace fs = std::filesystem;

constexpr int database_version = 1;
constexpr int database_application = 0x5446746e;  // "TFtn": tells our files from other programs' databases

// `at` is for people. `sum` is the digest of key and body: SQLite itself does not notice when a byte of a row changes.
constexpr const char* tables = R"(
CREATE TABLE trials(id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, sum TEXT NOT NULL);
CREATE TABLE decisions(id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, sum TEXT NOT NULL);
CREATE TABLE claims(key TEXT PRIMARY KEY, machine TEXT NOT NULL, point TEXT NOT NULL, host TEXT NOT NULL, kernel TEXT NOT NULL,
                    pid INTEGER NOT NULL, begun INTEGER NOT NULL);
CREATE INDEX trials_by_key ON trials(key);
CREATE INDEX trials_by_sum ON trials(sum);
CREATE INDEX decisions_by_key ON decisions(key);
)";

/// WAL needs memory that all who use the file share. Processes on several hosts have none.
bool is_shared_by_hosts(const fs::path& path) {
    constexpr unsigned long kinds[] = {
        0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x0bd00bd0, 0x00c36400,
        0x5346414f, 0x47504653, 0x19830326, 0x01021997, 0x65735546};  // NFS, SMB, Lustre, Ceph, AFS, ..., FUSE
    struct statfs found{};
    if (::statfs(path.c_str(), &found) != 0) return false;
    for (const auto kind : kinds)
        if (static_cast<std::uint32_t>(found.f_type) == kind) return true;
    return false;
}

fs::path checked_path(const fs::path& path, Database::Access access) {
    std::error_code error;
    if (path.empty()) throw formats::InputError("the name of the database is empty; give a file with --database");
    const auto text = path.string();
    const auto status = fs::status(path, error);
    if (fs::is_directory(status)) throw formats::InputError(fmt::format("'{}' is a directory; give a file with --database", text));
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw formats::InputError(fmt::format("'{}' is no regular file; give another one with --database", text));
    if (status.type() == fs::file_type::not_found && access == Database::Access::read)
        throw formats::InputError(fmt::format("there is no database '{}'; `trifold tune` makes one, or give one with --database", text));
    constexpr std::uintmax_t least_bytes = 512;  // of a database; SQLite takes a shorter file for an empty one, and would write over it
    const auto bytes = fs::exists(status) ? fs::file_size(path, error) : 0;
    if (!error && bytes > 0 && bytes < least_bytes)
        throw formats::InputError(
            fmt::format("'{}' is no database of trials, and was left as it is; give another file with --database", text));
    return fs::absolute(path);  // SQLite has a meaning for ":memory:"
}

std::optional<fs::path> find_default() {
    for (const std::string name : {"XDG_DATA_HOME", "HOME"}) {
        const fs::path value = switch_value(name.c_str());
        if (!value.is_absolute()) continue;  // the rules of XDG ignore relative paths
        return (name == "HOME" ? value / ".local" / "share" : value) / "trifold" / "tuning.db";
    }
    return {};
}

/// Without a right to write beside the file SQLite could not lock it, and nobody who writes is at it.
bool is_immutable(const fs::path& path) {
    std::error_code ignored;
    return ::faccessat(AT_FDCWD, path.parent_path().c_str(), W_OK, AT_EACCESS) != 0 && !fs::exists(path.string() + "-wal", ignored);
}

Connection connect_database(const fs::path& path, Database::Access access) {
    if (access == Database::Access::read) return is_immutable(path) ? Connection::immutable(path) : Connection(path, SQLITE_OPEN_READONLY);
    if (path == find_default()) formats::make_directory(path.parent_path().string());
    Connection connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (connection.is_read_only()) connection.fail(SQLITE_READONLY);
    return connection;
}

bool is_new_database(const Connection& connection) {
    return connection.number("PRAGMA application_id") == 0 && connection.number("PRAGMA user_version") == 0 &&
           connection.number("SELECT count(*) FROM sqlite_schema") == 0;
}

/// A database that another process makes at the same moment is left as it is.
void create_tables(Connection& connection) {
    Transaction transaction(connection);
    if (!is_new_database(connection)) return;
    connection.run(tables);
    connection.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", database_application, database_version));
    transaction.commit();
}

/// Refuses what is no sound database of ours.
void check_database(const Connection& connection, const fs::path& path) {
    const auto version = connection.number("PRAGMA user_version");
    if (connection.number("PRAGMA application_id") != database_application) connection.fail(SQLITE_NOTADB);
    if (version > database_version)
        throw formats::InputError(
            fmt::format("'{}' is of a later Trifold: its version is {}, and this program knows {}. It was left as it "
                        "is; use the later program, or give another file with --database",
                        path.string(), version, database_version));
    std::error_code ignored;
    constexpr std::uintmax_t most_checked = 64 << 20;  // a quarter of a second; what is damaged in larger ones is found when it is read
    if (version < 1 || (fs::file_size(path, ignored) <= most_checked && connection.text("PRAGMA quick_check(1)") != "ok"))
        connection.fail(SQLITE_CORRUPT);
}

/// Both kinds of journal keep what was committed through the end of the process or a power cut. WAL lets readers go on while one writes.
/// Where it cannot be had, or others are at the file, the file keeps the kind that it has.
void choose_journal(Connection& connection, const fs::path& path) {
    connection.run("PRAGMA synchronous = EXTRA");
    const std::string_view wanted = is_shared_by_hosts(path) ? "delete" : "wal";
    if (connection.text("PRAGMA journal_mode") == wanted) return;
    try {
        connection.run(fmt::format("PRAGMA journal_mode = {}", wanted));
    } catch (const Error&) {
    }
}

}  // namespace

fs::path default_database() {
    if (const auto path = find_default()) return *path;
    throw formats::InputError("neither XDG_DATA_HOME nor HOME names a directory for the database; give a file with --database");
}

Database::Database(const fs::path& path, Access access) {
    const auto name = checked_path(path, access);
    connection_ = std::make_unique<Connection>(connect_database(name, access));
    if (access == Access::write && is_new_database(*connection_)) create_tables(*connection_);
    check_database(*connection_, name);
    if (access == Access::write) choose_journal(*connection_, name);
}

Database::~Database() = default;

}  // namespace trifold::tune
