#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <thread>

#include "generator/program/sha256.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/compile/entry.hpp"

namespace trifold {
namespace {

using nlohmann::json;

constexpr std::size_t chunk_bytes = std::size_t{1} << 24;  // bytes that a thread sums at once
constexpr std::size_t sum_digits = 64, length_digits = 16, trailer_bytes = sum_digits + length_digits;
constexpr int max_threads = 16;

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// work(k) for k below count, by several threads, or by one where no more can be had.
template <class Work>
void for_each_chunk(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next = 0;
    const auto run = [&] {
        for (auto k = next++; k < count; k = next++) work(k);
    };
    std::vector<std::jthread> others;
    const auto wanted = std::min({count, static_cast<std::size_t>(max_threads), static_cast<std::size_t>(usable_processors())});
    try {
        for (std::size_t k = 1; k < wanted; ++k) others.emplace_back(run);
    } catch (const std::system_error&) {  // those that there are do it all
    }
    run();
}

/// Part of a file: bytes in memory, and where they begin in it.
template <class Byte>
struct Chunk {
    std::span<Byte> bytes;
    std::size_t at;
};

template <class Byte>
std::vector<Chunk<Byte>> chunks_of(const std::vector<std::span<Byte>>& pieces) {
    std::vector<Chunk<Byte>> chunks;
    std::size_t at = 0;
    for (auto piece : pieces)
        while (!piece.empty()) {
            const auto bytes = piece.first(std::min(piece.size(), chunk_bytes));
            chunks.push_back({bytes, at});
            at += bytes.size();
            piece = piece.subspan(bytes.size());
        }
    return chunks;
}

/// Returns errno, or 0.
int write_at(int file, std::span<const std::byte> bytes, std::size_t at) {
    while (!bytes.empty()) {
        const auto count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (count < 0 && errno != EINTR) return errno;
        const auto done = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        bytes = bytes.subspan(done);
        at += done;
    }
    return 0;
}

bool read_at(int file, std::span<std::byte> bytes, std::size_t at) {
    while (!bytes.empty()) {
        const auto count = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (count == 0 || (count < 0 && errno != EINTR)) return false;
        const auto done = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        bytes = bytes.subspan(done);
        at += done;
    }
    return true;
}

/// Reads the list at the end of a file of `size` bytes; null if it is not whole.
json read_list(int file, std::size_t size) {
    std::string trailer(trailer_bytes, ' ');
    if (size < trailer_bytes || !read_at(file, std::as_writable_bytes(std::span(trailer)), size - trailer_bytes)) return {};
    std::size_t length = 0;
    const auto* const end = trailer.data() + trailer.size();
    const auto [behind, error] = std::from_chars(trailer.data() + sum_digits, end, length, 16);
    if (error != std::errc() || behind != end || length > size - trailer_bytes) return {};
    std::string list(length, ' ');
    if (!read_at(file, std::as_writable_bytes(std::span(list)), size - trailer_bytes - length)) return {};
    return sha256(list) == trailer.substr(0, sum_digits) ? json::parse(list) : json();
}

}  // namespace

std::optional<CacheData> read_data(const std::filesystem::path& path, const std::string& key, std::string& problem) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
    const auto list = read_list(file.get(), static_cast<std::size_t>(about.st_size));
    problem = list.is_null() ? "it is damaged" : list.at("key") != key ? "it is another entry's" : "";
    if (!problem.empty()) return std::nullopt;
    const auto sizes = list.at("pieces").get<std::vector<std::size_t>>();
    const auto sums = list.at("sums").get<std::vector<std::string>>();
    const auto all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    const auto memory = std::shared_ptr<std::byte[]>(new std::byte[all]);  // not filled first
    std::vector<std::span<std::byte>> pieces;
    for (auto* at = memory.get(); const auto size : sizes) {
        pieces.emplace_back(at, size);
        at += size;
    }
    const auto chunks = chunks_of(pieces);
    std::atomic<bool> sound = true;
    for_each_chunk(chunks.size(), [&](std::size_t k) {
        const auto& [bytes, at] = chunks[k];
        if (!read_at(file.get(), bytes, at) || sha256(text_of(bytes)) != sums.at(k)) sound = false;
    });
    if (!sound) {
        problem = "it is damaged";
        return std::nullopt;
    }
    return CacheData{{pieces.begin(), pieces.end()}, memory};
}

void write_data(const std::filesystem::path& path, const std::string& key, const std::vector<std::span<const std::byte>>& pieces) {
    const auto file = open_to_write(path, O_WRONLY | O_TRUNC);
    if (!file) throw_refused("cannot create " + path.string(), errno);
    const auto chunks = chunks_of(pieces);
    std::vector<std::string> sums(chunks.size());
    std::atomic<int> error = 0;
    for_each_chunk(chunks.size(), [&](std::size_t k) {
        const auto& [bytes, at] = chunks[k];
        sums[k] = sha256(text_of(bytes));
        if (const int failed = write_at(file.get(), bytes, at); failed != 0) error = failed;
    });
    std::vector<std::size_t> sizes;
    for (const auto piece : pieces) sizes.push_back(piece.size());
    const auto all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    auto end = json{{"key", key}, {"pieces", sizes}, {"sums", sums}}.dump();
    end += fmt::format("{}{:0{}x}", sha256(end), end.size(), length_digits);
    if (error == 0) error = write_at(file.get(), std::as_bytes(std::span(end)), all);
    if (error != 0) throw_refused("cannot write " + path.string(), error);
}

}  // namespace trifold
