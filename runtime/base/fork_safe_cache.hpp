#pragma once
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

#include "runtime/base/forks.hpp"

namespace trifold {

/// One value for each key, made at the first call, which all who ask for it share. A child of a fork begins with none. Keeps the `most`
/// values that were used most recently, or, where that is not given, those that somebody holds.
template <class Key, class Value>
class ForkSafeCache {
  public:
    explicit ForkSafeCache(std::size_t most = 0) : max_(most) {}
    /// `make()` gives a value that is not there. Others may make theirs at the same time; whoever wants this one waits.
    template <class Make>
    std::shared_ptr<Value> get(const Key& key, Make make) {
        const auto entry = entry_of(key);
        const std::scoped_lock lock(entry->making);
        auto value = entry->shared.lock();
        if (value == nullptr) entry->shared = value = make();
        if (max_ > 0) entry->kept = value;
        return value;
    }

  private:
    struct Entry {
        explicit Entry(const Key& of) : key(of) {}
        Key key;
        std::mutex making;
        std::shared_ptr<Value> kept;
        std::weak_ptr<Value> shared;
    };
    struct Entries {
        std::mutex mutex;
        std::list<std::shared_ptr<Entry>> all;  // the most recently used ones first
    };
    std::shared_ptr<Entry> entry_of(const Key& key) {
        auto& entries = *entries_;
        const std::scoped_lock lock(entries.mutex);
        auto& all = entries.all;
        if (max_ == 0) std::erase_if(all, is_unused);
        const auto found = std::ranges::find_if(all, [&](const auto& entry) { return entry->key == key; });
        if (found == all.end())
            all.push_front(std::make_shared<Entry>(key));
        else
            all.splice(all.begin(), all, found);
        if (max_ > 0 && all.size() > max_) all.pop_back();
        return all.front();
    }
    static bool is_unused(const std::shared_ptr<Entry>& entry) {
        if (entry.use_count() > 1) return false;  // whoever is in get() holds the entry too
        // The lock is free. It is taken so that what the last one in get() wrote is seen.
        const std::scoped_lock lock(entry->making);
        return entry->shared.expired();
    }
    const std::size_t max_;
    PerProcess<Entries> entries_;
};

}  // namespace trifold
