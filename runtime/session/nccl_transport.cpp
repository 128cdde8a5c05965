#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>
#include <trifold/transport.hpp>
#include <vector>

#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/gpu_memory.hpp"
#include "runtime/device/nccl.hpp"

namespace trifold {
namespace {

/// A rank's word to rank 0, and rank 0's to all.
struct Report {
    int failed = -1;  // a rank
    char why[256] = {};
    nccl::UniqueId id{};
};

}  // namespace

struct NcclTransport::Impl {
    Impl(std::shared_ptr<Transport> given, const Device& on, const NcclOptions& options)
        : hosts(std::move(given)), device(on), limit(options.time_limit), rank(hosts->rank()), ranks(hosts->ranks()) {
        std::exception_ptr failed;
        Report mine;
        try {
            open(options, mine);
        } catch (const std::exception& error) {
            failed = std::current_exception();
            mine.failed = rank;
            std::strncpy(mine.why, error.what(), sizeof mine.why - 1);
        }
        const auto all = joined(mine);
        if (failed != nullptr) std::rethrow_exception(failed);
        if (all.failed >= 0) throw RankError(fmt::format("rank {} has failed: {}", all.failed, all.why), all.failed);
        if (communicator == nullptr) connect(all.id);
        greet();
    }
    ~Impl() {
        if (!is_own || communicator == nullptr) return;
        // To destroy it would wait for ranks that have failed.
        const gpu::Current current(*context);
        (has_failed ? functions().abort : functions().destroy)(communicator);
    }

    const nccl::Functions& functions() const { return library->functions; }

    void check(int result, const char* call) {
        if (result == 0) return;
        has_failed = true;
        throw DeviceError(fmt::format("{} failed on rank {}: {} (NCCL {})", call, rank, functions().error_string(result), library->text()));
    }

    void open(const NcclOptions& options, Report& mine) {
        if (device.backend() == Backend::cpu)
            throw SpecError("an NcclTransport is between GPUs; give a Device of CUDA or HIP, or use its hosts");
        if (hosts->is_on_device())
            throw SpecError("the hosts of an NcclTransport are an NcclTransport; give one between hosts, such as of LocalRanks");
        library = &nccl::library(device.backend(), options.library);
        context = std::make_unique<const gpu::Context>(gpu::driver(device.backend()), device.ordinal());
        const gpu::Current current(*context);
        if (options.communicator == nullptr) {
            if (rank == 0) check(functions().unique_id(&mine.id), "ncclGetUniqueId");
            return;
        }
        communicator = options.communicator;
        is_own = false;
        int count = 0, number = 0, ordinal = 0;
        check(functions().count(communicator, &count), "ncclCommCount");
        check(functions().user_rank(communicator, &number), "ncclCommUserRank");
        check(functions().device(communicator, &ordinal), "ncclCommCuDevice");
        if (count != ranks || number != rank || ordinal != device.ordinal())
            throw SpecError(
                fmt::format("the communicator has rank {} of {} on device {}, and the hosts have rank {} of {} and the Device {}", number,
                            count, ordinal, rank, ranks, device.ordinal()));
    }

    /// Rank 0's id, or the first rank that failed.
    Report joined(Report mine) {
        constexpr auto bytes = static_cast<std::int64_t>(sizeof(Report));
        if (rank != 0) {
            hosts->send(0, &mine, bytes);
            hosts->receive(0, &mine, bytes);
            return mine;
        }
        for (int other = 1; other < ranks; ++other) {
            Report report;
            hosts->receive(other, &report, bytes);
            if (report.failed < 0 || mine.failed >= 0) continue;
            mine.failed = report.failed;
            std::copy(std::begin(report.why), std::end(report.why), mine.why);
        }
        for (int other = 1; other < ranks; ++other) hosts->send(other, &mine, bytes);
        return mine;
    }

