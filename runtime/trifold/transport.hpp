#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/error.hpp>

namespace [[gnu::visibility("default")]] trifold {

/// A rank has ended, does not answer, or does not fit the others. All ranks that notice it throw this, and name the same one where they
/// can.
class RankError : public Error {
  public:
    RankError(const std::string& message, int failed) : Error(message), rank(failed) {}
    int rank;
};

/// Carries messages between the ranks of one chain, in order between any two of them. One call at a time.
///
/// A transport of devices enqueues on the stream, and its messages are in the memory of the device. One of hosts ignores the stream and
/// returns when the bytes have been taken or are there. Both throw RankError within the transport's own time limit where the other rank
/// does not come, and in every call after that.
class Transport {
  public:
    virtual ~Transport() = default;
    virtual int rank() const = 0;
    virtual int ranks() const = 0;
    virtual void send(int to, const void* data, std::int64_t bytes, Stream stream = {}) = 0;
    virtual void receive(int from, void* data, std::int64_t bytes, Stream stream = {}) = 0;

    /// Messages between these two calls travel at the same time: none waits for another.
    virtual void begin_group() {}
    virtual void end_group() {}

    /// Whether messages are in the memory of a device.
    virtual bool is_on_device() const { return false; }
    /// Carries what ranks tell one another from host to host.
    virtual Transport& hosts() { return *this; }
    /// On a device: returns when all ranks have come with the same number, before the first message of a call. `what` names the call.
    /// `repeats`: this rank's arrays are those of an earlier call. Returns whether that is so on all ranks: then messages may be recorded.
    virtual bool meet(std::int64_t number, const std::string& what, bool repeats = false) {
        (void)number, (void)what, (void)repeats;
        return false;
    }
    /// On a device: whether messages have come to an end for good. Graphs with messages are then left as they are.
    virtual bool has_failed() const { return false; }
    /// On a device: returns when the stream's work has ended.
    virtual void wait(Stream stream) { (void)stream; }
};

/// Time that a rank waits for another before it throws, unless the caller says otherwise.
inline constexpr std::chrono::milliseconds standard_time_limit{30'000};

/// Ranks that are threads of one process. Each thread takes the transport of its rank and gives it up when it ends; a rank whose transport
/// is gone has ended.
class LocalRanks {
  public:
    explicit LocalRanks(int ranks, std::chrono::milliseconds time_limit = standard_time_limit);
    /// Each rank once. Throws SpecError on another number, or one that is taken.
    std::shared_ptr<Transport> take(int rank);

  private:
    struct Hub;
    class Endpoint;
    std::shared_ptr<Hub> hub_;
};

/// Source of NCCL (on AMD devices RCCL), and the time that ranks wait for it.
struct NcclOptions {
    void* communicator = nullptr;  ///< an ncclComm_t of the caller's, of these ranks in this order; null: one is made
    std::string library{};         ///< NCCL's file where none is loaded yet; empty: TRIFOLD_NCCL, then libnccl.so.2
    std::chrono::milliseconds time_limit = standard_time_limit;
};

/// Messages between GPUs, one a rank, by NCCL. It is opened when it is needed and nothing links it: the one that the process has loaded is
/// taken, then that of the options, then that of TRIFOLD_NCCL, then libnccl.so.2. `hosts` tells the ranks apart and carries all else, such
/// as LocalRanks for a thread a GPU and MpiTransport for a process a GPU. All ranks make it together; a RankPlan on a GPU that is given
/// `hosts` makes it by itself. Throws DeviceError where there is no NCCL, or it is too old; RankError where another rank could not make it.
class NcclTransport final : public Transport {
  public:
    NcclTransport(std::shared_ptr<Transport> hosts, const Device& device, const NcclOptions& options = {});
    ~NcclTransport() override;
    int rank() const override;
    int ranks() const override;
    void send(int to, const void* data, std::int64_t bytes, Stream stream = {}) override;
    void receive(int from, void* data, std::int64_t bytes, Stream stream = {}) override;
    void begin_group() override;
    void end_group() override;
    bool is_on_device() const override { return true; }
    Transport& hosts() override;
    bool meet(std::int64_t number, const std::string& what, bool repeats = false) override;
    bool has_failed() const override;
    void wait(Stream stream) override;
    /// The version of NCCL and its file: "2.28.3, /usr/lib/libnccl.so.2".
    const std::string& library() const;

  private:
    struct [[gnu::visibility("hidden")]] Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace trifold
