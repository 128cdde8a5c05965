// Files that are no databases, damaged ones, and disks that take nothing: a clear message, and nothing lost.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/sqlite.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

/// A database of some trials, with everything in one file.
void make_database(const std::filesystem::path& path, int trials) {
    Database database(path);
    for (int k = 0; k < trials; ++k) database.append(a_trial(k));
}

/// Opens and reads the whole; nothing else than these two kinds of errors may happen.
std::string read_all(const std::filesystem::path& path) try {
    const Database database(path, Database::Access::read);
    for (const auto& trial : database.all_trials()) CHECK(to_json(trial) == to_json(a_trial(trial.runs - 5)));
    database.all_decisions();
    return {};
} catch (const formats::InputError& error) {
    return error.what();
} catch (const formats::OutputError& error) {
    return error.what();
}

/// Appends until the disk is full, then looks that all before is readable. 0: as it should be.
int fill(const std::filesystem::path& path) {
    Database database(path);
    int written = 0;
    try {
        for (; written < 100000; ++written) database.append(a_trial(written));
        return 10;
    } catch (const formats::OutputError& error) {
        if (!has(error.what(), "kept") || !has(error.what(), "Make room")) return 11;
    }
    if (written < 5) return 12;
    try {
        database.claim(a_machine(), a_point(1));
    } catch (const formats::OutputError&) {
    }
    if (database.all_trials().size() != static_cast<std::size_t>(written)) return 13;
    return Database(path, Database::Access::read).all_trials().size() == static_cast<std::size_t>(written) ? 0 : 14;
}

}  // namespace

TEST_CASE("database: what is no database of trials is refused, and left as it is") {
    const Folder folder;
    const auto refuses = [&](const std::string& bytes) {
        put_bytes(folder.database(), bytes);
        const auto complained = complaint([&] { Database{folder.database()}; });
        CHECK(bytes_of(folder.database()) == bytes);
        return complained;
    };
    CHECK(has(refuses("hello"), "no database of trials"));
    CHECK(has(refuses(std::string(8192, 'x')), "no database of trials"));
    CHECK(has(refuses(std::string(100, '\0')), "no database of trials"));
    CHECK(has(refuses("SQLite format 3"), "no database of trials"));

    const auto other = folder.path / "other.db";
    Connection(other, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).run("CREATE TABLE mine(x); INSERT INTO mine VALUES (1)");
    CHECK(has(refuses(bytes_of(other)), "no database of trials"));

    CHECK(has(complaint([&] { Database{folder.path}; }), "is a directory"));
    CHECK(has(complaint([&] { Database{"/dev/null"}; }), "no regular file"));
    CHECK(has(complaint([&] { Database{""}; }), "empty"));
    CHECK(has(complaint([&] { Database{folder.path / "missing" / "tuning.db"}; }), "No such file"));
    CHECK(!std::filesystem::exists(folder.path / "missing"));
    CHECK(has(complaint([&] { Database(folder.path / "none.db", Database::Access::read); }), "there is no database"));
    CHECK(!std::filesystem::exists(folder.path / "none.db"));
}

TEST_CASE("database: an empty file becomes a database, and a name that SQLite has a meaning for is a name") {
    const Folder folder;
    put_bytes(folder.database(), "");
    make_database(folder.database(), 2);
    CHECK(Database(folder.database()).all_trials().size() == 2);
    std::filesystem::current_path(folder.path);
    for (const auto* name : {":memory:", "file:x?mode=memory", "a b%20#c"}) {
        make_database(name, 1);
        CHECK(std::filesystem::exists(folder.path / name));
        CHECK(Connection::immutable(folder.path / name).number("SELECT count(*) FROM trials") == 1);
    }
    std::filesystem::current_path("/");
}

TEST_CASE("database: one from the future is refused with its version, and left as it is") {
    const Folder folder;
    make_database(folder.database(), 3);
    Connection(folder.database(), SQLITE_OPEN_READWRITE).run("PRAGMA user_version = 2; ALTER TABLE trials ADD COLUMN more");
    const auto before = bytes_of(folder.database());
    for (const auto access : {Database::Access::read, Database::Access::write}) {
        const auto complained = complaint([&] { Database(folder.database(), access); });
        CHECK(has(complained, "its version is 2, and this program knows 1"));
        CHECK(has(complained, "--database"));
    }
    CHECK(bytes_of(folder.database()) == before);
}

