#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/binary.hpp"

namespace trifold {

/// One published binary, for people.
struct CacheEntry {
    std::string key;
    std::string name;      ///< such as btd_n32_f64_x8664v4_1a2b3c4d
    std::string target;    ///< such as cpu:x86-64-v4
    std::string compiler;  ///< name and exact version
    std::int64_t bytes = 0;
    std::chrono::system_clock::time_point used;
    std::string problem;  ///< why it would be treated as a miss; empty: sound
};

/// Binaries on disk, addressed by the content they were made from. One directory an entry:
/// ab/<key>/{kernel.c|kernel.cu, kernel.so|kernel.cubin, log.txt, meta.json}. Lookups and publications never throw: what goes wrong is
/// a miss, reported once. Safe between threads and processes.
class Cache {
  public:
    /// The place that the environment names (docs/switches.md). Without a usable one nothing is kept.
    static Cache from_environment();
    /// An existing directory is used only if this user owns it and nobody else may write to it.
    Cache(std::filesystem::path root, std::int64_t limit_bytes);

    /// Empty when there is no usable place; `problem` then says why.
    const std::filesystem::path& path() const { return root_; }
    const std::string& problem() const { return problem_; }
    std::int64_t limit() const { return limit_; }

    /// `installed` is the compiler a miss would use ("" when there is none): an entry made by another one is a miss.
    std::optional<Binary> find(const std::string& key, const Program& program, const std::string& installed) const;
    void publish(const Binary& binary, const Program& program);

    std::vector<CacheEntry> list() const;  ///< most recently used first; checks form, not checksums
    std::int64_t size() const;             ///< bytes of everything below the root
    std::vector<CacheEntry> verify();      ///< reads every byte; returns the bad entries, which are moved to quarantine
    std::int64_t prune(
        std::int64_t limit_bytes);  ///< removes the least recently used until at most that many bytes are left; returns bytes freed
    std::int64_t clear();           ///< removes everything the cache made; returns bytes freed

  private:
    std::filesystem::path root_;
    std::int64_t limit_ = 0;
    std::string problem_;
};

/// What `program` is stored under, in every process and on every machine.
std::string cache_key(const Program& program);

}  // namespace trifold
