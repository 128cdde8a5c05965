#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace trifold::tune {

/// An open SQLite database. What goes wrong is InputError (no database, damaged, may not be opened) or OutputError (full disk, locked),
/// with the file's name and what to do.
class Connection {
  public:
    /// `flags` are SQLite's, such as SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE.
    Connection(std::filesystem::path path, int flags);
    /// A file that nobody writes, read without locks.
    static Connection immutable(const std::filesystem::path& path);
    Connection(const Connection&) = delete;
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;
    ~Connection();

    /// One statement or more, without results.
    void run(const std::string& statements);
    /// First column of the first row; empty or 0 without rows.
    std::string text(const std::string& query) const;
    std::int64_t number(const std::string& query) const;
    std::int64_t changes() const { return sqlite3_changes64(handle_); }
    bool is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }
    /// Throws what `code` of SQLite means.
    [[noreturn]] void fail(int code) const;

  private:
    friend class Statement;
    Connection(std::filesystem::path path, const std::string& name, int flags);

    std::filesystem::path path_;
    sqlite3* handle_ = nullptr;
};

/// One statement of SQL with its arguments, for `?` in turn. Errors are the Connection's.
class Statement {
  public:
    template <class... Arguments>
    Statement(const Connection& connection, std::string_view query, const Arguments&... arguments) : connection_(connection) {
        prepare(query);
        int place = 0;
        (bind(++place, arguments), ...);
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    /// Goes to the next row; false after the last.
    bool step();
    std::string text(int column) const;  ///< columns count from 0
    std::int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }

  private:
    void prepare(std::string_view query);
    void bind(int place, const std::string& text);
    void bind(int place, std::int64_t number);

    const Connection& connection_;
    sqlite3_stmt* handle_ = nullptr;
};

/// What is done within its life is kept as a whole by commit(), or not at all. Waits until no other process writes.
class Transaction {
  public:
    explicit Transaction(Connection& connection) : connection_(connection) { connection_.run("BEGIN IMMEDIATE"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();
    void commit();

  private:
    Connection& connection_;
    bool open_ = true;
};

}  // namespace trifold::tune
