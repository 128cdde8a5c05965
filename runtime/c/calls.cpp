#include "runtime/c/calls.hpp"

#include <functional>
#include <new>
#include <trifold/grid.hpp>
#include <trifold/solver.hpp>
#include <trifold/sparse.hpp>
#include <trifold/transport.hpp>

namespace trifold::c {
namespace {

// Plain memory, so that reporting an error cannot fail.
thread_local char last_error[4096] = "";

trifold_code fail(trifold_code code, const char* text) noexcept {
    const auto length = std::min(std::char_traits<char>::length(text), sizeof last_error - 1);
    std::char_traits<char>::copy(last_error, text, length);
    last_error[length] = '\0';
    return code;
}

/// The caller's functions.
class CallersTransport final : public Transport {
  public:
    explicit CallersTransport(const trifold_transport& functions) : functions_(functions) {
        const auto rank = functions_.rank, ranks = functions_.ranks;
        if (functions_.send == nullptr || functions_.receive == nullptr)
            throw SpecError("the transport's send or receive is a null pointer");
        if (ranks < 1 || rank < 0 || rank >= ranks)
            throw SpecError(fmt::format("the transport has rank {} of {} ranks; ranks count from 0", rank, ranks));
    }
    int rank() const override { return functions_.rank; }
    int ranks() const override { return functions_.ranks; }
    void send(int to, const void* data, std::int64_t bytes, Stream stream) override {
        expect_sent(functions_.send(functions_.user, to, data, bytes, stream.handle), "send", to);
    }
    void receive(int from, void* data, std::int64_t bytes, Stream stream) override {
        expect_sent(functions_.receive(functions_.user, from, data, bytes, stream.handle), "receive", from);
    }

  private:
    void expect_sent(int result, const char* function, int peer) const {
        if (result != 0)
            throw RankError(
                fmt::format("rank {} cannot be reached: {} of rank {} has returned {}", peer, function, functions_.rank, result), peer);
    }
    trifold_transport functions_;
};

}  // namespace

trifold_code code_of(const std::exception_ptr& thrown) noexcept try {
    std::rethrow_exception(thrown);
} catch (const NotPositiveDefinite& error) {
    return fail(TRIFOLD_NOT_POSITIVE_DEFINITE, error.what());
} catch (const NearlySingular& error) {
    return fail(TRIFOLD_NEARLY_SINGULAR, error.what());
} catch (const OutOfRange& error) {
    return fail(TRIFOLD_OUT_OF_RANGE, error.what());
} catch (const NotConverged& error) {
    return fail(TRIFOLD_NOT_CONVERGED, error.what());
} catch (const GridFailed& error) {
    return fail(TRIFOLD_GRID_FAILED, error.what());
} catch (const SparseFailed& error) {
    return fail(TRIFOLD_SPARSE_FAILED, error.what());
} catch (const Unsolvable& error) {
    return fail(TRIFOLD_UNSOLVABLE, error.what());
} catch (const RankError& error) {
    return fail(TRIFOLD_RANK_FAILED, error.what());
} catch (const SpecError& error) {
    return fail(TRIFOLD_BAD_ARGUMENT, error.what());
} catch (const DeviceError& error) {
    return fail(TRIFOLD_NO_DEVICE, error.what());
} catch (const CompileError& error) {
    return fail(TRIFOLD_COMPILE_FAILED, error.what());
} catch (const CacheError& error) {
    return fail(TRIFOLD_CACHE_FAILED, error.what());
} catch (const LaunchError& error) {
    return fail(TRIFOLD_LAUNCH_FAILED, error.what());
} catch (const std::bad_alloc&) {
    return fail(TRIFOLD_OUT_OF_MEMORY, "out of host memory");
} catch (const std::exception& error) {
    return fail(TRIFOLD_INTERNAL_ERROR, error.what());
} catch (...) {
    return fail(TRIFOLD_INTERNAL_ERROR, "an unknown exception");
}

void refuse_operation(const trifold_call& call, const char* like) {
    throw SpecError(fmt::format("operation = {:#x} is no call; give {} or its like, one of them", call.operation, like));
}

CallOptions options_of(const trifold_call& call) {
    CallOptions options;
    if (call.on_host == 0) options.stream = {call.stream};
    if (call.options == nullptr) return options;
    const auto& o = initialized(static_cast<const trifold_options*>(call.options), "trifold_options");
    if (o.diagonal != nullptr) options.diagonal = any_array(call, o.diagonal);
    if (o.shift != nullptr) options.shift = any_array(call, o.shift);
    options.active = o.active;
    options.lengths = o.lengths;
    options.sizes = o.sizes;
    options.pivot_floor = o.pivot_floor;
    options.accept_nearly_singular = o.accept_nearly_singular != 0;
    options.members = o.members;
    options.columns = o.columns;
    if (o.f != nullptr) options.f = any_array(call, o.f);
    if (o.c != nullptr) options.c = any_array(call, o.c);
    if (o.tip_b != nullptr) options.tip_b = any_array(call, o.tip_b);
    if (o.tip_x != nullptr) options.tip_x = any_array(call, o.tip_x);
    if (o.u != nullptr) options.u = any_array(call, o.u);
    options.first_block = o.first_block;
    options.blocks = o.blocks;
    return options;
}

Executor executor_of(trifold_executor executor, void* user) {
    given(executor, "the executor");
    return [executor, user](std::int64_t tasks, const std::function<void(std::int64_t, int)>& run) {
        const auto call = [](void* context, std::int64_t task, int worker) {
            (*static_cast<const std::function<void(std::int64_t, int)>*>(context))(task, worker);
        };
        executor(user, tasks, call, const_cast<std::function<void(std::int64_t, int)>*>(&run));
    };
}

std::shared_ptr<Transport> transport_of(const trifold_transport& functions, const Device& device) {
    auto hosts = std::make_shared<CallersTransport>(functions);
    const bool is_alone = functions.ranks == 1;
    if (device.backend() == Backend::cpu || is_alone) return hosts;
    NcclOptions options{.communicator = functions.nccl_communicator};
    if (functions.nccl_library != nullptr) options.library = functions.nccl_library;
    if (functions.nccl_milliseconds != 0) options.time_limit = std::chrono::milliseconds(functions.nccl_milliseconds);
    return std::make_shared<NcclTransport>(std::move(hosts), device, options);
}

}  // namespace trifold::c

extern "C" {

const char* trifold_last_error(void) { return trifold::c::last_error; }
int trifold_version(void) { return TRIFOLD_VERSION_NUMBER; }
void trifold_call_init(trifold_call* call) {
    if (call != nullptr) *call = {sizeof *call, 0, TRIFOLD_F64, 0, 0, nullptr, nullptr, {}, {}};
}

}  // extern "C"
