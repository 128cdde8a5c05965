// What is on disk: published whole, checked on every read, and out of the way when it is bad.
#include <sys/stat.h>

#include "generator/program/sha256.hpp"
#include "runtime/compile/cache.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> entry_files{"kernel.c", "kernel.so", "log.txt", "meta.json"};

struct Fixture {
    PrivateDirectory directory;
    Cache cache{directory.path() / "cache"};
    Unit unit = cpu_unit();
    Binary binary{std::string("\x7f"
                              "ELF and so on\0 with a zero",
                              28),
                  "clang 19.1.7",
                  "a log\n",
                  {{unit.kernels[0].name, -1, -1, -1, 40}},
                  cache_key(unit)};
    fs::path entry = cache.path() / binary.key.substr(0, 2) / binary.key;
    WithEnvironment quiet{{"TRIFOLD_LOG", "off"}};

    void publish() const { cache.publish(binary, unit); }
    /// The entry as it is now is a miss, goes to quarantine, and can be made again.
    void check_bad() const {
        CHECK_FALSE(cache.find(binary.key));
        CHECK_FALSE(fs::exists(entry));
        publish();
        CHECK(cache.find(binary.key));
        fs::remove_all(cache.path() / "bad");
    }
};

void replace(const fs::path& file, const std::string& text) { write_file(file, text); }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an entry comes back as it was published") {
    CHECK_FALSE(cache.find(binary.key));
    publish();
    const auto found = cache.find(binary.key);
    REQUIRE(found);
    CHECK(found->code == binary.code);
    CHECK(found->compiler == binary.compiler);
    CHECK(found->log == binary.log);
    CHECK(found->kernels == binary.kernels);
    CHECK(found->key == binary.key);
    CHECK(found->cache_hit);
    for (const auto& name : entry_files) CHECK(fs::exists(entry / name));
    CHECK(read_file(entry / "kernel.c") == unit.source);
    CHECK(fs::is_empty(cache.path() / "stage"));
    struct stat about{};
    REQUIRE(::stat(cache.path().c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0700);
}

TEST_CASE_FIXTURE(Fixture, "a changed bit anywhere makes a miss") {
    for (const auto& name : entry_files) {
        publish();
        const auto text = read_file(entry / name).value();
        for (std::size_t k = 0; k < text.size(); k += name == "kernel.c" ? 83 : 3) {
            auto changed = text;
            changed[k] = static_cast<char>(changed[k] ^ (1 << (k % 8)));
            replace(entry / name, changed);
            INFO(name, " ", k);
            check_bad();
        }
    }
}

TEST_CASE_FIXTURE(Fixture, "a file cut short, emptied, longer, missing or not a file makes a miss") {
    for (const auto& name : entry_files) {
        CAPTURE(name);
        publish();
        const auto text = read_file(entry / name).value();
        for (const auto length : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 1}) {
            replace(entry / name, text.substr(0, length));
            check_bad();
        }
        replace(entry / name, text + "x");
        check_bad();
        fs::remove(entry / name);
        check_bad();
        fs::remove(entry / name);
        fs::create_directory(entry / name);
        check_bad();
        fs::remove(entry / name);
        fs::create_symlink("/dev/zero", entry / name);
        check_bad();
        fs::remove(entry / name);
        REQUIRE(::mkfifo((entry / name).c_str(), 0600) == 0);
        check_bad();
        fs::resize_file(entry / name, std::uintmax_t{1} << 31);
        check_bad();
    }
}

TEST_CASE_FIXTURE(Fixture, "a meta.json of any other shape makes a miss") {
    // clang-format off
    const std::string shapes[] = {
        "", "{", "null", "[]", "{}", "42", "\"text\"", "{\"sha256\": 7}", "{\"key\": null, \"sha256\": \"\"}",
        std::string(100000, '['), "\xff\xfe\x00\x01"};
    // clang-format on
    for (const auto& shape : shapes) {
        publish();
        replace(entry / "meta.json", shape);
        check_bad();
    }
}

TEST_CASE_FIXTURE(Fixture, "a well-sealed meta.json without the checksum of a file, or with one that is none, makes a miss") {
    for (const std::string name : {"kernel.c", "kernel.so", "log.txt"})
        for (const nlohmann::json& checksum :
             {nlohmann::json(), nlohmann::json(3), nlohmann::json("two"), nlohmann::json(std::string(64, '0'))}) {
            publish();
            auto meta = nlohmann::json::parse(read_file(entry / "meta.json").value());
            if (checksum.is_null())
                meta["files"].erase(name);
            else
                meta["files"][name] = checksum;
            meta.erase("sha256");
            meta["sha256"] = sha256(meta.dump());
            replace(entry / "meta.json", meta.dump(2) + "\n");
            INFO(name, " ", checksum.dump());
            check_bad();
        }
}

