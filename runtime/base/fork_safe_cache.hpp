#pragma once
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/base/forks.hpp"

namespace trifold {

/// One value for each key, made at the first call and kept while it is among the most recently used ones. A child of a fork begins with
/// none.
template <class Key, class Value>
class ForkSafeCache {
  public:
    explicit ForkSafeCache(std::size_t most) : most_(most) {}
    /// `make()` gives the value. Others may make theirs at the same time; whoever wants this one waits.
    template <class Make>
    std::shared_ptr<Value> get(const Key& key, Make make) {
        const auto entry = entry_of(key);
        const std::scoped_lock lock(entry->making);
        if (!entry->value) entry->value = make();
        return entry->value;
    }

  private:
    struct Entry {
        explicit Entry(const Key& of) : key(of) {}
        Key key;
        std::mutex making;
        std::shared_ptr<Value> value;
    };
    struct Entries {
        std::mutex mutex;
        std::list<std::shared_ptr<Entry>> all;  // the most recently used ones first
    };
    std::shared_ptr<Entry> entry_of(const Key& key) {
        auto& entries = *entries_;
        const std::scoped_lock lock(entries.mutex);
        auto& all = entries.all;
        const auto found = std::ranges::find_if(all, [&](const auto& entry) { return entry->key == key; });
        if (found == all.end())
            all.push_front(std::make_shared<Entry>(key));
        else
            all.splice(all.begin(), all, found);
        if (all.size() > most_) all.pop_back();
        return all.front();
    }
    const std::size_t most_;
    PerProcess<Entries> entries_;
};

}  // namespace trifold
