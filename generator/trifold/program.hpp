#pragma once
#include <trifold/args.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <trifold/schedule.hpp>
#include <trifold/spec.hpp>
#include <trifold/target.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// The most CPU threads of one call, whoever asks.
inline constexpr int max_workers = 1024;

/// Choices that change speed but not the problem. Part of the Program's identity: pinned tuning pins the bits.
struct Tuning {
    std::string schedule = "auto";  ///< see parse_schedule
    std::string variant = "auto";   ///< of the kernels; each backend lists its own
    int workers = 1;                ///< CPU threads a call may use, at most max_workers
    /// How long the CPU's idle threads stay awake after a call, in microseconds: no choice of code, and of no bit. A call that finds them
    /// asleep waits 50 to 100 us longer or does their work itself; while they are awake they keep their cores busy. 0 is for loops that
    /// leave the processor to others between calls. standard_spin: TRIFOLD_SPIN, or 1000.
    int spin_microseconds = standard_spin;
    static constexpr int standard_spin = -1;
    bool operator==(const Tuning&) const = default;
};

/// What one kernel does to every chain of a level (or, for the finish kernels, to every member). In mixed precision also: copy a block to
/// f32; residual of a block; whether a member's is small; correct a block of the solution; hand it over. Before Phase::factor, the first
/// Variant::wide_levels levels by a kernel of their own: factor_wide.
enum class Phase {
    factor,
    factor_forward,
    forward,
    backward,
    inverse,
    finish_factor,
    finish_forward,
    narrow,
    residual,
    judge,
    correct,
    deliver,
    factor_wide
};
inline constexpr Phase phases[] = {Phase::factor,  Phase::factor_forward, Phase::forward,       Phase::backward,
                                   Phase::inverse, Phase::finish_factor,  Phase::finish_forward};
inline constexpr Phase mixed_phases[] = {Phase::narrow, Phase::residual, Phase::judge, Phase::correct, Phase::deliver};
std::string_view to_string(Phase phase);

/// How the work of a launch is cut into tasks (CPU) or thread blocks (GPU).
struct Shape {
    std::int64_t chains_per_task = 1;
    std::int64_t members_per_task = 1;
    int threads = 1;                ///< of one thread block (GPU)
    std::int64_t shared_bytes = 0;  ///< dynamic shared memory of one thread block (GPU)
    bool all_levels = false;        ///< one launch covers every level: a thread block a front, which waits for those it needs
    std::int64_t groups = 0;        ///< with all_levels: thread blocks that share the work, whatever the number of fronts
    bool operator==(const Shape&) const = default;
};

struct Kernel {
    std::string name;  ///< canonical, and the symbol: btd_factor_n32_f64_sm90_1a2b3c4d
    Phase phase;
    Shape shape;
    std::size_t image = 0;  ///< that holds it; see images_of
    bool operator==(const Kernel&) const = default;
};

/// One kernel over one level, or over all of them (Shape::all_levels: chains are then the fronts, or the groups). Tasks:
/// ceil(chains / chains_per_task) by ceil(members / members_per_task).
struct Launch {
    std::size_t kernel;   ///< index into Program::kernels
    trifold_level level;  ///< for the finish kernels all zero, chains 1; in mixed_phases index is the round, chains parts of rows; where
                          ///< `early` is possible, index tells the kernels whether it is (Start in templates/device/dataflow.cuh)
    std::vector<std::size_t> after;  ///< launches of the same operation that must have ended
    bool early = false;              ///< it is enough that their thread blocks are all at work: its own wait for what they need
};

/// A region of the workspace.
struct Buffer {
    std::string name;
    std::int64_t offset, bytes;
    bool zeroed = false;  ///< must be zero before the first launch; kernels leave it ready for the next one
    bool operator==(const Buffer&) const = default;
};

/// Elements a backend stores for one block, in its own internal layout (padding included).
struct Storage {
    std::int64_t factor;    ///< L
    std::int64_t panel;     ///< one of R (to the next block) and G (to the separator behind)
    std::int64_t update;    ///< Schur update of a separator's diagonal block
    std::int64_t coupling;  ///< coupling of two separators
    std::int64_t vector;    ///< right-hand-side update of a separator
};

/// What a backend decides about a spec before any code is written.
struct Variant {
    std::string name;
    std::map<Phase, Shape> shapes;
    Storage storage;
    std::int64_t scratch_bytes = 0;  ///< per worker (CPU)
    std::int64_t members = 1;        ///< batch capacity, rounded up to what the kernels process at once
    std::int64_t wide_levels = 0;    ///< with all_levels: the first levels, which have a launch of their own before that of the others
    std::int64_t row_parts = 1;      ///< that a block is cut in by mixed_phases
    std::int64_t progress = 1;       ///< with all_levels: flags or counters of a block that say what is done
    std::int64_t half_panels = 0;    ///< panels of a block that are also kept as pairs of halves
    std::int64_t log_parts = 1;      ///< sums of logarithms of a block's pivots, each written by a task of its own
    std::int64_t words = 0;          ///< of 8 bytes that carry an element of a sweep's vectors from front to front; 0: none do
    std::int64_t message_words = 0;  ///< of a member: what fronts of a factorization send to one another beside their flags
    bool overlaps = false;           ///< a backward sweep, or what gathers the verdict, may begin while the launch before it is at work
    bool rhs_rides = true;           ///< a kernel factors with the forward sweep; otherwise one follows the other
    bool finishes = true;            ///< kernels of their own gather the verdict on a member; otherwise its kernels do
};

/// The seam between generator and runtime: what `explain` prints, `export` writes and the runtime executes.
struct Program {
    Spec spec;
    Target target;
    Tuning tuning;
    Schedule schedule;
    std::string id;  ///< first 8 hex digits of the SHA-256 of the generator's inputs
    Variant variant;
    std::vector<Kernel> kernels;  ///< one for each Phase that the Spec's operations need, in the order of `phases`, then
                                  ///< `mixed_phases`, then factor_wide
    std::vector<Buffer> buffers;
    std::int64_t workspace_bytes = 0;                     ///< all buffers, then tuning.workers times scratch_bytes
    std::map<Operation, std::vector<Launch>> operations;  ///< the Spec's, each a graph of launches
    std::vector<std::string> options;                     ///< of the compiler, normalized
    std::string source;                                   ///< one self-contained unit
};

inline constexpr std::int64_t workspace_alignment = 256;
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// The whole generator. Pure: same input, same bytes. The target must be resolved. Throws SpecError.
Program generate(const Spec& spec, const Target& target, const Tuning& tuning = {});

/// Whether the Program has a kernel for this phase.
bool has_kernel(const Program& program, Phase phase);
/// How many images the source is compiled to, each by itself and so beside the others: with TRIFOLD_IMAGE defined as an image's number
/// the source has that image's kernels, without it all of them.
std::size_t images_of(const Program& program);
/// The same with all kernels in one image, for those who want one file.
Program in_one_image(Program program);
/// Throws SpecError when the Program has no such buffer.
const Buffer& buffer(const Program& program, std::string_view name);

std::string to_json(const Program& program);  ///< without the source

/// The level as kernels see it.
trifold_level kernel_level(const Schedule& schedule, std::size_t index);

}  // namespace trifold