TEST_CASE("database: cut off at any length it is refused or empty, never wrong") {
    const Folder folder;
    make_database(folder.database(), 60);
    const auto whole = bytes_of(folder.database());
    REQUIRE(whole.size() > 40000);
    for (const std::size_t length : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{99}, std::size_t{100}, std::size_t{4095},
                                     std::size_t{4096}, std::size_t{8192}, whole.size() / 2, whole.size() - 4096}) {
        INFO(length);
        const auto cut = whole.substr(0, length);
        put_bytes(folder.database(), cut);
        const auto complained = complaint([&] { Database{folder.database()}; });
        CHECK((has(complained, "no database of trials") || has(complained, "is damaged")));
        CHECK(bytes_of(folder.database()) == cut);
    }
    put_bytes(folder.database(), whole.substr(0, whole.size() - 1));  // of a page that SQLite does not look into here: it may open
    read_all(folder.database());
}

TEST_CASE("database: with bytes changed anywhere, it is refused or gives only what was recorded") {
    const Folder folder;
    make_database(folder.database(), 40);
    const auto whole = bytes_of(folder.database());
    std::mt19937 random(20261124);
    int refused = 0, read = 0;
    for (int round = 0; round < 150; ++round) {
        auto changed = whole;
        const int changes = 1 + static_cast<int>(random() % 4);
        for (int change = 0; change < changes; ++change) {
            // Half of them in the first bytes of pages, which hold the structure.
            const auto at = random() % 2 == 0 ? random() % changed.size() : random() % (changed.size() / 4096) * 4096 + random() % 120;
            changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + random() % 255));
        }
        put_bytes(folder.database(), changed);
        read_all(folder.database()).empty() ? ++read : ++refused;
        if (round % 10 == 0)
            complaint([&] {
                Database database(folder.database());
                database.append(a_trial(0));
                database.claim(a_machine(), a_point(0));
            });
        std::filesystem::remove(folder.database().string() + "-wal");
        std::filesystem::remove(folder.database().string() + "-shm");
    }
    CHECK(refused > 10);
    CHECK(read > 10);
}

TEST_CASE("database: one that may not be written can be read, writing says so") {
    const Folder folder;
    make_database(folder.database(), 4);
    ::chmod(folder.database().c_str(), 0444);
    ::chmod(folder.path.c_str(), 0555);
    const int child = begin_child([&] {
        if (::geteuid() == 0 && (::setegid(65534) != 0 || ::seteuid(65534) != 0)) return 1;  // for root nothing is read-only
        if (!has(complaint([&] { Database{folder.database()}; }), "may not be written")) return 2;
        if (Database(folder.database(), Database::Access::read).all_trials().size() != 4) return 3;
        if (!has(complaint([&] { Database(folder.database(), Database::Access::read).append(a_trial(5)); }), "may not be written"))
            return 4;
        if (!has(complaint([&] { Database{folder.path / "new.db"}; }), "cannot open")) return 5;
        return 0;
    });
    CHECK(wait_for(child) == 0);
    ::chmod(folder.path.c_str(), 0755);
    ::chmod(folder.database().c_str(), 0);
    const int blind = begin_child([&] {
        if (::geteuid() == 0 && (::setegid(65534) != 0 || ::seteuid(65534) != 0)) return 1;
        return has(complaint([&] { Database(folder.database(), Database::Access::read); }), "Permission denied") ? 0 : 2;
    });
    CHECK(wait_for(blind) == 0);
    ::chmod(folder.database().c_str(), 0644);
    CHECK(Database(folder.database()).all_trials().size() == 4);
}

TEST_CASE("database: a file that may grow no more: the trial is refused, all before is kept") {
    const Folder folder;
    const int child = begin_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{300'000, 300'000};
        return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 ? fill(folder.database()) : 1;
    });
    CHECK(wait_for(child) == 0);
    Database database(folder.database());  // with room again it goes on
    const auto before = database.all_trials().size();
    CHECK(before > 5);
    database.append(a_trial(0));
    CHECK(database.all_trials().size() == before + 1);
}

TEST_CASE("database: a full disk: the trial is refused, all before is kept") {
    const Folder folder;
    constexpr int cannot_mount = 77;
    const int child = begin_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", folder.path.c_str(), "tmpfs", 0, "size=512k") != 0)
            return cannot_mount;
        return fill(folder.database());
    });
    const int status = wait_for(child);
    if (status == cannot_mount) MESSAGE("skipped: it needs the right to mount");
    CHECK((status == 0 || status == cannot_mount));
}