TEST_CASE_FIXTURE(Fixture, "an entry under another key is not taken for it") {
    publish();
    const auto other = cache_key(cpu_unit(2));
    fs::create_directories(cache.path() / other.substr(0, 2));
    fs::copy(entry, cache.path() / other.substr(0, 2) / other, fs::copy_options::recursive);
    CHECK_FALSE(cache.find(other));
    CHECK(cache.find(binary.key));
}

TEST_CASE_FIXTURE(Fixture, "verify finds the bad entries, and only those") {
    publish();
    for (int number = 2; number < 6; ++number) {
        auto other = binary;
        other.key = cache_key(cpu_unit(number));
        cache.publish(other, cpu_unit(number));
    }
    CHECK(cache.verify().empty());
    CHECK(cache.list().size() == 5);
    replace(entry / "kernel.so", "tampered");
    const auto bad = cache.verify();
    REQUIRE(bad.size() == 1);
    CHECK(bad[0].key == binary.key);
    CHECK(says(bad[0].problem, "kernel.so"));
    CHECK(cache.list().size() == 4);
}

TEST_CASE_FIXTURE(Fixture, "clear removes what the cache made, and nothing else") {
    publish();
    replace(cache.path() / "mine.txt", "keep");
    fs::create_directories(cache.path() / "xy" / "mine");
    CHECK(cache.size() > 0);
    CHECK(cache.clear() > 0);
    CHECK(cache.size() == 0);
    CHECK(cache.list().empty());
    CHECK(fs::exists(cache.path() / "mine.txt"));
    CHECK(fs::exists(cache.path() / "xy" / "mine"));
    publish();
    CHECK(cache.find(binary.key));
}

TEST_CASE_FIXTURE(Fixture, "publishing again: the first stays, unless another compiler made it") {
    publish();
    auto second = binary;
    second.log = "another log\n";
    cache.publish(second, unit);
    CHECK(cache.find(binary.key)->log == "a log\n");
    second.compiler = "clang 20.1.0";
    cache.publish(second, unit);
    CHECK(cache.find(binary.key)->log == "another log\n");
    replace(entry / "meta.json", "rubbish");
    publish();
    CHECK(cache.find(binary.key)->log == "a log\n");
    CHECK(fs::is_empty(cache.path() / "stage"));
}

TEST_CASE("the least recently used go first, and the bound holds") {
    const PrivateDirectory directory;
    const WithEnvironment quiet{{"TRIFOLD_LOG", "off"}};
    const Cache cache(directory.path() / "cache", 200000);
    const auto publish = [&](int number) {
        const auto unit = cpu_unit(number);
        Binary binary{std::string(10000, 'x'), "toy 1.0", "", {}, cache_key(unit)};
        cache.publish(binary, unit);
        const auto entry = cache.path() / binary.key.substr(0, 2) / binary.key;
        if (fs::exists(entry)) fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(100 - number));
        return binary.key;
    };
    std::vector<std::string> keys;
    for (int number = 0; number < 10; ++number) keys.push_back(publish(number));
    CHECK(cache.list().size() == 10);
    CHECK(cache.list().front().key == keys.back());
    CHECK(cache.find(keys[0]));  // now the most recently used
    for (int number = 10; number < 40; ++number) {
        keys.push_back(publish(number));
        CHECK(cache.size() <= cache.limit());
    }
    CHECK(cache.find(keys[0]));
    CHECK_FALSE(cache.find(keys[1]));
    CHECK(cache.find(keys.back()));
    CHECK(cache.prune(0) > 0);
    CHECK(cache.size() == 0);
}

TEST_CASE("quarantine and the leavings of killed processes are pruned first") {
    const PrivateDirectory directory;
    const WithEnvironment quiet{{"TRIFOLD_LOG", "off"}};
    const Cache cache(directory.path() / "cache");
    const auto unit = cpu_unit();
    Binary binary{"bytes", "toy 1.0", "", {}, cache_key(unit)};
    cache.publish(binary, unit);
    const auto half = cache.path() / "stage" / "trifold-killed", fresh = cache.path() / "stage" / "trifold-at-work",
               bad = cache.path() / "bad" / "old";
    for (const auto& path : {half, fresh, bad}) {
        fs::create_directories(path);
        write_file(path / "kernel.so", std::string(100, 'x'));
    }
    fs::last_write_time(half, fs::file_time_type::clock::now() - std::chrono::hours(2));
    CHECK(cache.prune(cache.size() - 150) >= 200);
    CHECK_FALSE(fs::exists(half));
    CHECK_FALSE(fs::exists(bad));
    CHECK(fs::exists(fresh));
    CHECK(cache.find(binary.key));
}
