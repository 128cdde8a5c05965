#pragma once
#include <fmt/format.h>

#include <trifold/error.hpp>

#include "runtime/base/symbols.hpp"
#include "runtime/device/gpu_driver.hpp"

namespace trifold::gpu {

/// The driver over a table of symbols, which has the types and constants of CUDA or HIP too. What only one of them has or does in another
/// way is in the classes derived from this.
template <class Api>
class DriverOver : public Driver {
  public:
    explicit DriverOver(const Api& api) : api_(api) {}
    Backend backend() const override { return Api::backend; }

    Report report() const override {
        Report result;
        result.driver = api_.release();
        const int count = device_count();
        for (int ordinal = 0; ordinal < count; ++ordinal) result.devices.push_back(describe_device(ordinal));
        if (count == 0) result.problem = fmt::format(Api::no_device, result.driver);
        return result;
    }

    void synchronize_device() const override { call(api_.synchronize_device); }
    int relax() const noexcept override { return exchange_mode(Api::relaxed); }
    void restore(int old) const noexcept override { exchange_mode(static_cast<typename Api::CaptureMode>(old)); }

    long long max_shared_bytes(int ordinal) const override { return attribute(ordinal, Api::max_shared_bytes); }
    int multiprocessors(int ordinal) const override { return attribute(ordinal, Api::multiprocessors); }
    bool reads_host_memory(int ordinal) const override { return attribute(ordinal, Api::reads_host_memory) != 0; }

    void* load_module(const std::string& code, const std::string& device) const override {
        typename Api::Module module = nullptr;
        const auto result = api_.load_module(&module, code.data());
        if (result == Api::out_of_memory) check(result, api_.load_module.name);
        if (result != Api::success)
            throw DeviceError(fmt::format("{} does not load the compiled kernels ({} bytes): {} failed: {}", device, code.size(),
                                          api_.load_module.name, api_.reason(result)));
        return module;
    }
    void unload_module(void* module) const noexcept override { (void)api_.unload_module(module); }
    void* find_function(void* module, const std::string& name) const override {
        typename Api::Function found = nullptr;
        const auto result = api_.get_function(&found, module, name.c_str());
        if (result == Api::not_found) return nullptr;
        check(result, api_.get_function.name);
        return found;
    }
    Limits limits(void* function) const override {
        return {made_by(api_.function_attribute, Api::max_threads, function),
                made_by(api_.function_attribute, Api::own_shared_bytes, function)};
    }

    void* allocate(std::size_t bytes) const override {
        typename Api::Address memory{};
        const auto result = api_.allocate(&memory, bytes);
        if (result == Api::out_of_memory) return nullptr;
        check(result, api_.allocate.name);
        return reinterpret_cast<void*>(memory);
    }
    void free(void* memory) const noexcept override { (void)api_.free(memory); }
    void memory_info(std::size_t& free, std::size_t& total) const override { call(api_.memory_info, &free, &total); }
    void fill(void* memory, unsigned char byte, std::size_t bytes, void* stream) const override {
        call(api_.fill, memory, byte, bytes, stream);
    }

    void* create_stream() const override { return made_by(api_.create_stream, Api::non_blocking); }
    void* create_urgent_stream() const override { return made_by(api_.create_urgent_stream, Api::non_blocking, max_urgent); }
    void destroy_stream(void* stream) const noexcept override { (void)api_.destroy_stream(stream); }
    void synchronize_stream(void* stream) const override { call(api_.synchronize_stream, stream); }
    bool is_done(void* stream) const override {
        const auto result = api_.query_stream(stream);
        if (result != Api::not_ready) check(result, api_.query_stream.name);
        return result == Api::success;
    }
    bool is_capturing(void* stream) const override {
        auto capture = Api::not_capturing;
        call(api_.is_capturing, stream, &capture);
        return capture != Api::not_capturing;
    }

    void* create_event() const noexcept override {
        typename Api::Event event = nullptr;
        const bool made = api_.has_events && api_.create_event(&event, 0U) == Api::success;
        return made ? event : nullptr;
    }
    void destroy_event(void* event) const noexcept override {
        if (event != nullptr) (void)api_.destroy_event(event);
    }
    bool record(void* event, void* stream) const noexcept override { return api_.record(event, stream) == Api::success; }
    void wait_for(void* event, void* stream) const override { call(api_.wait_for, stream, event, 0U); }
    std::optional<double> seconds_between(void* first, void* last) const noexcept override {
        // In the usual mode a query would poison the graph that another thread is recording.
        auto mode = Api::relaxed;
        if (api_.exchange_mode(&mode) != Api::success) return std::nullopt;
        float milliseconds = 0;
        const bool ended = api_.has_happened(last) && api_.elapsed(&milliseconds, first, last) == Api::success;
        (void)api_.exchange_mode(&mode);
        return ended ? std::optional(1e-3 * milliseconds) : std::nullopt;
    }

