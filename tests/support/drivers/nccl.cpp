// A libnccl.so.2 for tests: messages are copies between threads of one process, made when they are enqueued.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/drivers/drivers.hpp"

namespace trifold::test {

FakeNccl& fake_nccl() {
    static FakeNccl instance;
    return instance;
}

}  // namespace trifold::test

namespace {

using trifold::test::fake_nccl;
using trifold::test::record_step;

struct Id {
    char bytes[128];
};
/// The ranks of one id.
struct Hub {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<std::vector<char>>> boxes;  // by sender and receiver
    int came = 0;
};
struct Communicator {
    std::shared_ptr<Hub> hub;
    int rank, ranks;
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Hub>> hubs;
int ids = 0;

/// A thread's messages that travel at the same time: what it sends does not wait for what it receives.
struct Group {
    int depth = 0;
    std::vector<std::function<int()>> receives;
};
thread_local Group group;

int result_of(const char* call) { return std::string_view(fake_nccl().failing_call) == call ? 1 : 0; }
Communicator& at(void* communicator) { return *static_cast<Communicator*>(communicator); }

}  // namespace

extern "C" {

int ncclGetVersion(int* version) { return *version = fake_nccl().version, 0; }
const char* ncclGetErrorString(int) { return "as the test asked"; }

int ncclGetUniqueId(Id* id) {
    const std::scoped_lock lock(mutex);
    std::memset(id->bytes, 0, sizeof id->bytes);
    const auto text = std::to_string(++ids);
    std::memcpy(id->bytes, text.data(), text.size());
    return result_of(__func__);
}

int ncclCommInitRank(void** communicator, int ranks, Id id, int rank) {
    std::shared_ptr<Hub> hub;
    {
        const std::scoped_lock lock(mutex);
        auto& known = hubs[id.bytes];
        if (known == nullptr) known = std::make_shared<Hub>();
        hub = known;
        ++fake_nccl().communicators;
    }
    std::unique_lock lock(hub->mutex);
    ++hub->came;
    hub->changed.notify_all();
    hub->changed.wait(lock, [&] { return hub->came >= ranks; });
    *communicator = new Communicator{hub, rank, ranks};
    return result_of(__func__);
}

int ncclCommDestroy(void* communicator) {
    const std::scoped_lock lock(mutex);
    --fake_nccl().communicators;
    return delete static_cast<Communicator*>(communicator), 0;
}
int ncclCommAbort(void* communicator) {
    {
        const std::scoped_lock lock(mutex);
        ++fake_nccl().aborted;
    }
    return ncclCommDestroy(communicator);
}
int ncclCommGetAsyncError(void*, int* result) { return *result = 0, 0; }
int ncclCommCount(void* communicator, int* ranks) { return *ranks = at(communicator).ranks, 0; }
int ncclCommUserRank(void* communicator, int* rank) { return *rank = at(communicator).rank, 0; }
int ncclCommCuDevice(void*, int* device) { return *device = 0, 0; }

int ncclGroupStart() { return ++group.depth, 0; }
int ncclGroupEnd() {
    if (--group.depth == 0)
        for (const auto& receive : std::exchange(group.receives, {}))
            if (const int result = receive()) return result;
    return result_of(__func__);
}

int ncclSend(const void* data, std::size_t count, int, int peer, void* communicator, void* stream) {
    const auto step = [data, count, peer, communicator] {
        auto& [hub, rank, ranks] = at(communicator);
        const std::scoped_lock lock(hub->mutex);
        const auto* first = static_cast<const char*>(data);
        hub->boxes[{rank, peer}].emplace_back(first, first + count);
        ++fake_nccl().sent;
        hub->changed.notify_all();
        return 0;
    };
    if (!record_step(stream, step)) step();
    return result_of(__func__);
}

int ncclRecv(void* data, std::size_t count, int type, int peer, void* communicator, void* stream) {
    if (group.depth > 0) {
        group.receives.emplace_back([=] { return ncclRecv(data, count, type, peer, communicator, stream); });
        return 0;
    }
    const auto step = [data, count, peer, communicator] {
        auto& [hub, rank, ranks] = at(communicator);
        std::unique_lock lock(hub->mutex);
        auto& box = hub->boxes[{peer, rank}];
        hub->changed.wait(lock, [&] { return !box.empty(); });
        if (box.front().size() != count) return 1;
        std::memcpy(data, box.front().data(), count);
        box.pop_front();
        return 0;
    };
    if (record_step(stream, step)) return result_of(__func__);
    return std::max(step(), result_of(__func__));
}

}  // extern "C"
