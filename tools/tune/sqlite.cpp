#include "tools/tune/sqlite.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

constexpr int busy_milliseconds = 60'000;  // a transaction takes milliseconds: who waits so long meets a process that was stopped

/// The path as the name in a URI: these three have a meaning there.
std::string uri_escaped(const std::string& path) {
    std::string text;
    for (const char c : path) text += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
    return text;
}

}  // namespace

Connection::Connection(std::filesystem::path path, const std::string& name, int flags) : path_(std::move(path)) {
    const int code = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
    try {
        if (code != SQLITE_OK) fail(code);
        sqlite3_extended_result_codes(handle_, 1);
        sqlite3_busy_timeout(handle_, busy_milliseconds);
    } catch (...) {
        sqlite3_close_v2(handle_);
        throw;
    }
}

Connection::Connection(std::filesystem::path path, int flags) : Connection(path, path.string(), flags) {}

Connection Connection::immutable(const std::filesystem::path& path) {
    return {path, "file:" + uri_escaped(path.string()) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
}

Connection::Connection(Connection&& other) noexcept : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(handle_, other.handle_);
    return *this;
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::run(const std::string& statements) {
    const int code = sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::string Connection::text(const std::string& query) const {
    Statement statement(*this, query);
    return statement.step() ? statement.text(0) : "";
}

std::int64_t Connection::number(const std::string& query) const {
    Statement statement(*this, query);
    return statement.step() ? statement.number(0) : 0;
}

void Connection::fail(int code) const {
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    const int kind = code & 0xff;
    const bool by_system = (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && sqlite3_system_errno(handle_) != 0;
    const std::string said = by_system ? std::strerror(sqlite3_system_errno(handle_)) : sqlite3_errstr(code);
    const auto path = path_.string();
    switch (kind) {
        case SQLITE_NOTADB:
            throw formats::InputError(
                fmt::format("'{}' is no database of trials, and was left as it is; give another file with --database", path));
        case SQLITE_CORRUPT:
            throw formats::InputError(
                fmt::format("'{}' is damaged ({}), and was left as it is; move it aside and start anew, or put a copy "
                            "in its place. `sqlite3 '{}' .recover` shows what can be saved",
                            path, said, path));
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            throw formats::OutputError(
                fmt::format("'{}' is locked by another process for longer than {} s; end that process, which "
                            "`fuser '{}'` names, and run this again",
                            path, busy_milliseconds / 1000, path));
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            throw formats::InputError(fmt::format("cannot open '{}': {}; give another file with --database", path, said));
        case SQLITE_READONLY:
            throw formats::InputError(fmt::format("'{}' may not be written; give another file with --database", path));
        default:  // most often a full disk
            throw formats::OutputError(
                fmt::format("cannot write '{}': {}; what was recorded before is kept. Make room and run this again", path, said));
    }
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::prepare(std::string_view query) {
    const int code = sqlite3_prepare_v2(connection_.handle_, query.data(), static_cast<int>(query.size()), &handle_, nullptr);
    if (code != SQLITE_OK) connection_.fail(code);
}

void Statement::bind(int place, const std::string& text) {
    const int code = sqlite3_bind_text64(handle_, place, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (code != SQLITE_OK) connection_.fail(code);
}

void Statement::bind(int place, std::int64_t number) {
    const int code = sqlite3_bind_int64(handle_, place, number);
    if (code != SQLITE_OK) connection_.fail(code);
}

bool Statement::step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) connection_.fail(code);
    return code == SQLITE_ROW;
}

std::string Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

Transaction::~Transaction() {
    if (!open_) return;
    try {
        connection_.run("ROLLBACK");
    } catch (const std::exception&) {  // SQLite has rolled back by itself, as it does on a full disk
    }
}

void Transaction::commit() {
    connection_.run("COMMIT");
    open_ = false;
}

}  // namespace trifold::tune
