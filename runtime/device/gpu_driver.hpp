#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/target.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"

namespace trifold::gpu {

/// One kernel launch: a grid of thread blocks in two dimensions, blocks of `threads`.
struct KernelLaunch {
    void* function;
    unsigned x, y, threads, shared_bytes;
    void** arguments;
    bool together = false;  ///< all its thread blocks must be at work at the same time
};

/// Limits of one thread block of a kernel on its device, and what the kernel has already.
struct Limits {
    int threads;
    long long own_shared_bytes;
};

/// A stream's priority: drivers take the nearest that they have.
inline constexpr int max_urgent = -100;

/// The driver of CUDA or HIP, opened at run time. Handles are the driver's own, as pointers. Calls throw DeviceError (out of
/// memory, no device) or LaunchError, naming the driver's function and its reason; those of a device need it to be current.
class Driver {
  public:
    virtual ~Driver() = default;
    virtual Backend backend() const = 0;
    /// Its version and devices; throws as the other calls do.
    virtual Report report() const = 0;

    /// A device's primary context, kept until it is released.
    virtual void* retain(int ordinal) const = 0;
    virtual void release(int ordinal) const noexcept = 0;
    /// Makes it current; leave() restores what was current before, which enter() returned.
    virtual void* enter(int ordinal, void* context) const = 0;
    virtual void leave(void* previous) const noexcept = 0;
    virtual void synchronize_device() const = 0;
    /// Lets this thread do what would poison a graph that a caller is recording, such as loading code. Returns what restore() takes.
    virtual int relax() const noexcept = 0;
    virtual void restore(int mode) const noexcept = 0;

    virtual std::string device_name(int ordinal) const = 0;
    virtual long long max_shared_bytes(int ordinal) const = 0;
    virtual int multiprocessors(int ordinal) const = 0;
    virtual bool reads_host_memory(int ordinal) const = 0;
    /// Whether a device can read there.
    virtual bool is_device_memory(const void* pointer) const = 0;

    virtual void* load_module(const std::string& code, const std::string& device) const = 0;
    virtual void unload_module(void* module) const noexcept = 0;
    virtual void* find_function(void* module, const std::string& name) const = 0;  ///< null when there is none
    virtual Limits limits(void* function) const = 0;
    virtual void allow_shared(void* function, int bytes) const = 0;

    virtual void* allocate(std::size_t bytes) const = 0;  ///< null when there is not enough memory
    virtual void free(void* memory) const noexcept = 0;
    virtual void memory_info(std::size_t& free, std::size_t& total) const = 0;
    virtual void fill(void* memory, unsigned char byte, std::size_t bytes, void* stream) const = 0;
    virtual void copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) const = 0;
    virtual void copy(void* to, const void* from, std::size_t bytes, void* stream) const = 0;  ///< within the device
    virtual void copy_to_host(void* to, const void* from, std::size_t bytes, void* stream) const = 0;

    virtual void* create_stream() const = 0;
    virtual void* create_urgent_stream() const = 0;  ///< its kernels begin before waiting thread blocks of others
    virtual void destroy_stream(void* stream) const noexcept = 0;
    virtual void synchronize_stream(void* stream) const = 0;
    virtual bool is_done(void* stream) const = 0;  ///< whether all its work has ended
    virtual bool is_capturing(void* stream) const = 0;
    virtual int device_of(void* stream) const = 0;

    // Events serve to measure, and to let streams run at the same time. So they never fail: an old driver has none, and a call that goes
    // wrong gives no time.
    virtual void* create_event() const noexcept = 0;  ///< null when there is none
    virtual void destroy_event(void* event) const noexcept = 0;
    virtual bool record(void* event, void* stream) const noexcept = 0;  ///< whether it could
    virtual void wait_for(void* event, void* stream) const = 0;         ///< lets what follows on the stream wait
    /// Nothing until both have happened. Never waits, and disturbs no graph that another thread is recording.
    virtual std::optional<double> seconds_between(void* first, void* last) const noexcept = 0;

    virtual void launch(const KernelLaunch& grid, void* stream) const = 0;
    /// Records all that this thread enqueues on the stream, until end_recording().
    virtual void begin_recording(void* stream) const = 0;
    virtual void* end_recording(void* stream) const noexcept = 0;  ///< a graph; null where it could not be recorded
    virtual void* create_graph() const = 0;
    virtual void destroy_graph(void* graph) const noexcept = 0;
    /// Early: it may begin when the thread blocks of those before it are all at work, if the driver can do that.
    virtual void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool early) const = 0;
    /// Whether a graph can hold a node that repeats another graph; which drivers of CUDA have from 12.4 on.
    virtual bool can_repeat() const = 0;
    /// A condition for such a node: a kernel sets it before each turn.
    virtual unsigned long long create_condition(void* graph) const = 0;
    /// Repeats `body`, a graph to be filled, while the condition is set.
    struct While {
        void *node, *body;
    };
    virtual While add_while(void* graph, const std::vector<void*>& after, unsigned long long condition) const = 0;
    virtual void* instantiate(void* graph) const = 0;
    virtual void destroy_executable(void* executable) const noexcept = 0;
    virtual void set_kernel(void* executable, void* node, const KernelLaunch& grid) const = 0;
    virtual void upload(void* executable, void* stream) const = 0;
    virtual void launch_graph(void* executable, void* stream) const = 0;
};

/// A driver, or why there is none and what to do.
struct Opened {
    std::unique_ptr<const Driver> driver;
    std::string problem;
};
Opened open_cuda();
Opened open_hip();

/// "CUDA" or "HIP".
constexpr std::string_view backend_name(Backend backend) { return backend == Backend::hip ? "HIP" : "CUDA"; }

/// Opened once; throws DeviceError when there is none.
const Driver& driver(Backend backend);

/// A device's primary context, retained.
class Context {
  public:
    Context(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal), handle_(driver.retain(ordinal)) {}
    ~Context() { driver_.release(ordinal_); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    const Driver& driver() const { return driver_; }
    int ordinal() const { return ordinal_; }
    void* handle() const { return handle_; }

  private:
    const Driver& driver_;
    int ordinal_;
    void* handle_;
};

/// Makes a context current; the caller's is restored at the end of the scope.
class Current {
  public:
    explicit Current(const Context& context) : driver_(context.driver()), previous_(driver_.enter(context.ordinal(), context.handle())) {}
    ~Current() { driver_.leave(previous_); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

  private:
    const Driver& driver_;
    void* previous_;
};

/// Loading code poisons no graph that a caller is recording, in this scope.
class Relaxed {
  public:
    explicit Relaxed(const Driver& driver) : driver_(driver), mode_(driver.relax()) {}
    ~Relaxed() { driver_.restore(mode_); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    const Driver& driver_;
    int mode_;
};

}  // namespace trifold::gpu
