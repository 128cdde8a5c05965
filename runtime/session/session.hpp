#pragma once
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <trifold/error.hpp>
#include <vector>

#include "runtime/session/capture.hpp"
#include "runtime/session/engine.hpp"

namespace trifold {

/// The part that a plan or solver owns. Throws SpecError where it has been moved from. `name`: its class.
template <class Pointer>
auto& held(const Pointer& pointer, std::string_view name) {
    if (pointer == nullptr)
        throw SpecError(fmt::format("this {} has been moved from; use the one it was moved to, or assign another to it", name));
    return *pointer;
}

/// Holds a solver for one call. Throws SpecError while another call holds it, because two threads in one solver would corrupt its
/// workspace.
class OneCall {
  public:
    /// `solver`: the name of its class, in messages.
    OneCall(std::atomic_flag& busy, std::string_view solver) : busy_(busy) {
        if (busy_.test_and_set(std::memory_order_acquire))
            throw SpecError(fmt::format(
                "another thread is inside a call of this {0}; give each thread a {0} of its own (they may share the plan)", solver));
    }
    ~OneCall() { busy_.clear(std::memory_order_release); }
    OneCall(const OneCall&) = delete;
    OneCall& operator=(const OneCall&) = delete;

  private:
    std::atomic_flag& busy_;
};

/// A caller's workspace for the Program. Throws SpecError where it is null, which would stand for the session's own.
void* given_workspace(void* workspace, const Program& program);

/// The shared part of all families' solvers: a workspace and launches on one device, one call at a time. A family's solver says which
/// arrays and operands a call has, and reads what came of it. Knows no family.
class Session {
  public:
    /// `workspace`: the caller's, of `bytes` bytes, or null. Throws SpecError if it does not fit.
    Session(std::shared_ptr<const Prepared> prepared, std::span<const Operand> stand_in, void* workspace = nullptr, std::int64_t bytes = 0,
            Holds holds = Holds::nothing);

    class Call;
    /// The number of an operation of the Program, for Call::run.
    std::size_t operation(std::string_view name) const;
    const Program& program() const { return prepared_->program; }
    void* workspace() const { return engine_->workspace(); }
    /// Address of a buffer, as the device sees it.
    void* place(std::string_view buffer) const;

    /// Goes on in a workspace that another session of the plan has used, by work that is on the stream.
    void adopt(void* workspace, Stream stream);
    /// Copies a whole workspace into this one.
    void copy_from(const void* workspace, Stream stream) { engine_->copy_from(workspace, stream); }
    void clear(bool whole, Stream stream) { engine_->clear(whole, stream); }
    bool captures(Stream stream) const { return engine_->captures(stream); }
    /// Waits until the code of every operation is there, so that no later call does.
    void prepare();
    void synchronize();
    void set_executor(Executor executor);

  private:
    friend class Call;
    std::shared_ptr<const Prepared> prepared_;
    std::unique_ptr<Capture> capture_;  // null unless TRIFOLD_CAPTURE is set. Ends after the engine, and so after all that it times
    std::unique_ptr<Engine> engine_;
    std::vector<double> read_;
    std::atomic_flag busy_;
};

/// One call of a solver: other calls are refused while it lives. Throws SpecError where another lives.
class Session::Call {
  public:
    explicit Call(Session& session) : session_(session), guard_(session.busy_, session.prepared_->words.solver) {}

    /// The call's arrays in memory of the device, and its stream. Throws SpecError where one cannot be used.
    void bind(std::span<const CallArray> arrays, Stream stream);
    /// The call's arrays in memory of the host. Waits for the last call, which may be on another stream, and copies what is read to the
    /// device. The list must outlive the call.
    void bind_host(std::span<const CallArray> arrays);
    /// The one or the other, as `given` says where the arrays are. Throws SpecError where they are in both.
    void bind(std::span<const CallArray> arrays, std::span<const AnyArray> given, Stream stream);
    /// Address at which the device sees an array, by its place in the list.
    void* at(std::size_t k) const { return places_[k]; }
    /// Enqueues an operation.
    void run(std::size_t operation, std::span<const Operand> operands);
    /// Copies what the call has written to the host, if its arrays are there, and waits for it.
    void finish();

    /// The first entries of a buffer, after the last call. Valid until the next read.
    template <class T>
    std::span<const T> read(std::string_view buffer, std::int64_t count) {
        static_assert(sizeof(T) % sizeof(double) == 0 && alignof(T) <= alignof(double));
        return {reinterpret_cast<const T*>(read_bytes(buffer, count * static_cast<std::int64_t>(sizeof(T)))),
                static_cast<std::size_t>(count)};
    }
    /// Writes into a buffer, after the last call: for contents that are large, or known late.
    void write(std::string_view buffer, std::int64_t offset, std::span<const std::byte> bytes);
    /// Copies an array from memory of the device to the host, and back, after the last call.
    void fetch(std::span<std::byte> to, const void* from);
    void store(void* to, std::span<const std::byte> from);
    /// Enqueues a copy of `bytes` bytes of a buffer, from byte `from` on, to memory of the device.
    void copy(std::string_view buffer, void* to, std::int64_t bytes, Stream stream, std::int64_t from = 0);

  private:
    const void* read_bytes(std::string_view buffer, std::int64_t bytes);

    Session& session_;
    OneCall guard_;
    std::span<const CallArray> on_host_;
    std::array<void*, max_arrays> places_;  // set for arrays that are bound
    Stream stream_{};
};

}  // namespace trifold
