#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <trifold/call.hpp>
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
};

/// How long a rank waits for another before it throws, where nobody says otherwise.
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

}  // namespace trifold