    /// Makes the communicator, in a thread that is left behind where a rank never comes.
    void connect(const nccl::UniqueId& id) {
        struct Made {
            void* communicator = nullptr;
            int result = 0;
        };
        std::promise<Made> promise;
        auto future = promise.get_future();
        std::thread([init = functions().init_rank, on = device, id, count = ranks, number = rank, made = std::move(promise)]() mutable {
            Made mine;
            try {
                const gpu::Context own(gpu::driver(on.backend()), on.ordinal());
                const gpu::Current current(own);
                mine.result = init(&mine.communicator, count, id, number);
            } catch (const Error&) {
                mine.result = 1;
            }
            made.set_value(mine);
        }).detach();
        if (future.wait_for(limit) != std::future_status::ready)
            throw RankError(
                fmt::format("rank {} has waited for {} ms in ncclCommInitRank (NCCL {}), where not all ranks have come; see what "
                            "NCCL_DEBUG=INFO says",
                            rank, limit.count(), library->text()),
                -1);
        const auto made = future.get();
        communicator = made.communicator;
        constexpr int invalid_usage = 5;
        if (made.result == invalid_usage)
            throw DeviceError(
                fmt::format("ncclCommInitRank failed on rank {} on device {}: {} (NCCL {}); each rank needs a GPU of its own, so "
                            "see whether another rank has this one",
                            rank, device.ordinal(), functions().error_string(made.result), library->text()));
        check(made.result, "ncclCommInitRank");
    }

    /// Sends a byte to and from all ranks that this one exchanges messages with, so that no call has to wait for a connection: NCCL makes
    /// it at the first message, and would do so while the device is at work.
    void greet() {
        std::vector<int> peers;
        for (int distance = 1; distance < ranks; distance *= 2)
            for (const int peer : {rank - distance, rank + distance})
                if (peer >= 0 && peer < ranks) peers.push_back(peer);
        if (peers.empty()) return;
        const gpu::Current current(*context);
        const gpu::Memory room(*context, static_cast<std::int64_t>(peers.size()) + 1, "room for NCCL's first messages",
                               "give it more memory");
        const gpu::OwnStream stream(context->driver());
        auto* const bytes = static_cast<char*>(room.get());
        check(functions().group_start(), "ncclGroupStart");
        for (const int peer : peers) check(functions().send(bytes, 1, nccl::bytes_type, peer, communicator, stream.get()), "ncclSend");
        for (std::size_t k = 0; k < peers.size(); ++k)
            check(functions().receive(bytes + 1 + k, 1, nccl::bytes_type, peers[k], communicator, stream.get()), "ncclRecv");
        check(functions().group_end(), "ncclGroupEnd");
        wait({stream.get()});
    }

    /// Ends the messages that are under way, and finds the rank that is missing.
    [[noreturn]] void give_up(const std::string& why) {
        has_failed = true;
        functions().abort(communicator);
        communicator = nullptr;
        constexpr std::int64_t giving_up = -1;
        meet(giving_up, "the end of a call that has failed", false);
        throw RankError(fmt::format("{}, though all ranks are there (NCCL {})", why, library->text()), -1);
    }

    /// Returns whether all ranks repeat a call.
    bool meet(std::int64_t number, const std::string& what, bool repeats) {
        struct Word {
            std::int64_t number, repeats;  // rank 0's answer has a culprit for a number
        };
        Word mine{number, repeats ? 1 : 0};
        if (rank == 0) {
            mine.number = -1;
            for (int other = 1; other < ranks; ++other) {
                Word theirs{};
                hosts->receive(other, &theirs, sizeof theirs);
                if (theirs.number != number && mine.number < 0) mine.number = other;
                mine.repeats = std::min(mine.repeats, theirs.repeats);
            }
            for (int other = 1; other < ranks; ++other) hosts->send(other, &mine, sizeof mine);
        } else {
            hosts->send(0, &mine, sizeof mine);
            hosts->receive(0, &mine, sizeof mine);
        }
        const auto culprit = mine.number;
        if (culprit < 0) return mine.repeats != 0;
        has_failed = true;
        throw RankError(fmt::format("rank {} makes another call than rank 0, or with other members, where rank {} calls {}; all ranks must "
                                    "make the same calls in the same order",
                                    culprit, rank, what),
                        static_cast<int>(culprit));
    }

