#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <trifold/transport.hpp>
#include <vector>

namespace trifold::ranks {

/// The bytes of all ranks, in their order. Each gives as many.
std::vector<std::byte> gather(Transport& transport, std::span<const std::byte> mine);

/// Returns when all ranks have given a JSON object with the same values. `problem` is why this rank can give none. Throws RankError where
/// one is different or could give none.
void agree(Transport& transport, const std::string& mine, const std::string& problem);

}  // namespace trifold::ranks
