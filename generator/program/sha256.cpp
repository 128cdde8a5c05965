#include "generator/program/sha256.hpp"

#include <fmt/format.h>
// The plain functions, which OpenSSL 3 wants replaced by its newer interface. That one reads configuration files in the user's process, and
// puts four megabytes into the shared library; these need no set-up and forty kilobytes.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>
#include <iterator>

namespace trifold {

std::string sha256(std::string_view bytes) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes.data(), bytes.size());
    SHA256_Final(digest.data(), &context);
    std::string hex;
    for (const auto byte : digest) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
    return hex;
}

}  // namespace trifold
