#pragma once
#include <string>
#include <string_view>
#include <trifold/device.hpp>
#include <vector>

#include "generator/tridiagonal/wisdom.hpp"

namespace trifold {

/// What rows of wisdom call a device: its name; of a processor what processor_name says.
std::string wisdom_device(const Device& device);

/// As choose(spec, target, tuning), by the user's wisdom and what is built in. An empty device is one that is not known. What is wrong with
/// wisdom is reported once in the log and never an error. Throws SpecError as choose does.
Choice choose_by_wisdom(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device);
/// On a device of this machine.
Choice choose_by_wisdom(const Spec& spec, const Device& device, const Tuning& tuning);

/// The user's file, which need not be there: TRIFOLD_WISDOM, or the default place; empty where no variable names a place.
std::string users_wisdom_file();

/// A file of wisdom that choose_by_wisdom looks into, or would.
struct WisdomSource {
    std::string name;                ///< its path, or "the built-in nvidia.wisdom"
    std::string from;                ///< the variable that names it or its directory; empty: it is built in
    std::string problem;             ///< why it is not used; empty: it is
    const Wisdom* wisdom = nullptr;  ///< null: it is not used. Lives as long as the process
};
/// The user's first. A default place without a file is left out; TRIFOLD_DISABLE=wisdom leaves nothing.
std::vector<WisdomSource> wisdom_sources();

}  // namespace trifold
