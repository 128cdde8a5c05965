#include "runtime/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold {
namespace {

void check_alignment(const void* workspace) {
    if (reinterpret_cast<std::uintptr_t>(workspace) % workspace_base_alignment != 0)
        throw SpecError(fmt::format("the workspace is not aligned to {} bytes", workspace_base_alignment));
}

std::unique_ptr<Engine> make_engine(const std::shared_ptr<const Prepared>& prepared, std::span<const Operand> stand_in, void* workspace,
                                    std::int64_t bytes, Holds holds) {
    const auto needed = prepared->program.workspace_bytes;
    if (workspace != nullptr && bytes < needed)
        throw SpecError(fmt::format("the workspace has {} bytes; this {} needs {}", bytes, prepared->words.plan, needed));
    check_alignment(workspace);
    return prepared->device.backend() == Backend::cpu ? make_cpu_engine(prepared, workspace, holds)
                                                      : make_gpu_engine(prepared, stand_in, workspace, holds);
}

}  // namespace

void* given_workspace(void* workspace, const Program& program) {
    if (workspace == nullptr)
        throw SpecError(fmt::format("the workspace is a null pointer; it must hold {} bytes", program.workspace_bytes));
    return workspace;
}

Session::Session(std::shared_ptr<const Prepared> prepared, std::span<const Operand> stand_in, void* workspace, std::int64_t bytes,
                 Holds holds)
    : prepared_(std::move(prepared)), engine_(make_engine(prepared_, stand_in, workspace, bytes, holds)) {
    capture_ = Capture::make(prepared_, *engine_);
}

std::size_t Session::operation(std::string_view name) const {
    const auto& all = program().operations;
    const auto found = std::ranges::find(all, name, [](const auto& item) { return std::string_view(item.first); });
    if (found == all.end()) throw SpecError(fmt::format("the Program {} has no operation {}", program().name, name));
    return static_cast<std::size_t>(std::distance(all.begin(), found));
}

void* Session::place(std::string_view name) const { return static_cast<char*>(workspace()) + buffer(program(), name).offset; }

void Session::adopt(void* workspace, Stream stream) {
    check_alignment(workspace);
    engine_->adopt(workspace, stream);
}

void Session::prepare() {
    const Call call(*this);
    engine_->prepare();
}

void Session::synchronize() {
    const Call call(*this);
    engine_->synchronize();
}

void Session::set_executor(Executor executor) {
    const Call call(*this);
    if (!executor) throw SpecError("the executor is empty; give a function that runs its tasks");
    engine_->set_executor(std::move(executor));
}

void Session::Call::bind(std::span<const CallArray> arrays, Stream stream) {
    auto& engine = *session_.engine_;
    check_arrays(arrays, engine.workspace(), session_.program().workspace_bytes);
    engine.check(arrays);
    stream_ = stream;
    for (std::size_t k = 0; k < arrays.size(); ++k) places_[k] = const_cast<void*>(arrays[k].data);
}

void Session::Call::bind_host(std::span<const CallArray> arrays) {
    auto& engine = *session_.engine_;
    check_arrays(arrays, engine.workspace(), session_.program().workspace_bytes);
    engine.synchronize();
    on_host_ = arrays;
    stream_ = engine.host_stream();
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const auto& array = arrays[k];
        places_[k] = nullptr;
        if (array.data == nullptr || array.bytes == 0) continue;
        places_[k] = engine.device_array(array.name, array.data, array.bytes);
        if (array.access != Access::write) engine.upload(places_[k], array.data, array.bytes);
    }
}

void Session::Call::bind(std::span<const CallArray> arrays, std::span<const AnyArray> given, Stream stream) {
    const bool on_host = given.front().on_host;
    if (!std::ranges::all_of(given, [&](const AnyArray& array) { return array.on_host == on_host; }))
        throw SpecError("some arrays are in the host's memory, some in the device's; give all in one of them");
    if (on_host) return bind_host(arrays);
    bind(arrays, stream);
}

void Session::Call::run(std::size_t operation, std::span<const Operand> operands) {
    auto* capture = session_.capture_.get();
    if (capture == nullptr) {
        session_.engine_->run(operation, operands, stream_, nullptr);
        return;
    }
    auto* timer = capture->begin(operation);
    const bool recorded = session_.engine_->run(operation, operands, stream_, timer);
    capture->end(operation, operands.front().members, recorded);
}

void Session::Call::finish() {
    if (on_host_.empty()) return;
    auto& engine = *session_.engine_;
    for (std::size_t k = 0; k < on_host_.size(); ++k)
        if (on_host_[k].access != Access::read && places_[k] != nullptr)
            engine.download(const_cast<void*>(on_host_[k].data), places_[k], on_host_[k].bytes);
    engine.synchronize();
}

const void* Session::Call::read_bytes(std::string_view name, std::int64_t bytes) {
    auto& room = session_.read_;
    room.resize(std::max(room.size(), static_cast<std::size_t>(bytes) / sizeof(double)));
    if (bytes == 0)
        session_.engine_->synchronize();
    else
        session_.engine_->read(room.data(), buffer(session_.program(), name).offset, bytes);
    return room.data();
}

void Session::Call::write(std::string_view name, std::int64_t offset, std::span<const std::byte> bytes) {
    const auto& to = buffer(session_.program(), name);
    const auto count = static_cast<std::int64_t>(bytes.size());
    if (offset < 0 || count > to.bytes - offset)
        throw SpecError(fmt::format("{} bytes from {} on are more than {} has, which are {}", count, offset, name, to.bytes));
    if (count > 0) session_.engine_->write(to.offset + offset, bytes.data(), count);
}

void Session::Call::fetch(std::span<std::byte> to, const void* from) {
    session_.engine_->synchronize();
    session_.engine_->download(to.data(), from, static_cast<std::int64_t>(to.size()));
    session_.engine_->finish_copies();
}
void Session::Call::store(void* to, std::span<const std::byte> from) {
    session_.engine_->synchronize();
    session_.engine_->upload(to, from.data(), static_cast<std::int64_t>(from.size()));
    session_.engine_->finish_copies();
}

void Session::Call::copy(std::string_view name, void* to, std::int64_t bytes, Stream stream, std::int64_t from) {
    if (to == nullptr && bytes > 0) throw SpecError(fmt::format("{} is to be copied to a null pointer", name));
    session_.engine_->copy(to, buffer(session_.program(), name).offset + from, bytes, stream);
}

}  // namespace trifold