    void wait(Stream stream) {
        if (communicator == nullptr) return;
        const auto& driver = context->driver();
        const auto begin = std::chrono::steady_clock::now();
        constexpr int spins = 2000;
        for (int turn = 0; !driver.is_done(stream.handle); ++turn) {
            if (turn < spins) continue;
            int result = 0;
            functions().async_error(communicator, &result);
            constexpr int in_progress = 7;
            if (result != 0 && result != in_progress)
                give_up(fmt::format("NCCL has failed on rank {}: {}", rank, functions().error_string(result)));
            if (std::chrono::steady_clock::now() - begin > limit)
                give_up(fmt::format("a call has not ended on rank {} for {} ms", rank, limit.count()));
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

    std::shared_ptr<Transport> hosts;
    Device device;
    std::chrono::milliseconds limit;
    int rank, ranks;
    const nccl::Library* library = nullptr;
    std::unique_ptr<const gpu::Context> context;
    void* communicator = nullptr;
    bool is_own = true, has_failed = false;
    std::string text;
};

NcclTransport::NcclTransport(std::shared_ptr<Transport> hosts, const Device& device, const NcclOptions& options) {
    if (hosts == nullptr) throw SpecError("there is no transport between hosts; take one of LocalRanks, or make an MpiTransport");
    if (options.time_limit.count() <= 0) throw SpecError(fmt::format("a time limit of {} ms; give at least 1", options.time_limit.count()));
    impl_ = std::make_unique<Impl>(std::move(hosts), device, options);
    impl_->text = impl_->library->text();
}
NcclTransport::~NcclTransport() = default;
int NcclTransport::rank() const { return impl_->rank; }
int NcclTransport::ranks() const { return impl_->ranks; }
Transport& NcclTransport::hosts() { return *impl_->hosts; }
const std::string& NcclTransport::library() const { return impl_->text; }

void NcclTransport::send(int to, const void* data, std::int64_t bytes, Stream stream) {
    if (impl_->communicator == nullptr) throw RankError("a call before this one has failed; make the ranks' transports again", -1);
    impl_->check(impl_->functions().send(data, static_cast<std::size_t>(bytes), nccl::bytes_type, to, impl_->communicator, stream.handle),
                 "ncclSend");
}
void NcclTransport::receive(int from, void* data, std::int64_t bytes, Stream stream) {
    if (impl_->communicator == nullptr) throw RankError("a call before this one has failed; make the ranks' transports again", -1);
    impl_->check(
        impl_->functions().receive(data, static_cast<std::size_t>(bytes), nccl::bytes_type, from, impl_->communicator, stream.handle),
        "ncclRecv");
}
void NcclTransport::begin_group() {
    if (impl_->communicator != nullptr) impl_->check(impl_->functions().group_start(), "ncclGroupStart");
}
void NcclTransport::end_group() {
    if (impl_->communicator != nullptr) impl_->check(impl_->functions().group_end(), "ncclGroupEnd");
}
bool NcclTransport::meet(std::int64_t number, const std::string& what, bool repeats) {
    // Names stand for themselves in a number that differs where they do.
    constexpr std::int64_t spread = 1'000'003;
    for (const char c : what) number = number % (std::int64_t{1} << 40) * spread + c;
    return impl_->meet(number & ~(std::int64_t{1} << 63), what, repeats);
}
bool NcclTransport::has_failed() const { return impl_->has_failed; }
void NcclTransport::wait(Stream stream) { impl_->wait(stream); }

}  // namespace trifold
