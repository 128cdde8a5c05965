#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <trifold/device.hpp>

namespace trifold {

/// Memory and time of one device for benchmarks and tests, which must not link the CUDA runtime. On the CPU: the heap and
/// the host's clock. Throws DeviceError.
class DeviceTools {
  public:
    /// `one_thread`: on a CPU times are those of the calling thread's own clock, which keeps most of what else runs there out of them.
    explicit DeviceTools(const Device& device, bool one_thread = false);
    ~DeviceTools();
    std::shared_ptr<void> allocate(std::int64_t bytes) const;
    void upload(void* to, const void* from, std::int64_t bytes) const;
    void download(void* to, const void* from, std::int64_t bytes) const;
    /// From device memory to device memory, in the order of the stream.
    void copy(void* to, const void* from, std::int64_t bytes) const;
    /// A stream of the device, for Stream::handle; null on the CPU.
    void* stream() const;
    void synchronize() const;
    /// What `work` puts on the stream, captured in a graph of ours; each call of the result replays it. On the CPU: `work`.
    std::function<void()> capture(std::function<void()> work) const;
    /// Captures with events around the work: each call of the result replays it, waits, and returns the milliseconds between them,
    /// in which the host has no part.
    std::function<double()> capture_timed(std::function<void()> work);
    /// Milliseconds between the two: events on the stream, so that no host work is timed.
    void start();
    double stop();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace trifold
