#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "runtime/base/forks.hpp"

namespace trifold {

/// One value for each key, which all who ask for it share while one of them holds it. A child of a fork begins with none.
template <class Key, class Value>
class ForkSafeTable {
  public:
    /// The value that is held, else what `make()` gives. Others may make theirs at the same time; whoever wants this one waits.
    template <class Make>
    std::shared_ptr<Value> get(const Key& key, Make make) {
        const auto entry = entry_of(key);
        const std::scoped_lock lock(entry->making);
        auto value = entry->value.lock();
        if (value == nullptr) entry->value = value = make();
        return value;
    }

  private:
    struct Entry {
        std::mutex making;
        std::weak_ptr<Value> value;
    };
    struct Entries {
        std::mutex mutex;
        std::map<Key, std::shared_ptr<Entry>> all;
    };
    std::shared_ptr<Entry> entry_of(const Key& key) {
        auto& entries = *entries_;
        const std::scoped_lock lock(entries.mutex);
        std::erase_if(entries.all, [](const auto& item) {
            if (item.second.use_count() > 1) return false;  // whoever is in get() holds the entry too
            // The lock is free. It is taken so that what the last one in get() wrote is seen.
            const std::scoped_lock free(item.second->making);
            return item.second->value.expired();
        });
        auto& entry = entries.all[key];
        if (entry == nullptr) entry = std::make_shared<Entry>();
        return entry;
    }
    PerProcess<Entries> entries_;
};

}  // namespace trifold
