#pragma once
#include <cstdint>
#include <trifold/generate.hpp>
#include <vector>

/// One long chain and its batch over ranks: processes, threads or devices of which each holds a run of the chain's blocks.
namespace [[gnu::visibility("default")]] trifold {

/// A rank's part of a chain. It holds D_i, B_i and X_i of its blocks, and E_i, which couples block i to block i + 1: the last rank has one
/// E less than blocks.
struct RankSpec {
    Spec spec;                         ///< of the whole chain. Strides of members and the layout of B are those of a rank's own arrays
    std::vector<std::int64_t> shards;  ///< blocks of each rank, in the order of the chain; their sum is the horizon
    int rank = 0;
    int ranks() const { return static_cast<int>(shards.size()); }
    std::int64_t blocks() const { return shards.at(static_cast<std::size_t>(rank)); }
    std::int64_t first_block() const;
    bool operator==(const RankSpec&) const = default;
};

/// Shards that differ by one block at most. Throws SpecError where there are fewer blocks than ranks.
std::vector<std::int64_t> even_shards(std::int64_t horizon, int ranks);

/// Shards with which all ranks are modelled to take the same time; on CPUs even ones.
std::vector<std::int64_t> fitting_shards(const Spec& spec, int ranks, const Target& target, const Tuning& tuning = {});

/// Throws SpecError unless every rank has a block and the shards are the chain, and where validate(Spec) does.
void validate(const RankSpec& spec);

/// A rank's own arrays, but for E: a Spec with its blocks for a horizon.
Spec shard_of(const RankSpec& spec);
/// Spec of a rank's path: its blocks and the neighbour's first one, if there is one. E is that of this Spec.
Spec path_of(const RankSpec& spec);

/// Decides what the tuning leaves open, the same for all ranks. The tuning's schedule is that of a rank's own blocks: auto or sequential
/// (one chain), chains:p, flanked:a,b,c, multi-stage, or segments:a,b,c, as far as a rank's blocks divide. On GPUs auto is the one with the
/// least modelled time. Throws SpecError.
Choice choose(const RankSpec& spec, const Target& target, const Tuning& tuning = {});

/// Modelled seconds of modelled_operation on GPUs of one host.
double modelled_seconds(const RankSpec& spec, const Choice& agreed);
/// Why fewer ranks would be faster, by the model of the GPUs; empty: they would not, or these are no GPUs.
std::string slower_than_fewer(const RankSpec& spec, const Choice& agreed);

/// The Program of one rank. Pure. Its operations have messages, which the other ranks' Programs answer. `agreed` is what choose() returned.
Program generate(const RankSpec& spec, const Choice& agreed);

}  // namespace trifold
