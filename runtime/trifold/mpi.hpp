#pragma once
// Ranks that are processes of MPI. Only this header needs an mpi.h, the user's own, and whoever includes it links that MPI.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <trifold/transport.hpp>
#include <vector>

namespace trifold {

/// The processes of a communicator, by their rank there. All of them make it together, between MPI_Init and MPI_Finalize, and let it end
/// before MPI_Finalize. It has a communicator of its own, so its messages meet none of the caller's.
///
/// A waiting rank publishes the rank it waits for. On timeout the error names the rank that stopped.
class MpiTransport final : public Transport {
  public:
    explicit MpiTransport(MPI_Comm communicator = MPI_COMM_WORLD, std::chrono::milliseconds time_limit = standard_time_limit)
        : limit_(time_limit) {
        int initialized = 0;
        MPI_Initialized(&initialized);
        if (initialized == 0) throw SpecError("MPI has not been initialized; call MPI_Init before you make an MpiTransport");
        if (time_limit.count() <= 0) throw SpecError("the time limit is not positive; give at least 1 ms");
        check(MPI_Comm_dup(communicator, &communicator_), "MPI_Comm_dup");
        MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
        MPI_Comm_rank(communicator_, &rank_);
        MPI_Comm_size(communicator_, &ranks_);
        waits_for_.assign(static_cast<std::size_t>(ranks_), -1);
    }
    MpiTransport(const MpiTransport&) = delete;
    MpiTransport& operator=(const MpiTransport&) = delete;
    ~MpiTransport() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        // To free it would wait for ranks that have failed.
        if (finalized == 0 && failed_ < 0) MPI_Comm_free(&communicator_);
    }
    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }

    void send(int to, const void* data, std::int64_t bytes, Stream = {}) override {
        each_part(bytes, [&](std::int64_t first, int count) {
            MPI_Request request;
            check(MPI_Isend(static_cast<const char*>(data) + first, count, MPI_BYTE, to, message, communicator_, &request), "MPI_Isend");
            finish(request, to, -1);
        });
    }
    void receive(int from, void* data, std::int64_t bytes, Stream = {}) override {
        each_part(bytes, [&](std::int64_t first, int count) {
            MPI_Request request;
            check(MPI_Irecv(static_cast<char*>(data) + first, count, MPI_BYTE, from, message, communicator_, &request), "MPI_Irecv");
            finish(request, from, count);
        });
    }

  private:
    static constexpr int message = 0, notice = 1;  // tags

    static void check(int code, const char* call) {
        if (code != MPI_SUCCESS) throw DeviceError(std::string(call) + " has failed; " + text_of(code));
    }
    static std::string text_of(int code) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_string(code, text, &length);
        return {text, static_cast<std::size_t>(length)};
    }
    [[noreturn]] void fail(int rank, const std::string& why) {
        failed_ = rank;
        failure_ = "rank " + std::to_string(rank) + " " + why;
        throw RankError(failure_, rank);
    }

    /// MPI counts bytes in an int.
    template <class Work>
    void each_part(std::int64_t bytes, const Work& work) {
        if (failed_ >= 0) throw RankError(failure_, failed_);
        constexpr std::int64_t most = 1 << 30;
        std::int64_t first = 0;
        do {
            work(first, static_cast<int>(std::min(most, bytes - first)));
            first += most;
        } while (first < bytes);
    }

    /// `expected` bytes, or -1 of what is sent.
    void finish(MPI_Request& request, int peer, int expected) {
        const auto begin = std::chrono::steady_clock::now();
        bool has_said = false;
        for (int done = 0, turn = 0;; ++turn) {
            MPI_Status status;
            if (const int code = MPI_Test(&request, &done, &status); code != MPI_SUCCESS)
                fail(peer, "cannot be reached, or has sent more than rank " + std::to_string(rank_) +
                               " expects; all ranks must make the same calls, with as many members and columns: " + text_of(code));
            if (done != 0) {
                int count = expected;
                if (expected >= 0) MPI_Get_count(&status, MPI_BYTE, &count);
                if (has_said) say(-1);
                if (count != expected && expected >= 0)
                    fail(peer, "has sent " + std::to_string(count) + " bytes where rank " + std::to_string(rank_) + " expects " +
                                   std::to_string(expected) + "; all ranks must make the same calls, with as many members and columns");
                return;
            }
            const auto waited = std::chrono::steady_clock::now() - begin;
            // The notice has a third of the time to reach the others.
            if (!has_said && waited > limit_ * 2 / 3) say(peer), has_said = true;
            if (waited > limit_) {
                listen();
                if (expected >= 0) MPI_Cancel(&request);
                MPI_Request_free(&request);
                fail(culprit(peer), "has not answered for " + std::to_string(limit_.count()) + " ms, for which rank " +
                                        std::to_string(rank_) +
                                        " has waited in a call; all ranks must make the same calls in the same order");
            }
            if (turn > spins) std::this_thread::sleep_for(std::chrono::microseconds(20)), listen();
        }
    }

    /// Tells the others whom this rank waits for.
    void say(int peer) {
        said_.push_back(std::make_unique<int>(peer));
        for (int other = 0; other < ranks_; ++other) {
            if (other == rank_) continue;
            MPI_Request request;
            if (MPI_Isend(said_.back().get(), 1, MPI_INT, other, notice, communicator_, &request) == MPI_SUCCESS)
                MPI_Request_free(&request);
        }
    }
    void listen() {
        for (;;) {
            int there = 0, peer = -1;
            MPI_Status status;
            if (MPI_Iprobe(MPI_ANY_SOURCE, notice, communicator_, &there, &status) != MPI_SUCCESS || there == 0) return;
            MPI_Recv(&peer, 1, MPI_INT, status.MPI_SOURCE, notice, communicator_, MPI_STATUS_IGNORE);
            waits_for_[static_cast<std::size_t>(status.MPI_SOURCE)] = peer;
        }
    }
    int culprit(int peer) const {
        for (int k = 0; k < ranks_ && waits_for_[static_cast<std::size_t>(peer)] >= 0; ++k)
            peer = waits_for_[static_cast<std::size_t>(peer)];
        return peer;
    }

    static constexpr int spins = 1000;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::chrono::milliseconds limit_;
    int rank_ = 0, ranks_ = 1;
    std::vector<int> waits_for_;
    std::vector<std::unique_ptr<int>> said_;  // kept as long as messages with it may be in transit
    int failed_ = -1;
    std::string failure_;
};

}  // namespace trifold
