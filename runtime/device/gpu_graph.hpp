#pragma once
#include <trifold/repeat_args.h>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <trifold/program.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/units.hpp"

namespace trifold::gpu {

/// The launches of one operation as an executable graph. The context must be current in every call. A call's operands follow from the first
/// of them and the workspace: while these keep their bytes, the others do.
class Graph {
  public:
    /// Waits for the operation's code. The Program and the units must outlive this.
    /// `transport` carries the Program's messages, if it has some.
    Graph(const Driver& driver, const Program& program, const Units& units, const std::string& operation, Transport* transport = nullptr);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Makes it ready for launch(), and the device too. `operands` stand in until a launch brings its own.
    void build(std::span<const Operand> operands, void* workspace, void* stream);
    bool is_built() const { return executable_ != nullptr || !can_launch(); }
    /// Whether launch() can do it: a graph that repeats launches needs a driver that knows such graphs. Messages are enqueued, and copies
    /// have operands that do not follow from the first.
    bool can_launch() const { return !has_copies_ && (repeats_.empty() || driver_.can_repeat()); }
    /// Puts in what has changed since the last launch, without a new capture, and launches.
    void launch(std::span<const Operand> operands, void* workspace, void* stream);
    /// Enqueues the launches one by one, as a stream under capture or a debugger wants them. If they are repeated, the host waits for the
    /// stream after some turns to see whether there is another one; unless the stream is `recording`, which then has as many turns as there
    /// can be. From the first message on, a call that all ranks repeat is recorded, and launched as a graph, if `may_record`.
    void enqueue(std::span<const Operand> operands, void* workspace, void* stream, bool recording, bool may_record = false);

  private:
    struct Node {
        void* function;
        const Launch* launch;
        unsigned threads, shared_bytes;
        void* handle = nullptr;
    };
    /// A node's parameters; they point into this, to the launch's constants and to the operands, which must stay.
    struct Parameters {
        Parameters(const Node& node, std::span<const Operand> operands);
        Parameters(const Parameters&) = delete;
        Parameters& operator=(const Parameters&) = delete;
        void* arguments[2];
        KernelLaunch grid;
    };
    void instantiate(std::span<const Operand> operands, void* workspace);
    void destroy() noexcept;
    void add_node(void* graph, std::size_t k, const std::vector<void*>& after, std::span<const Operand> operands);
    void add_repeat(const Repeat& repeat, std::span<const Operand> operands, void* workspace);
    void update(std::span<const Operand> operands, void* workspace);
    void note(std::span<const Operand> operands, void* workspace);
    /// A second stream, if the Program has launches that run at the same time as others, and events by which the two wait for one another.
    struct Beside {
        explicit Beside(const Driver& driver);
        ~Beside();
        Beside(const Beside&) = delete;
        Beside& operator=(const Beside&) = delete;
        const Driver& driver;
        void *stream, *begin, *end;
    };
    void* stream_for(const Launch& launch, void* stream, bool& is_beside) const;
    std::size_t group_from(std::size_t first, std::size_t end) const;
    void enqueue_each(std::size_t first, std::size_t end, std::span<const Operand> operands, void* workspace, void* stream) const;
    void enqueue_with_messages(std::span<const Operand> operands, void* workspace, void* stream, bool may_record);
    bool record(std::size_t first, std::span<const Operand> operands, void* workspace);
    void forget_record() noexcept;
    void enqueue_message(const Node& node, std::int64_t members, char* workspace, void* stream) const;
    void enqueue_turns(const Repeat& repeat, std::span<const Operand> operands, void* workspace, void* stream) const;
    void* flag_of(const Repeat& repeat, void* workspace) const;

    const Driver& driver_;
    const Program& program_;
    const Units& units_;
    std::string operation_;
    Transport* transport_;
    std::int64_t room_ = 0;  // the buffer "message"
    bool has_copies_ = false;
    std::vector<Node> nodes_;
    std::vector<Repeat> repeats_;
    std::optional<Beside> beside_;
    void* graph_ = nullptr;
    void* executable_ = nullptr;
    std::string held_;  // bytes of the first operand that the executable's nodes have
    void* held_workspace_ = nullptr;
    bool holds_ = false;  // false while an update is incomplete

    /// The launches from the first message on, for calls with the same operands.
    struct Record {
        void *graph = nullptr, *executable = nullptr, *stream = nullptr;
        std::string operands, last;  // bytes of the record's and of the last call's
        bool is_refused = false;
    };
    Record record_;
};

}  // namespace trifold::gpu
