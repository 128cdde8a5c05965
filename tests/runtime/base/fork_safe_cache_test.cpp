#include "runtime/base/fork_safe_cache.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.hpp"

using namespace trifold;

namespace {

/// The value of `run()` in a child of a fork.
template <class Run>
int in_child(Run run) {
    const auto child = ::fork();
    if (child == 0) ::_exit(run());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("forks are counted in the child alone") {
    const auto before = forks();
    CHECK(in_child([&] { return forks() - before; }) == 1);
    CHECK(in_child([&] { return in_child([&] { return forks() - before; }); }) == 2);
    CHECK(forks() == before);
}

TEST_CASE("a cache keeps one value for each key, those that were used last") {
    ForkSafeCache<std::string, int> cache(2);
    int made = 0;
    const auto get = [&](const char* key) { return *cache.get(key, [&] { return std::make_shared<int>(++made); }); };
    CHECK(get("a") == 1);
    CHECK(get("b") == 2);
    CHECK(get("a") == 1);
    CHECK(get("c") == 3);
    CHECK(get("a") == 1);
    CHECK(get("b") == 4);  // "c" took its place
    CHECK(made == 4);
}

TEST_CASE("a cache of no number keeps the values that somebody holds") {
    ForkSafeCache<std::string, int> cache;
    int made = 0;
    const auto get = [&](const char* key) { return cache.get(key, [&] { return std::make_shared<int>(++made); }); };
    const auto first = get("a"), second = get("b");
    CHECK(get("a") == first);
    CHECK(get("b") == second);
    CHECK(*get("c") == 3);
    CHECK(*get("c") == 4);  // it was not held
    CHECK(get("a") == first);
}

TEST_CASE("a value that could not be made is made at the next call") {
    ForkSafeCache<int, int> cache(2);
    CHECK_THROWS_AS(cache.get(1, []() -> std::shared_ptr<int> { throw std::runtime_error("no"); }), std::runtime_error);
    CHECK(*cache.get(1, [] { return std::make_shared<int>(7); }) == 7);
}

TEST_CASE("threads that want one value wait for the one that makes it, and others do not") {
    ForkSafeCache<int, int> cache(4);
    std::latch begun(1), other_is_made(1);
    std::atomic<int> made = 0;
    const auto slow = [&] {
        begun.count_down();
        other_is_made.wait();
        return std::make_shared<int>(++made);
    };
    std::vector<std::jthread> threads;
    std::atomic<int> sum = 0;
    threads.emplace_back([&] { sum += *cache.get(1, slow); });
    begun.wait();
    for (int k = 0; k < 3; ++k) threads.emplace_back([&] { sum += *cache.get(1, [&] { return std::make_shared<int>(100); }); });
    CHECK(*cache.get(2, [] { return std::make_shared<int>(5); }) == 5);
    other_is_made.count_down();
    threads.clear();
    CHECK(sum == 4);
    CHECK(made == 1);
}

TEST_CASE("a child has a cache of its own, even where a thread of its parent was making a value") {
    ForkSafeCache<int, int> cache(4);
    std::latch begun(1), done(1);
    CHECK(*cache.get(2, [] { return std::make_shared<int>(1); }) == 1);
    std::jthread maker([&] {
        cache.get(1, [&] {
            begun.count_down();
            done.wait();
            return std::make_shared<int>(1);
        });
    });
    begun.wait();
    CHECK(in_child([&] {
              return *cache.get(1, [] { return std::make_shared<int>(10); }) + *cache.get(2, [] { return std::make_shared<int>(20); });
          }) == 30);
    CHECK(*cache.get(2, [] { return std::make_shared<int>(9); }) == 1);
    done.count_down();
}

TEST_CASE("an object of a process is its parent's no more, and is not destroyed there") {
    struct Counted {
        int value = 5;
        int* destroyed = nullptr;
        ~Counted() {
            if (destroyed != nullptr) ++*destroyed;
        }
    };
    int destroyed = 0;
    {
        PerProcess<Counted> object;
        object->value = 7;
        object->destroyed = &destroyed;
        CHECK(in_child([&] { return object->value; }) == 5);
        CHECK(object->value == 7);
        CHECK(in_child([&] {
                  object.~PerProcess();
                  return destroyed;
              }) == 0);
    }
    CHECK(destroyed == 1);
}
