#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <trifold/device.hpp>
#include <trifold/transport.hpp>
#include <vector>

namespace trifold::ranks {

/// The bytes of all ranks, in their order. Each gives as many.
std::vector<std::byte> gather(Transport& transport, std::span<const std::byte> mine);

/// Returns when all ranks have given a JSON object with the same values. `problem` is why this rank can give none. Throws RankError where
/// one is different or could give none.
void agree(Transport& transport, const std::string& mine, const std::string& problem);
/// A step that all ranks take at once, which returns such an object. Where it fails on one of them, or comes to other values, all of them
/// throw.
void together(Transport& transport, const std::function<std::string()>& step);

/// The transport, or one over NCCL where that cannot carry memory of the device. Throws SpecError where there is none.
std::shared_ptr<Transport> carrying(std::shared_ptr<Transport> transport, const Device& device);

}  // namespace trifold::ranks
