#include "runtime/device/gpu_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <trifold/error.hpp>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/turns.hpp"

namespace trifold::gpu {
namespace {

unsigned divide_up(std::int64_t a, std::int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

/// All that a call's launches depend on.
std::string bytes_of(std::span<const Operand> operands, const void* workspace) {
    std::string bytes(reinterpret_cast<const char*>(&workspace), sizeof workspace);
    for (const auto& operand : operands) {
        bytes.append(reinterpret_cast<const char*>(&operand.members), sizeof operand.members);
        bytes.append(static_cast<const char*>(operand.bytes), operand.size);
    }
    return bytes;
}

}  // namespace

Graph::Parameters::Parameters(const Node& of, std::span<const Operand> operands)
    : arguments{const_cast<void*>(operands[of.launch->operands].bytes), const_cast<char*>(of.launch->constants.data())},
      grid{of.function,
           static_cast<unsigned>(of.launch->grid.groups),
           divide_up(operands[of.launch->operands].members, of.launch->grid.members_per_group),
           of.threads,
           of.shared_bytes,
           arguments,
           of.launch->together} {}

Graph::Graph(const Driver& driver, const Program& program, const Units& units, const std::string& operation, Transport* transport)
    : driver_(driver), program_(program), units_(units), operation_(operation), transport_(transport) {
    for (const auto& launch : program.operations.at(operation)) {
        has_copies_ = has_copies_ || launch.work != Work::kernel;
        if (is_message(launch)) {
            room_ = buffer(program, "message").offset;
            nodes_.push_back({nullptr, &launch, 0, 0});
            continue;
        }
        const auto& kernel = kernel_of(program, launch);
        nodes_.push_back({units.function(launch.unit, launch.kernel), &launch, static_cast<unsigned>(kernel.threads),
                          static_cast<unsigned>(kernel.shared_bytes)});
    }
    if (std::ranges::any_of(program.operations.at(operation), &Launch::beside)) beside_.emplace(driver);
    if (beside_ && (beside_->begin == nullptr || beside_->end == nullptr)) beside_.reset();  // an old driver has no events
    if (const auto found = program.repeats.find(operation); found != program.repeats.end()) repeats_ = found->second;
}

Graph::~Graph() {
    destroy();
    forget_record();
    if (record_.stream != nullptr) driver_.destroy_stream(record_.stream);
}

void Graph::destroy() noexcept {
    if (executable_ != nullptr) driver_.destroy_executable(executable_);  // one in flight is freed when it ends
    if (graph_ != nullptr) driver_.destroy_graph(graph_);
    graph_ = executable_ = nullptr;
}

void Graph::build(std::span<const Operand> operands, void* workspace, void* stream) {
    if (!can_launch()) return;
    instantiate(operands, workspace);
    driver_.upload(executable_, stream);
}

void Graph::instantiate(std::span<const Operand> operands, void* workspace) {
    graph_ = driver_.create_graph();
    try {
        auto repeat = repeats_.begin();
        for (std::size_t k = 0; k < nodes_.size(); ++k) {
            if (repeat != repeats_.end() && k == repeat->first) {
                add_repeat(*repeat, operands, workspace);
                k += repeat++->count - 1;
                continue;
            }
            std::vector<void*> after;
            for (const auto index : nodes_[k].launch->after) after.push_back(nodes_[index].handle);
            std::ranges::sort(after);
            after.erase(std::ranges::unique(after).begin(), after.end());  // launches of one repetition are one node
            add_node(graph_, k, after, operands);
        }
        executable_ = driver_.instantiate(graph_);
    } catch (...) {
        destroy();
        throw;
    }
    note(operands, workspace);
}

void Graph::add_node(void* graph, std::size_t k, const std::vector<void*>& after, std::span<const Operand> operands) {
    const Parameters parameters(nodes_[k], operands);
    nodes_[k].handle = driver_.add_kernel(graph, after, parameters.grid, nodes_[k].launch->early && graph == graph_);
}

/// A kernel that decides about the first turn, and behind it a node whose body ends with the same kernel, for the next turn. Both wait for
/// all that came before them. Whoever needs a launch of the body waits for the node.
void Graph::add_repeat(const Repeat& repeat, std::span<const Operand> operands, void* workspace) {
    trifold_repeat_args args{driver_.create_condition(graph_), static_cast<trifold_int*>(flag_of(repeat, workspace)), repeat.most, 1};
    void* arguments[]{&args};
    const KernelLaunch decide{units_.function(repeat.unit, 0), 1, 1, 1, 0, arguments};
    std::vector<void*> before;
    for (std::size_t k = 0; k < repeat.first; ++k) before.push_back(nodes_[k].handle);
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
    const auto [node, body] = driver_.add_while(graph_, {driver_.add_kernel(graph_, before, decide, false)}, args.handle);
    const auto end = repeat.first + repeat.count;
    std::vector<void*> in_body;
    for (auto k = repeat.first; k < end; ++k) {
        std::vector<void*> after;
        for (const auto index : nodes_[k].launch->after)
            if (index >= repeat.first) after.push_back(nodes_[index].handle);
        add_node(body, k, after, operands);
        in_body.push_back(nodes_[k].handle);
    }
    args.begins = 0;
    driver_.add_kernel(body, in_body, decide, false);
    for (auto k = repeat.first; k < end; ++k) nodes_[k].handle = node;
}

void* Graph::flag_of(const Repeat& repeat, void* workspace) const {
    return static_cast<char*>(workspace) + buffer(program_, repeat.flag).offset;
}

void Graph::note(std::span<const Operand> operands, void* workspace) {
    held_.assign(static_cast<const char*>(operands.front().bytes), operands.front().size);
    held_workspace_ = workspace;
    holds_ = true;
}

void Graph::update(std::span<const Operand> operands, void* workspace) {
    holds_ = false;
    const bool waits = std::ranges::any_of(nodes_, [](const Node& node) { return node.launch->together; });
    if (!repeats_.empty() || waits) {  // nodes of a body cannot be updated; of a cooperative launch that is not said
        destroy();
        return instantiate(operands, workspace);
    }
    for (const auto& node : nodes_) {
        const Parameters parameters(node, operands);
        driver_.set_kernel(executable_, node.handle, parameters.grid);
    }
    note(operands, workspace);
}

void Graph::launch(std::span<const Operand> operands, void* workspace, void* stream) {
    if (executable_ == nullptr) instantiate(operands, workspace);
    if (!holds_ || workspace != held_workspace_ || std::memcmp(operands.front().bytes, held_.data(), held_.size()) != 0)
        update(operands, workspace);
    driver_.launch_graph(executable_, stream);
}

void Graph::enqueue(std::span<const Operand> operands, void* workspace, void* stream, bool recording, bool may_record) {
    if (repeats_.empty() && transport_ != nullptr) return enqueue_with_messages(operands, workspace, stream, may_record && !recording);
    if (transport_ != nullptr) transport_->meet(operands.front().members, operation_, false);
    std::size_t done = 0;
    for (const auto& repeat : repeats_) {
        enqueue_each(done, repeat.first, operands, workspace, stream);
        done = repeat.first + repeat.count;
        if (!recording)
            enqueue_turns(repeat, operands, workspace, stream);
        else
            for (std::int64_t turn = 0; turn < repeat.most; ++turn) enqueue_each(repeat.first, done, operands, workspace, stream);
    }
    enqueue_each(done, nodes_.size(), operands, workspace, stream);
}

void Graph::enqueue_each(std::size_t first, std::size_t end, std::span<const Operand> operands, void* workspace, void* stream) const {
    bool is_beside = false;
    for (auto k = first; k < end;) {
        auto* const chosen = stream_for(*nodes_[k].launch, stream, is_beside);
        if (!is_message(*nodes_[k].launch)) {
            const Parameters parameters(nodes_[k++], operands);
            driver_.launch(parameters.grid, chosen);
            continue;
        }
        const auto last = group_from(k, end);
        const bool many = last - k > 1;
        if (many) transport_->begin_group();
        for (; k < last; ++k) enqueue_message(nodes_[k], operands.front().members, static_cast<char*>(workspace), chosen);
        if (many) transport_->end_group();
    }
}

/// The stream of a launch, which waits for the other one where it has to.
void* Graph::stream_for(const Launch& launch, void* stream, bool& is_beside) const {
    if (!beside_) return stream;
    if (launch.beside) {
        if (std::exchange(is_beside, true)) return beside_->stream;
        driver_.record(beside_->begin, stream);
        driver_.wait_for(beside_->begin, beside_->stream);
        return beside_->stream;
    }
    const bool waits = std::ranges::any_of(launch.after, [&](std::size_t other) { return nodes_[other].launch->beside; });
    if (waits && std::exchange(is_beside, false)) {
        driver_.record(beside_->end, beside_->stream);
        driver_.wait_for(beside_->end, stream);
    }
    return stream;
}

/// The end of the messages from `first` on that do not wait for one another, which travel at the same time.
std::size_t Graph::group_from(std::size_t first, std::size_t end) const {
    const auto waits = [&](const Launch& launch) { return std::ranges::any_of(launch.after, [&](std::size_t k) { return k >= first; }); };
    auto last = first + 1;
    while (last < end && is_message(*nodes_[last].launch) && !waits(*nodes_[last].launch)) ++last;
    return last;
}

/// All ranks meet before the first message. The launches before it are at work meanwhile.
void Graph::enqueue_with_messages(std::span<const Operand> operands, void* workspace, void* stream, bool may_record) {
    const auto first =
        static_cast<std::size_t>(std::ranges::find_if(nodes_, [](const Node& node) { return is_message(*node.launch); }) - nodes_.begin());
    enqueue_each(0, first, operands, workspace, stream);
    if (first == nodes_.size()) return;
    const auto bytes = bytes_of(operands, workspace);
    const bool repeats = may_record && !record_.is_refused && (bytes == record_.operands || bytes == record_.last);
    const bool all_repeat = transport_->meet(operands.front().members, operation_, repeats);
    record_.last = bytes;
    if (all_repeat && (bytes == record_.operands || record(first, operands, workspace)))
        driver_.launch_graph(record_.executable, stream);
    else
        enqueue_each(first, nodes_.size(), operands, workspace, stream);
}

/// Whether there is a record afterwards.
bool Graph::record(std::size_t first, std::span<const Operand> operands, void* workspace) {
    forget_record();
    std::string why = "the driver does not say why";
    try {
        if (record_.stream == nullptr) record_.stream = driver_.create_stream();
        driver_.begin_recording(record_.stream);
        try {
            enqueue_each(first, nodes_.size(), operands, workspace, record_.stream);
        } catch (const Error& error) {
            why = error.what();
            record_.is_refused = true;
        }
        record_.graph = driver_.end_recording(record_.stream);
        if (record_.graph != nullptr && !record_.is_refused) record_.executable = driver_.instantiate(record_.graph);
    } catch (const Error& error) {
        why = error.what();
    }
    record_.is_refused = record_.executable == nullptr;
    if (record_.is_refused) {
        forget_record();
        log(LogLevel::warning, fmt::format("messages between GPUs cannot be recorded in a graph ({}); they are enqueued one by one", why));
        return false;
    }
    record_.operands = bytes_of(operands, workspace);
    return true;
}

/// A communicator that has been ended would be told of its graphs' end.
void Graph::forget_record() noexcept {
    const bool keeps = transport_ != nullptr && transport_->has_failed();
    if (record_.executable != nullptr && !keeps) driver_.destroy_executable(record_.executable);
    if (record_.graph != nullptr && !keeps) driver_.destroy_graph(record_.graph);
    record_.graph = record_.executable = nullptr;
    record_.operands.clear();
}

/// Gathers pieces in the buffer "message"; a piece that is the whole message is sent from its place.
void Graph::enqueue_message(const Node& node, std::int64_t members, char* workspace, void* stream) const {
    const auto& [peer, pieces] = node.launch->message;
    const bool stays = peer == transport_->rank(), sends = node.launch->work == Work::send;
    const bool is_whole = pieces.size() == 1 && members == 1 && !stays;
    char* const room = is_whole ? workspace + pieces.front().offset : workspace + room_;
    std::int64_t bytes = 0;
    for (const auto& piece : pieces) bytes += piece.bytes * ((members + piece.members - 1) / piece.members);
    if (!sends && !stays) transport_->receive(peer, room, bytes, {stream});
    std::int64_t place = 0;
    for (const auto& piece : pieces)
        for (std::int64_t k = 0; k * piece.members < members && !is_whole; ++k, place += piece.bytes) {
            char* const run = workspace + piece.offset + k * piece.stride;
            driver_.copy(sends ? room + place : run, sends ? run : room + place, static_cast<std::size_t>(piece.bytes), stream);
        }
    if (sends && !stays) transport_->send(peer, room, bytes, {stream});
}

void Graph::enqueue_turns(const Repeat& repeat, std::span<const Operand> operands, void* workspace, void* stream) const {
    for (std::int64_t turn = 0; turn < repeat.most; ++turn) {
        std::int64_t wanted = 1;
        if (turn % repeat.look == 0) {
            if (transport_ != nullptr) transport_->wait({stream});
            driver_.copy_to_host(&wanted, flag_of(repeat, workspace), sizeof wanted, stream);
            driver_.synchronize_stream(stream);
            if (between_turns != nullptr)
                (*between_turns)([&](void* to, const void* from, std::size_t bytes) {
                    driver_.copy_to_host(to, from, bytes, stream);
                    driver_.synchronize_stream(stream);
                });
        }
        if (wanted == 0) return;
        enqueue_each(repeat.first, repeat.first + repeat.count, operands, workspace, stream);
    }
}

Graph::Beside::Beside(const Driver& of) : driver(of), stream(of.create_urgent_stream()), begin(of.create_event()), end(of.create_event()) {}
Graph::Beside::~Beside() {
    driver.destroy_event(begin);
    driver.destroy_event(end);
    driver.destroy_stream(stream);
}

}  // namespace trifold::gpu