    void launch(const KernelLaunch& grid, void* stream) const override {
        call(api_.launch, grid.function, grid.x, grid.y, 1U, grid.threads, 1U, 1U, grid.shared_bytes, stream, grid.arguments, nullptr);
    }
    void begin_recording(void* stream) const override { call(api_.begin_recording, stream, Api::thread_local_mode); }
    void* end_recording(void* stream) const noexcept override {
        typename Api::Graph graph = nullptr;
        return api_.end_recording(stream, &graph) == Api::success ? graph : nullptr;
    }
    void* create_graph() const override { return made_by(api_.create_graph, 0U); }
    void destroy_graph(void* graph) const noexcept override { (void)api_.destroy_graph(graph); }
    void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool) const override {
        const auto nodes = nodes_of(after);
        const auto parameters = Api::node_of(grid);
        return made_by(api_.add_kernel, graph, nodes.data(), nodes.size(), &parameters);
    }
    void destroy_executable(void* executable) const noexcept override { (void)api_.destroy_executable(executable); }
    void set_kernel(void* executable, void* node, const KernelLaunch& grid) const override {
        const auto parameters = Api::node_of(grid);
        call(api_.set_kernel, executable, node, &parameters);
    }
    void launch_graph(void* executable, void* stream) const override { call(api_.launch_graph, executable, stream); }

  protected:
    virtual int device_count() const = 0;
    virtual DeviceInfo describe_device(int ordinal) const = 0;
    /// The driver's number of a device.
    virtual int device(int ordinal) const { return ordinal; }

    int attribute(int ordinal, decltype(Api::multiprocessors) attribute) const {
        return made_by(api_.device_attribute, attribute, device(ordinal));
    }
    static std::vector<typename Api::Node> nodes_of(const std::vector<void*>& handles) {
        std::vector<typename Api::Node> nodes;
        for (auto* handle : handles) nodes.push_back(static_cast<typename Api::Node>(handle));
        return nodes;
    }

    void check(typename Api::Result result, const char* name) const {
        if (result == Api::success) return;
        const auto text = fmt::format("{} failed: {}", name, api_.reason(result));
        if (result == Api::out_of_memory || result == Api::lacks_device || result == Api::invalid_device) throw DeviceError(text);
        throw LaunchError(text);
    }
    template <class Function, class... Given>
    void call(const Symbol<Function>& symbol, Given... given) const {
        check(symbol(given...), symbol.name);
    }
    /// The result that a function writes to its first argument.
    template <class Made, class... Parameters, class... Given>
    Made made_by(const Symbol<typename Api::Result(Made*, Parameters...)>& symbol, Given... given) const {
        Made made{};
        call(symbol, &made, given...);
        return made;
    }

    Api api_;

  private:
    int exchange_mode(typename Api::CaptureMode mode) const noexcept {
        if (api_.has_events) (void)api_.exchange_mode(&mode);
        return mode;
    }
};

/// The driver in a library, named `where` in messages. The library is never closed: static destructors of others may still call into it.
template <class Api, class Implementation>
Opened open_in(void* library, std::string_view where, std::string_view advice) {
    Api api;
    if (const auto missing = find_all<typename Api::Needed>(api, library); !missing.empty())
        return {nullptr, fmt::format("{} is too old, it has no {}; {}", where, missing, advice)};
    if (const auto code = api.init(0U); code != Api::success)
        return {nullptr, fmt::format("the driver does not start: {} failed with {}; {}", api.init.name, api.reason(code), advice)};
    if (int version = 0; api.driver_version(&version) == Api::success) api.version = version;
    // All or none of those that measure, in any version: what they take here is the same in all.
    api.has_events = true;
    static_cast<typename Api::Events&>(api).each(
        [&](auto& symbol) { api.has_events = (symbol.find(library) || symbol.find(library, symbol.name)) && api.has_events; });
    api.find_newer(library);
    return {std::make_unique<Implementation>(api), {}};
}

}  // namespace trifold::gpu
