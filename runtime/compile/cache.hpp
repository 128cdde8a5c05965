#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <trifold/binary.hpp>
#include <vector>

#include "runtime/base/files.hpp"
#include "runtime/compile/entry.hpp"

namespace trifold {

/// One published binary, for people.
struct CacheEntry {
    std::string key;
    std::string name;      ///< such as btd_n32_f64_x8664v4_1a2b3c4d
    std::string target;    ///< such as cpu:x86-64-v4
    std::string compiler;  ///< name and exact version
    std::int64_t bytes = 0;
    std::chrono::system_clock::time_point used;
    std::string problem;     ///< why it would be treated as a miss; empty: sound
    bool set_aside = false;  ///< it was damaged, and is in quarantine now
};

/// Binaries on disk, addressed by the content they were made from. One directory an entry:
/// ab/<key>/{kernel.c|kernel.cu, kernel.so|kernel.cubin, log.txt, meta.json}. Other data that takes long to make has a file an entry.
/// Lookups and publications never throw: what goes wrong is a miss, reported once. Safe between threads and processes.
class Cache {
  public:
    /// The place that the environment names (docs/users/switches.md). Without a usable one nothing is kept.
    static Cache from_environment();
    /// The layers that can be used, which are only read: those of TRIFOLD_BINARIES, then those of add_layer(). An entry found there is
    /// never moved or touched.
    static std::vector<Cache> layers();
    /// Makes the directory (mode 0700) when there is none. An existing one is used only if this user owns it and no other user may
    /// write to it. A layer is made so: Cache(out).publish(binary, unit, Parts::kernels).
    explicit Cache(std::filesystem::path root, std::int64_t limit_bytes = unlimited);
    static constexpr std::int64_t unlimited = INT64_MAX;

    /// Empty when there is no usable place; `problem` then says why.
    const std::filesystem::path& path() const { return root_; }
    const std::string& problem() const { return problem_; }
    const std::string& named_by() const { return named_by_; }  ///< the environment variable, if one named it
    std::int64_t limit() const { return limit_; }
    bool writable() const;

    /// Nothing where there is no sound entry. One that is damaged goes to quarantine. One that cannot be read stays, and `problem`, if
    /// given, then says why it is not used.
    std::optional<Binary> find(const std::string& key, std::string* problem = nullptr) const;
    /// A lost race leaves what is there, unless another compiler made that or it is damaged.
    void publish(const Binary& binary, const Unit& unit, Parts parts = Parts::all) const;
    /// Held until destroyed by the one who compiles `key`. Only saves duplicate work: it may come back empty-handed, and gives
    /// up waiting after `patience`.
    Descriptor lock(const std::string& key, std::chrono::milliseconds patience) const;

    /// Bytes other than a binary's, such as a partition: data/<key>, with their checksums, by several threads. Nothing where they are not
    /// there; where they are damaged or of another key, they go.
    std::optional<CacheData> find_data(const std::string& key) const;
    /// Keeps no data that would fill more than half of the cache.
    void publish_data(const std::string& key, const std::vector<std::span<const std::byte>>& pieces) const;

    /// Whether a layer says that it has CUDA kernels of this name, "sm_90" of machine code or "compute_90" of PTX: targets/<name>.
    bool has_target(const std::string& name) const;
    void publish_target(const std::string& name) const;

    std::vector<CacheEntry> list() const;  ///< most recently used first; looks at meta.json only
    std::int64_t size() const;             ///< bytes of everything the cache made, quarantine included
    /// Reads every byte; returns the bad entries. Those that are damaged go to quarantine, those that cannot be read stay.
    std::vector<CacheEntry> verify() const;
    /// Removes quarantine, then data, then binaries, of each the least recently used first, until at most that many bytes are left; returns
    /// bytes freed.
    std::int64_t prune(std::int64_t limit_bytes) const;
    std::int64_t clear() const;  ///< removes everything the cache made, and nothing else; returns bytes freed

  private:
    Cache() = default;
    std::filesystem::path place(const std::string& key) const { return root_ / key.substr(0, 2) / key; }
    static Cache layer(std::filesystem::path root, std::string named_by);
    bool accept(bool is_layer);
    bool quarantine(const std::string& key, const Descriptor& directory, const std::string& problem) const;
    void bound(std::int64_t added) const;

    std::filesystem::path root_;
    std::int64_t limit_ = unlimited;
    bool read_only_ = false;
    std::string problem_, named_by_;
};

/// The key that `unit` is stored under, in every process and on every machine.
std::string cache_key(const Unit& unit);

}  // namespace trifold
