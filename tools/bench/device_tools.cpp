#include "tools/bench/device_tools.hpp"

#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <trifold/error.hpp>

namespace trifold {
namespace {

using Result = int;
using Address = unsigned long long;

/// The few driver calls needed, looked up by name in the driver that the library has opened.
class Driver {
  public:
    Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
        if (library_ == nullptr) throw DeviceError("no CUDA driver: libcuda.so.1 cannot be opened");
    }
    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        auto* function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library_, name));
        if (function == nullptr) throw DeviceError(std::string("the CUDA driver has no ") + name);
        const Result result = function(arguments...);
        if (result != 0) throw DeviceError(std::string(name) + " failed with error " + std::to_string(result));
    }

    /// A call whose error no caller could be told, or has been told already: a launch that failed makes every later call fail.
    template <class... Arguments>
    void release(const char* name, Arguments... arguments) const noexcept {
        try {
            call(name, arguments...);
        } catch (const DeviceError&) {
        }
    }

  private:
    void* library_;
};

}  // namespace

struct DeviceTools::Impl {
    std::unique_ptr<Driver> driver;
    void *context = nullptr, *stream = nullptr, *events[2] = {nullptr, nullptr};
    clockid_t clock = CLOCK_MONOTONIC;
    double begin = 0;

    double host_milliseconds() const {
        timespec t{};
        clock_gettime(clock, &t);
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
    }
    double milliseconds() const {
        float milliseconds = 0;
        driver->call("cuEventElapsedTime", &milliseconds, events[0], events[1]);
        return milliseconds;
    }
    /// An address of the device is a number, one of the host a pointer. The driver's copy is in the order of the stream.
    template <class To, class From>
    void copy(const char* name, To to, From from, std::int64_t bytes) const {
        if (bytes == 0) return;  // an empty array has no address
        const auto size = static_cast<std::size_t>(bytes);
        if (driver)
            driver->call(name, to, from, size, stream);
        else
            std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
    }
};

DeviceTools::DeviceTools(const Device& device, bool one_thread) : impl_(std::make_unique<Impl>()) {
    if (one_thread) impl_->clock = CLOCK_THREAD_CPUTIME_ID;
    if (device.backend() == Backend::cpu) return;
    if (device.backend() == Backend::hip)
        throw DeviceError("times are taken of CUDA devices and the processor; HIP's events are not read yet");
    impl_->driver = std::make_unique<Driver>();
    const auto& driver = *impl_->driver;
    int handle = 0;
    driver.call("cuInit", 0U);
    driver.call("cuDeviceGet", &handle, device.ordinal());
    driver.call("cuDevicePrimaryCtxRetain", &impl_->context, handle);
    driver.call("cuCtxSetCurrent", impl_->context);
    driver.call("cuStreamCreate", &impl_->stream, 1U);
    for (auto& event : impl_->events) driver.call("cuEventCreate", &event, 0U);
}

DeviceTools::~DeviceTools() = default;

std::shared_ptr<void> DeviceTools::allocate(std::int64_t bytes) const {
    const auto size = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
    if (!impl_->driver) return {std::aligned_alloc(256, (size + 255) / 256 * 256), std::free};
    Address address = 0;
    impl_->driver->call("cuMemAlloc_v2", &address, size);
    const auto* driver = impl_->driver.get();
    return {reinterpret_cast<void*>(address), [driver](void* p) { driver->release("cuMemFree_v2", reinterpret_cast<Address>(p)); }};
}

void DeviceTools::upload(void* to, const void* from, std::int64_t bytes) const {
    // cuMemcpyHtoD of pageable memory may return before the data arrive, and nothing orders it with a stream that does not block.
    impl_->copy("cuMemcpyHtoDAsync_v2", reinterpret_cast<Address>(to), from, bytes);
    synchronize();
}

void DeviceTools::download(void* to, const void* from, std::int64_t bytes) const {
    impl_->copy("cuMemcpyDtoHAsync_v2", to, reinterpret_cast<Address>(from), bytes);
    synchronize();
}

void DeviceTools::copy(void* to, const void* from, std::int64_t bytes) const {
    impl_->copy("cuMemcpyDtoDAsync_v2", reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes);
}

void* DeviceTools::stream() const { return impl_->stream; }

void DeviceTools::synchronize() const {
    if (impl_->driver) impl_->driver->call("cuStreamSynchronize", impl_->stream);
}

std::function<void()> DeviceTools::capture(std::function<void()> work) const {
    if (!impl_->driver) return work;
    const auto& driver = *impl_->driver;
    void *graph = nullptr, *executable = nullptr;
    driver.call("cuStreamBeginCapture_v2", impl_->stream, 2);  // relaxed: other threads may go on
    try {
        work();
    } catch (...) {
        driver.release("cuStreamEndCapture", impl_->stream, &graph);  // the stream must not stay in capture
        throw;
    }
    driver.call("cuStreamEndCapture", impl_->stream, &graph);
    driver.call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
    driver.call("cuGraphDestroy", graph);
    const std::shared_ptr<void> owned(executable, [&driver](void* ended) { driver.release("cuGraphExecDestroy", ended); });
    return [this, owned] { impl_->driver->call("cuGraphLaunch", owned.get(), impl_->stream); };
}

std::function<double()> DeviceTools::capture_timed(std::function<void()> work) {
    if (!impl_->driver)
        return [this, work] {
            start();
            work();
            return stop();
        };
    const auto record = [this](int event) {
        constexpr unsigned as_node = 1;  // else it would only mark the capture
        impl_->driver->call("cuEventRecordWithFlags", impl_->events[event], impl_->stream, as_node);
    };
    return [this, replay = capture([&] {
                      record(0);
                      work();
                      record(1);
                  })] {
        replay();
        synchronize();
        return impl_->milliseconds();
    };
}

void DeviceTools::start() {
    if (impl_->driver)
        impl_->driver->call("cuEventRecord", impl_->events[0], impl_->stream);
    else
        impl_->begin = impl_->host_milliseconds();
}

double DeviceTools::stop() {
    if (!impl_->driver) return impl_->host_milliseconds() - impl_->begin;
    impl_->driver->call("cuEventRecord", impl_->events[1], impl_->stream);
    impl_->driver->call("cuEventSynchronize", impl_->events[1]);
    return impl_->milliseconds();
}

}  // namespace trifold
