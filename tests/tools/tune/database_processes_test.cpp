// Several tuners share a database, and any of them may be killed at any moment.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <random>

#include "tests/tools/tune/records.hpp"
#include "tools/tune/sqlite.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

/// Numbers that processes share.
struct Shared {
    std::atomic<int> done = 0, begun = 0;
    std::atomic<int> holders[8] = {};
    static Shared* make() {
        void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory != MAP_FAILED);
        return new (memory) Shared;
    }
};

}  // namespace

TEST_CASE("database: kill -9 at random moments loses at most the trial in flight") {
    const Folder folder;
    std::mt19937 random(20261124);
    auto* const shared = Shared::make();
    int written = 0;
    for (int round = 0; round < 15; ++round) {
        shared->done = written;
        const int child = begin_child([&]() -> int {
            Database database(folder.database());
            for (int k = written;; ++k) {
                database.append(a_trial(k));
                shared->done = k + 1;  // it had returned
            }
        });
        while (shared->done < written + 1) ::usleep(100);
        ::usleep(random() % 20000);
        ::kill(child, SIGKILL);
        CHECK(wait_for(child) == 128 + SIGKILL);
        const Database database(folder.database());
        const auto trials = texts(database.all_trials());
        const int sure = shared->done;
        const auto count = static_cast<int>(trials.size());
        CHECK(count >= sure);
        CHECK(count <= sure + 1);
        for (int k = written; k < count; ++k) CHECK(trials[static_cast<std::size_t>(k)] == to_json(a_trial(k)).dump());
        written = count;
    }
    CHECK(written >= 15);
    CHECK(Database(folder.database()).unreadable() == 0);
    ::munmap(shared, sizeof(Shared));
}

TEST_CASE("database: eight tuners make, append and claim at once, a point has one of them at a time") {
    const Folder folder;
    auto* const shared = Shared::make();
    constexpr int tuners = 8, rounds = 40;
    std::vector<int> children;
    for (int tuner = 0; tuner < tuners; ++tuner) {
        children.push_back(begin_child([&, tuner] {
            ++shared->begun;
            while (shared->begun < tuners) ::usleep(50);  // all make the file at the same moment
            Database database(folder.database());
            std::mt19937 random(static_cast<unsigned>(tuner));
            for (int round = 0; round < rounds; ++round) {
                const int place = static_cast<int>(random() % 8);
                if (!database.claim(a_machine(), a_point(place))) continue;
                if (shared->holders[place].exchange(tuner + 1) != 0) return 1;
                database.append(a_trial(1000 * tuner + round));
                if (shared->holders[place].exchange(0) != tuner + 1) return 2;
                database.release(a_machine(), a_point(place));
                ++shared->done;
            }
            return 0;
        }));
    }
    for (const int child : children) CHECK(wait_for(child) == 0);
    Database database(folder.database());
    CHECK(database.all_trials().size() == static_cast<std::size_t>(shared->done));
    CHECK(shared->done > tuners);
    CHECK(database.unreadable() == 0);
    CHECK(database.claims().empty());
    ::munmap(shared, sizeof(Shared));
}

TEST_CASE("database: points of a tuner that was killed are free at once, even before anybody asked for its status") {
    const Folder folder;
    auto* const shared = Shared::make();
    Database database(folder.database());
    const auto machine = a_machine();
    const int child = begin_child([&]() -> int {
        Database own(folder.database());
        if (!own.claim(machine, a_point(1))) return 1;
        shared->done = 1;
        for (;;) ::pause();
    });
    while (shared->done < 1) ::usleep(100);
    CHECK(!database.claim(machine, a_point(1)));
    CHECK(database.claim(a_machine("another device"), a_point(1)));
    CHECK(database.claim(machine, a_point(2)));
    CHECK(database.claim(machine, a_point(2)));  // it has it already
    REQUIRE(database.claims().size() == 3);
    database.release(machine, a_point(1));  // of another process: it stays
    CHECK(!database.claim(machine, a_point(1)));
    ::kill(child, SIGKILL);
    siginfo_t information;
    ::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);  // it has ended, and is still in the table of processes
    CHECK(database.claims().size() == 2);
    CHECK(database.claim(machine, a_point(1)));
    wait_for(child);
    ::munmap(shared, sizeof(Shared));
}

TEST_CASE("database: claims name a process among all that ever ran") {
    const Folder folder;
    Database database(folder.database());
    Connection raw(folder.database(), SQLITE_OPEN_READWRITE);
    const auto after = [&](const std::string& change) {
        database.release_all();
        REQUIRE(database.claim(a_machine(), a_point(1)));
        raw.run("UPDATE claims SET " + change);
        return database.claim(a_machine(), a_point(1));
    };
    CHECK(after("begun = begun - 1"));                                         // its number was given to us since
    CHECK(after("pid = 1, begun = 0"));                                        // and to a process that lives
    CHECK(after("kernel = 'another start of this host'"));                     // everything of that start has ended
    CHECK(!after("host = 'elsewhere', kernel = 'of which we know nothing'"));  // it may live
    CHECK(!after("kernel = kernel || ' of a container', begun = begun - 1"));  // here nobody sees that container's processes
    CHECK(database.claims().size() == 1);
    CHECK(database.release_all() == 1);
    CHECK(database.claim(a_machine(), a_point(1)));
}

TEST_CASE("database: where WAL cannot be had, another journal keeps the same") {
    const Folder folder;
    const int child = begin_child([&] {
        sqlite3_initialize();
        sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);  // locks by files, and has no memory that processes share
        Database database(folder.database());
        for (int k = 0; k < 20; ++k) database.append(a_trial(k));
        if (Connection(folder.database(), SQLITE_OPEN_READWRITE).text("PRAGMA journal_mode") != "delete") return 1;
        return database.claim(a_machine(), a_point(1)) ? 0 : 2;
    });
    CHECK(wait_for(child) == 0);
    CHECK(Database(folder.database()).all_trials().size() == 20);
    CHECK(Connection(folder.database(), SQLITE_OPEN_READWRITE).text("PRAGMA journal_mode") == "wal");
}
