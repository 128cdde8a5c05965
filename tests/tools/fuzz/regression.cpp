// Runs the fuzz target over a corpus and over a fixed number of mutations of it, the same ones every time: 150000 under AddressSanitizer,
// else 15000.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tools/formats/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// Only a sanitizer sees a read past the end, so other builds try fewer mutations.
#ifdef __SANITIZE_ADDRESS__
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

using Engine = std::mt19937_64;

std::size_t below(Engine& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

/// One small change: of a bit, a byte, a number, a piece, the length, or by crossing with another file.
void mutate(std::string& bytes, const std::vector<std::string>& corpus, Engine& random) {
    static const std::vector<std::string> words{
        "0",  "-1",   "1e999", "nan",     "18446744073709551616", "9223372036854775807", "\n", " ", "%", "(", "symmetric", "general", ">f4",
        "',", "True", "+",     "1 1 1\n", "\xff\xff\xff\xff"};
    static const std::vector<std::string> others{"\xef\xbb\xbf", "\x1f\x8b", "integer", "4.5", "1.0000000001", "9007199254740993", "9"};
    const auto at = below(random, bytes.size());
    const auto length = below(random, 16);
    switch (random() % 7) {
        case 0:
            if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
            break;
        case 1:
            bytes.insert(at, words[below(random, words.size())]);
            break;
        case 2:
            bytes.replace(at, std::min(length, bytes.size() - at), words[below(random, words.size())]);
            break;
        case 3:
            bytes.erase(at, length);
            break;
        case 4:
            bytes.resize(at);
            break;
        case 5:
            bytes.insert(at, others[below(random, others.size())]);
            break;
        default: {
            const auto& other = corpus[below(random, corpus.size())];
            bytes = bytes.substr(0, at) + other.substr(below(random, other.size()));
        }
    }
}

void run(const std::string& bytes) {
    // A copy of exactly this size, so that a sanitizer sees every read past the end.
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: fuzz_regression CORPUS_DIRECTORY\n");
        return 2;
    }
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<std::string> corpus;
    for (const auto& path : paths) corpus.push_back(trifold::formats::read_file(path));
    for (const auto& bytes : corpus) run(bytes);
    Engine random(20240607);
    constexpr int rounds = is_sanitized ? 30000 : 3000, changes = 5;
    for (int round = 0; round < rounds && !corpus.empty(); ++round) {
        auto bytes = corpus[below(random, corpus.size())];
        for (int change = 0; change < changes; ++change) {
            mutate(bytes, corpus, random);
            run(bytes);
        }
    }
    std::printf("%zu files, %d mutations\n", corpus.size(), corpus.empty() ? 0 : rounds * changes);
    return corpus.empty() ? 1 : 0;
}
