#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <trifold/target.hpp>
#include <vector>

/// What generator and runtime agree on, for every family of problems: texts to compile, memory, and launches. None of it knows what a
/// kernel computes.
namespace [[gnu::visibility("default")]] trifold {

/// Resources of one kernel, as the compiler reports them; -1 where it does not. `registers` are a thread's. On AMD they are vector
/// registers, those of the matrix unit among them, and spill_bytes are all of a thread's memory on the stack.
struct KernelResources {
    std::string kernel;
    std::int64_t registers = -1, shared_bytes = -1, spill_bytes = -1, code_bytes = -1;
    std::int64_t scalar_registers = -1, matrix_registers = -1, warp_lanes = -1;  ///< AMD only
    bool operator==(const KernelResources&) const = default;
};

/// Source of the decision about the kernels: the caller, at least about a part; a row of wisdom for this very problem and device, or for a
/// near one; the generator's own rows and models.
enum class DecisionSource { pinned, exact, nearest, model };
/// "pinned", "wisdom: exact", "wisdom: nearest", "model".
std::string_view to_string(DecisionSource rung);

/// One entry point of a unit.
struct Kernel {
    std::string name;               ///< canonical, and the symbol: btd_factor_n32_f64_sm90_1a2b3c4d
    int threads = 1;                ///< of one thread block (GPU)
    std::int64_t shared_bytes = 0;  ///< dynamic shared memory of one thread block (GPU)
    bool operator==(const Kernel&) const = default;
};

/// One text to compile: all that compilers, the cache and loaders know.
struct Unit {
    Target target;
    std::string id;  ///< names its files: btd_n32_f64_sm90_1a2b3c4d, or its kernel's name where it has only one
    std::vector<Kernel> kernels;
    std::vector<std::string> options;  ///< of the compiler, normalized
    std::string source;                ///< self-contained
};

/// Shape of the work of a launch. GPU: `groups` by ceil(members / members_per_group) thread blocks; CPU: as many tasks. A call says how
/// many members are active.
struct LaunchGrid {
    std::int64_t groups = 1;
    std::int64_t members_per_group = 1;
    bool operator==(const LaunchGrid&) const = default;
};

/// The work of a launch: a kernel; a copy between the caller's arrays and the workspace, whose operand is a BlockCopy; or a message to or
/// from another rank.
enum class Work : unsigned char { kernel, copy, send, receive };

/// A part of a message: a run of bytes of the workspace for every `members` members, `stride` bytes apart.
struct Piece {
    std::int64_t offset, bytes, stride, members;
    bool operator==(const Piece&) const = default;
};

/// A message as its sender gathers it and its receiver scatters it: its pieces, one after another. A message of a rank to itself stays in
/// the buffer "message", which also holds the others in transit.
struct Message {
    int peer = -1;
    std::vector<Piece> pieces;
};

/// One kernel, launched once. A kernel gets two values: the operands, which the call supplies, and the constants, which stand here.
struct Launch {
    std::size_t unit = 0, kernel = 0;  ///< Program::units, and Unit::kernels of it
    LaunchGrid grid;
    std::string constants;           ///< bytes of the kernel's second parameter
    std::size_t operands = 0;        ///< which of the call's operands; each family lists its own
    std::vector<std::size_t> after;  ///< launches of the same operation that must have ended
    bool early = false;              ///< it is enough that their thread blocks are all at work: its own wait for what they need
    bool together = false;           ///< GPU: all its thread blocks must be at work at the same time, since they wait for one another
    std::string what;                ///< for people: "factor level 0, 32 chains"
    Work work = Work::kernel;        ///< of a kernel all above counts; of the others `operands` of a copy, and of a message the next line
    Message message = {};
    std::int64_t first_task = 0;  ///< CPU, without members: where its tasks begin, of which grid.groups run
    /// GPU: it may run at the same time as those that follow, up to the first that names it in `after` and has no such mark.
    bool beside = false;
};

/// The operand of a copy: element (r, c) of block i of member b, as in the Spec's layouts. Strides in elements.
struct BlockCopy {
    const void* from;
    void* to;
    std::int64_t element;  ///< bytes: 4 or 8
    std::int64_t blocks, rows, columns;
    std::int64_t from_strides[4], to_strides[4];  ///< row, column, block, member
    const int* active;                            ///< [members], 0 skips the member; may be null
};

/// Launches of an operation that are repeated while data says so, and at most `most` times: an iteration until convergence. Before each
/// turn `flag`, a buffer of two 64-bit integers, decides by its first one: zero ends the repetition. Launches set it, one before the first
/// turn too. The second is the runtime's. Turns after the end must change nothing, since a backend whose host has to look at the flag looks
/// after every `look` turns.
struct Repeat {
    std::size_t first = 0, count = 0;  ///< launches; no other Repeat has one of them
    std::int64_t most = 1;
    std::int64_t look = 8;
    std::string flag;
    std::size_t unit = 0;  ///< of repeat_unit(), by which a CUDA device decides for itself
};

/// A region of the workspace.
struct Buffer {
    std::string name;
    std::int64_t offset, bytes;
    bool zeroed = false;   ///< must be zero before the first launch; kernels leave it ready for the next one
    std::string contents;  ///< what it must hold before the first launch; empty: nothing in particular
    bool operator==(const Buffer&) const = default;
};

/// The seam between generator and runtime: what `generate` writes and the runtime executes.
struct Program {
    std::string id;    ///< first 8 hex digits of the SHA-256 of the generator's inputs
    std::string name;  ///< for files and logs: btd_n32_f64_sm90_1a2b3c4d
    std::vector<Unit> units;
    std::vector<Buffer> buffers;
    std::int64_t workspace_bytes = 0;                       ///< all buffers, then `workers` times scratch_bytes
    std::int64_t scratch_bytes = 0;                         ///< of one worker (CPU); on a GPU all of it
    int workers = 1;                                        ///< CPU threads of one call
    std::map<std::string, std::vector<Launch>> operations;  ///< by name, each a graph of launches
    std::map<std::string, std::vector<Repeat>> repeats;     ///< of the operations that have some, in the order of their launches
    std::vector<std::int64_t> sizes;                        ///< those that texts of units leave open; every call passes them on
    int rank = 0, ranks = 1;                                ///< of the ranks that run one another's messages
    std::string about;                                      ///< the family's description of itself, as JSON
};

inline constexpr std::int64_t workspace_alignment = 256;
/// The most CPU threads of one call, whoever asks.
inline constexpr int max_workers = 1024;
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Whether it is a send or a receive.
constexpr bool is_message(const Launch& launch) { return launch.work == Work::send || launch.work == Work::receive; }

/// Throws SpecError when the Program has no such buffer.
const Buffer& buffer(const Program& program, std::string_view name);
/// The kernel that a launch names.
const Kernel& kernel_of(const Program& program, const Launch& launch);

/// The unit of the kernel that ends repetitions on a device, which each CUDA Program with a Repeat has.
Unit repeat_unit(const Target& target);
/// The unit of the kernel that makes copies on a device, which each Program of a GPU with a copy has.
Unit copy_unit(const Target& target);
/// Throws std::logic_error where the Program's repetitions are not as Repeat says: a mistake of the family that made it.
void check_repeats(const Program& program);

std::string to_json(const Program& program);  ///< without the sources

}  // namespace trifold
