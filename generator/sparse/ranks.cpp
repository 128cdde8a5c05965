#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <trifold/error.hpp>

#include "generator/sparse/generate.hpp"

namespace trifold::sparse {
namespace {

struct Range {
    std::int64_t first, end;
    std::int64_t count() const { return end - first; }
    bool has(std::int64_t k) const { return k >= first && k < end; }
};

/// Rows of each rank: its subdomains, and the slices that have a row of them. A slice that two ranks have rows of is computed by both, and
/// counts as the later one's.
class Shares {
  public:
    Shares(const Arrangement& a, std::int64_t slice_rows, int ranks) : rows_(a.rows()), slice_rows_(slice_rows) {
        if (a.tiles() < ranks)
            throw SpecError(
                fmt::format("{} ranks need a subdomain each, and the partition has {}; give subdomains of about {} rows, or fewer ranks",
                            ranks, a.tiles(), std::max<std::int64_t>(1, a.rows() / ranks)));
        for (std::int64_t rank = 0, tile = 0; rank <= ranks; ++rank) {
            while (tile < a.tiles() && a.tile_starts[at(tile)] * ranks < a.rows() * rank) ++tile;
            tile = std::clamp(tile, tiles_.empty() ? 0 : tiles_.back() + 1, a.tiles() - (ranks - rank));
            tiles_.push_back(tile);
            rows_of_tiles_.push_back(a.tile_starts[at(tile)]);
        }
    }
    int ranks() const { return static_cast<int>(tiles_.size()) - 1; }
    Range tiles(int rank) const { return {tiles_[at(rank)], tiles_[at(rank) + 1]}; }
    Range tile_rows(int rank) const { return {rows_of_tiles_[at(rank)], rows_of_tiles_[at(rank) + 1]}; }
    /// All that the rank computes.
    Range slices(int rank) const {
        const auto rows = tile_rows(rank);
        return {rows.first / slice_rows_, (rows.end + slice_rows_ - 1) / slice_rows_};
    }
    Range slice_rows(int rank) const { return rows_in(slices(rank)); }
    /// Slices that count as the rank's.
    Range own_slices(int rank) const { return {slices(rank).first, rank + 1 < ranks() ? slices(rank + 1).first : slices(rank).end}; }
    Range own_slice_rows(int rank) const { return rows_in(own_slices(rank)); }

  private:
    Range rows_in(Range slices) const { return {std::min(slices.first * slice_rows_, rows_), std::min(slices.end * slice_rows_, rows_)}; }
    std::int64_t rows_, slice_rows_;
    std::vector<std::int64_t> tiles_, rows_of_tiles_;
};

/// Rows that a rank must be told of: those of a range, or of all that its slices multiply, but for those that it computes.
std::vector<char> needed(const Arrangement& a, Range slices, Range computed, bool multiplied) {
    std::vector<char> rows(at(a.rows()), 0);
    for (auto row = slices.first; row < slices.end; ++row) {
        rows[at(row)] = 1;
        for (auto k = a.starts[at(row)]; multiplied && k < a.starts[at(row) + 1]; ++k) rows[at(a.columns[at(k)])] = 1;
    }
    std::fill(rows.begin() + computed.first, rows.begin() + computed.end, 0);
    return rows;
}

/// Runs of neighbouring rows.
std::vector<Range> runs_of(const std::vector<char>& rows, Range within) {
    std::vector<Range> runs;
    for (auto row = within.first; row < within.end; ++row) {
        if (rows[at(row)] == 0) continue;
        if (runs.empty() || runs.back().end != row) runs.push_back({row, row});
        ++runs.back().end;
    }
    return runs;
}

/// Runs of rows by their sender and their receiver.
using Exchange = std::vector<std::vector<std::vector<Range>>>;

std::int64_t rows_of(const Exchange& exchange, int rank) {
    std::int64_t count = 0;
    const auto add = [&](const std::vector<Range>& runs) {
        for (const auto& run : runs) count += run.count();
    };
    for (std::size_t other = 0; other < exchange.size(); ++other) add(exchange[at(rank)][other]), add(exchange[other][at(rank)]);
    return count;
}

/// Sums of each part that a launch leaves and the next decision reads.
std::int64_t sums_of(SparseMethod method, trifold_sparse_step step) {
    const bool cg = method == SparseMethod::cg;
    switch (step) {
        case trifold_sparse_first:
            return cg ? 2 : 1;
        case trifold_sparse_second:
            return cg ? 1 : 5;
        default:
            return step == trifold_sparse_plain ? 3 : 6;  // exponents of b, or sums of a true residual
    }
}

/// A rank tells another these numbers between two launches: pieces of the workspace, and on a GPU rows, which a kernel puts side by side.
struct Parcel {
    std::vector<Piece> pieces;
    std::vector<trifold_int> rows;
};

class OnRank {
  public:
    OnRank(Generated whole, const SparseSpec& spec, const Arrangement& a, int rank, int ranks)
        : made_(std::move(whole)),
          program_(made_.program),
          spec_(spec),
          on_gpu_(program_.units.front().target.backend != Backend::cpu),
          launch_(constants_of(program_.operations.at("solve").front())),
          row_bytes_(spec.block * element_bytes(spec.precision)),
          rank_(rank),
          shares_(a, launch_.slice_rows, ranks),
          outgoing_(at(ranks)),
          incoming_(at(ranks)) {
        beside_tiles_ = exchange(a, false, false);
        around_tiles_ = exchange(a, true, false);
        around_slices_ = exchange(a, true, true);
        if (!on_gpu_) return;
        inside_tiles_ = inside(a, shares_.tile_rows(rank));
        inside_slices_ = inside(a, shares_.slice_rows(rank));
        room_place_ = round_up(program_.workspace_bytes, workspace_alignment);
        const auto most = 2 * rows_of(beside_tiles_, rank) + std::max(rows_of(around_tiles_, rank), rows_of(around_slices_, rank));
        room_ = std::max<std::int64_t>(most * launch_.systems * row_bytes_, 1);
        list_place_ = round_up(room_place_ + room_, workspace_alignment);
    }

    Generated make() {
        std::map<std::string, std::vector<Launch>> operations;
        for (const auto* name : {"update", "solve"}) operations[name] = launches_of(name);
        program_.operations = std::move(operations);
        program_.rank = rank_;
        program_.ranks = shares_.ranks();
        if (on_gpu_)
            add_lists();
        else
            add_room();
        return std::move(made_);
    }

  private:
    static trifold_sparse_launch constants_of(const Launch& launch) {
        trifold_sparse_launch constants;
        std::memcpy(&constants, launch.constants.data(), sizeof constants);
        return constants;
    }

    Exchange exchange(const Arrangement& a, bool multiplied, bool by_slices) const {
        const int ranks = shares_.ranks();
        Exchange all(at(ranks), std::vector<std::vector<Range>>(at(ranks)));
        for (int to = 0; to < ranks; ++to) {
            const auto rows = needed(a, shares_.slice_rows(to), by_slices ? shares_.slice_rows(to) : shares_.tile_rows(to), multiplied);
            for (int from = 0; from < ranks; ++from)
                if (from != to) all[at(from)][at(to)] = runs_of(rows, by_slices ? shares_.own_slice_rows(from) : shares_.tile_rows(from));
        }
        return all;
    }

    /// The longest run of the rank's slices that need these rows alone.
    Range inside(const Arrangement& a, Range known) const {
        const auto knows = [&](std::int64_t row) {
            const auto first = a.columns.begin() + a.starts[at(row)], end = a.columns.begin() + a.starts[at(row) + 1];
            return known.has(row) && std::all_of(first, end, [&](std::int32_t column) { return known.has(column); });
        };
        const auto slices = shares_.slices(rank_);
        Range longest{slices.first, slices.first}, run = longest;
        for (auto slice = slices.first; slice < slices.end; ++slice) {
            const auto end = std::min<std::int64_t>((slice + 1) * launch_.slice_rows, a.rows());
            auto row = slice * launch_.slice_rows;
            while (row < end && knows(row)) ++row;
            run = row == end ? Range{run.first, slice + 1} : Range{slice + 1, slice + 1};
            if (run.count() > longest.count()) longest = run;
        }
        return longest;
    }

    std::vector<Launch> launches_of(const std::string& operation) {
        list_.clear();
        const auto& whole = program_.operations.at(operation);
        const auto found = program_.repeats.find(operation);
        const auto repeated = found != program_.repeats.end() ? found->second.front().first : whole.size();
        for (std::size_t k = 0; k < whole.size(); ++k) {
            if (k != repeated) {
                add(whole[k]);
                continue;
            }
            auto& repeat = found->second.front();
            const auto turn = std::span(whole).subspan(repeated, repeat.count);
            add_turns(turn, repeat);
            k += turn.size() - 1;
        }
        return std::move(list_);
    }

    /// On GPUs the host looks at the flag after some turns, and one of a few looks for a true residual: a system that waits for one does
    /// nothing, so the iterations are the same.
    void add_turns(std::span<const Launch> turn, Repeat& repeat) {
        const auto first = list_.size();
        for (int k = 0; k < (on_gpu_ ? turns_together : 1); ++k)
            for (const auto& launch : turn)
                if (k == 0 || step_of(launch) != trifold_sparse_renews) add(launch);
        repeat.first = first;
        repeat.count = list_.size() - first;
        if (on_gpu_) repeat.look = 2;
    }

    void add(const Launch& launch) {
        const auto kernel = static_cast<Kernel>(launch.kernel);
        if (kernel == Kernel::deliver) gather_x();
        add_own(launch);
        add_messages(kernel, step_of(launch));
    }
    static trifold_sparse_step step_of(const Launch& launch) { return static_cast<trifold_sparse_step>(constants_of(launch).step); }

    /// The launch on the rank's own part of the work. What decides runs on all, and so does what leaves the result.
    void add_own(const Launch& launch) {
        switch (static_cast<Kernel>(launch.kernel)) {
            case Kernel::factor:
            case Kernel::precondition:
                return append(on_range(launch, shares_.tiles(rank_)));
            case Kernel::product:
            case Kernel::residual:
                return add_product(launch);
            case Kernel::gather:
                // Conjugate gradients compare A with its transposed matrix, of which other ranks have rows.
                if (spec_.method == SparseMethod::cg) return append(launch);
                [[fallthrough]];
            case Kernel::compare:
            case Kernel::begin:
            case Kernel::update:
                return append(on_range(launch, shares_.slices(rank_)));
            default:
                return append(launch);
        }
    }
    Launch on_range(Launch launch, Range range) const {
        launch.grid.groups = range.count();
        if (!on_gpu_) {
            launch.first_task = range.first;
            return launch;
        }
        auto constants = constants_of(launch);
        constants.first_part = range.first;
        launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
        return launch;
    }
    /// Computes slices that need no other rank's rows while the messages travel.
    void add_product(const Launch& launch) {
        const auto all = shares_.slices(rank_);
        if (!beside_) return append(on_range(launch, all));
        const auto arrived = list_.size() - 1;
        append(on_range(launch, beside_->inside), {beside_->before});
        for (const auto& rest : {Range{all.first, beside_->inside.first}, Range{beside_->inside.end, all.end}})
            if (rest.count() > 0) append(on_range(launch, rest), {arrived, list_.size() - 1});
        beside_.reset();
    }

    void add_messages(Kernel kernel, trifold_sparse_step step) {
        const bool cg = spec_.method == SparseMethod::cg;
        if (kernel == (cg ? Kernel::compare : Kernel::gather)) share_records(false);
        if (kernel == Kernel::factor) share_records(true);
        if (kernel == Kernel::begin || kernel == Kernel::product || kernel == Kernel::residual) share_sums(false, step);
        if (kernel == Kernel::update && step == trifold_sparse_renews) send_rows(around_slices_, {trifold_sparse_x});
        if (kernel == Kernel::update && step == trifold_sparse_second) send_rows(around_slices_, {trifold_sparse_p});
        if (kernel == Kernel::update && step != trifold_sparse_plain) return exchange_beside(inside_slices_);
        if (kernel != Kernel::precondition) return exchange_all(false);
        const auto solved = step == trifold_sparse_first ? trifold_sparse_z : trifold_sparse_y;
        if (step == trifold_sparse_first) send_rows(beside_tiles_, {trifold_sparse_x});
        if (!cg) send_rows(beside_tiles_, {trifold_sparse_r});
        send_rows(cg ? beside_tiles_ : around_tiles_, {solved});
        if (!cg) return exchange_beside(inside_tiles_);
        share_sums(true, step);
        exchange_all(false);
    }

    Range owned(bool tiles, int rank) const { return tiles ? shares_.tiles(rank) : shares_.own_slices(rank); }

    void share_records(bool tiles) {
        constexpr std::int64_t each = sizeof(trifold_sparse_record);
        tell([&](Parcel& parcel, int from, int) {
            const auto range = owned(tiles, from);
            parcel.pieces.push_back({launch_.records + range.first * each, range.count() * each, 0, 1});
        });
    }
    /// Every rank gets all sums, and adds them up by the same tree.
    void share_sums(bool tiles, trifold_sparse_step step) {
        constexpr std::int64_t wide = sizeof(double);
        const auto used = sums_of(spec_.method, step);
        tell([&](Parcel& parcel, int from, int) {
            const auto range = owned(tiles, from);
            for (std::int64_t system = 0; system < launch_.systems; ++system)
                if (on_gpu_)  // sum k of all parts side by side
                    for (std::int64_t k = 0; k < used; ++k)
                        parcel.pieces.push_back({launch_.sums + ((system * trifold_sparse_sums + k) * launch_.parts + range.first) * wide,
                                                 range.count() * wide, 0, 1});
                else
                    for (auto part = range.first; part < range.end; ++part)
                        parcel.pieces.push_back(
                            {launch_.sums + (system * launch_.parts + part) * trifold_sparse_sums * wide, used * wide, 0, 1});
        });
    }
    void send_rows(const Exchange& rows, std::initializer_list<trifold_sparse_vector> vectors) {
        tell([&](Parcel& parcel, int from, int to) {
            for (const auto vector : vectors)
                for (std::int64_t system = 0; system < launch_.systems; ++system)
                    for (const auto& run : rows[at(from)][at(to)]) add_run(parcel, system, vector, run);
        });
    }
    void add_run(Parcel& parcel, std::int64_t system, trifold_sparse_vector vector, Range run) const {
        if (!on_gpu_) return parcel.pieces.push_back(piece_of(system, vector, run));
        for (auto row = run.first; row < run.end; ++row) parcel.rows.push_back(place_of(system, vector, row));
    }
    /// The whole of x, on all ranks.
    void gather_x() {
        tell([&](Parcel& parcel, int from, int) {
            for (std::int64_t system = 0; system < launch_.systems; ++system)
                parcel.pieces.push_back(piece_of(system, trifold_sparse_x, shares_.own_slice_rows(from)));
        });
        exchange_all(false);
    }
    Piece piece_of(std::int64_t system, trifold_sparse_vector vector, Range run) const {
        return {place_of(system, vector, run.first), run.count() * row_bytes_, 0, 1};
    }
    std::int64_t place_of(std::int64_t system, trifold_sparse_vector vector, std::int64_t row) const {
        return launch_.vectors + (system * launch_.vector_count + vector) * launch_.vector_stride + row * row_bytes_;
    }

    /// Puts into the parcels of each pair of ranks that this rank is one of.
    template <class Fill>
    void tell(const Fill& fill) {
        for (int other = 0; other < shares_.ranks(); ++other) {
            if (other == rank_) continue;
            fill(outgoing_[at(other)], rank_, other);
            fill(incoming_[at(other)], other, rank_);
        }
    }
    /// Sends all parcels and receives those of others; if asked on a stream of their own, while other slices are computed.
    void exchange_all(bool beside) {
        if (on_gpu_)
            exchange_on_gpu(beside);
        else
            exchange_on_host();
        for (auto* parcels : {&outgoing_, &incoming_}) parcels->assign(at(shares_.ranks()), {});
    }
    void exchange_beside(Range inside) {
        const auto before = list_.size() - 1;
        const bool beside = on_gpu_ && inside.count() > 0 && inside.count() < shares_.slices(rank_).count();
        exchange_all(beside);
        if (beside && list_.back().beside) beside_ = {before, inside};
    }

    /// Messages with each other rank, where there is something to tell. Where sending waits for the receiver the lower rank sends first,
    /// and all go through the others in ascending order, so that none waits for a rank that waits for it.
    void exchange_on_host() {
        for (int other = 0; other < shares_.ranks(); ++other) {
            if (other == rank_) continue;
            if (rank_ < other) add_message(Work::send, other, outgoing_[at(other)].pieces);
            add_message(Work::receive, other, incoming_[at(other)].pieces);
            if (rank_ > other) add_message(Work::send, other, outgoing_[at(other)].pieces);
        }
    }
    void add_message(Work work, int peer, std::vector<Piece> pieces) {
        std::erase_if(pieces, [](const Piece& piece) { return piece.bytes == 0; });
        if (pieces.empty()) return;
        std::int64_t bytes = 0;
        for (const auto& piece : pieces) bytes += piece.bytes;
        room_ = std::max(room_, bytes);
        append(message(work, peer, std::move(pieces)));
    }
    static Launch message(Work work, int peer, std::vector<Piece> pieces) {
        Launch launch;
        launch.work = work;
        launch.message = {peer, std::move(pieces)};
        launch.what = fmt::format("{} rank {}", work == Work::send ? "to" : "from", peer);
        return launch;
    }

    /// Each piece goes from its place as a message of its own, and rows by way of the room. No message waits for another.
    void exchange_on_gpu(bool beside) {
        const auto leaving = all_rows(outgoing_), arriving = all_rows(incoming_);
        const auto arrivals = room_place_ + static_cast<std::int64_t>(leaving.size()) * row_bytes_;
        if (!leaving.empty()) append(rows_launch(gpu::MessageKernel::pack, leaving, room_place_));
        const auto before = list_.size() - 1;
        add_parcels(Work::send, outgoing_, room_place_, before, beside);
        add_parcels(Work::receive, incoming_, arrivals, before, beside);
        if (arriving.empty()) return;
        auto unpack = rows_launch(gpu::MessageKernel::unpack, arriving, arrivals);
        unpack.beside = beside;
        std::vector<std::size_t> messages(list_.size() - 1 - before);
        std::iota(messages.begin(), messages.end(), before + 1);
        append(std::move(unpack), std::move(messages));
    }
    static std::vector<trifold_int> all_rows(const std::vector<Parcel>& parcels) {
        std::vector<trifold_int> rows;
        for (const auto& parcel : parcels) rows.insert(rows.end(), parcel.rows.begin(), parcel.rows.end());
        return rows;
    }
    void add_parcels(Work work, const std::vector<Parcel>& parcels, std::int64_t place, std::size_t before, bool beside) {
        for (int other = 0; other < shares_.ranks(); ++other) {
            auto pieces = parcels[at(other)].pieces;
            const auto bytes = static_cast<std::int64_t>(parcels[at(other)].rows.size()) * row_bytes_;
            pieces.push_back({place, bytes, 0, 1});
            place += bytes;
            for (const auto& piece : pieces) {
                if (piece.bytes == 0) continue;
                auto launch = message(work, other, {piece});
                launch.beside = beside;
                append(std::move(launch), {before});
            }
        }
    }
    Launch rows_launch(gpu::MessageKernel kernel, const std::vector<trifold_int>& rows, std::int64_t place) {
        auto constants = launch_;
        constants.sent = list_of(rows);
        constants.sent_count = static_cast<trifold_int>(rows.size());
        constants.message = place;
        Launch launch;
        launch.unit = program_.units.size();  // that of messages, which add_lists adds
        launch.kernel = static_cast<std::size_t>(kernel);
        launch.grid.groups = (constants.sent_count * gpu::row_words(spec_) + gpu::message_threads - 1) / gpu::message_threads;
        launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
        launch.what = kernel == gpu::MessageKernel::pack ? "rows for other ranks" : "rows of other ranks";
        return launch;
    }
    /// The place of a list, which launches share.
    trifold_int list_of(const std::vector<trifold_int>& rows) {
        const auto [found, is_new] = places_.try_emplace(rows, list_place_ + static_cast<trifold_int>(lists_.size() * sizeof lists_[0]));
        if (is_new) lists_.insert(lists_.end(), rows.begin(), rows.end());
        return found->second;
    }
    void add_lists() {
        const auto bytes = static_cast<std::int64_t>(lists_.size() * sizeof lists_[0]);
        program_.buffers.push_back({.name = "message", .offset = room_place_, .bytes = room_});
        program_.workspace_bytes = round_up(list_place_ + bytes, workspace_alignment);
        if (lists_.empty()) return;
        program_.buffers.push_back({.name = "message_rows", .offset = list_place_, .bytes = bytes});
        made_.contents.push_back({"message_rows", ListBytes(std::move(lists_))});
        program_.units.push_back(gpu::message_unit(spec_, program_.units.front().target));
    }

    void append(Launch launch) { append(std::move(launch), list_.empty() ? std::vector<std::size_t>{} : std::vector{list_.size() - 1}); }
    void append(Launch launch, std::vector<std::size_t> after) {
        launch.after = std::move(after);
        list_.push_back(std::move(launch));
    }

    /// Adds memory for a message in transit, before the workers' own.
    void add_room() {
        const auto scratch = program_.workers * program_.scratch_bytes,
                   first = round_up(program_.workspace_bytes - scratch, workspace_alignment);
        const auto bytes = round_up(std::max<std::int64_t>(room_, 1), workspace_alignment);
        program_.buffers.push_back({.name = "message", .offset = first, .bytes = bytes});
        program_.workspace_bytes = first + bytes + scratch;
    }

    static constexpr int turns_together = 4;
    /// Slices that are computed while messages travel, and the launch that both follow.
    struct Beside {
        std::size_t before;
        Range inside;
    };
    Generated made_;
    Program& program_;
    const SparseSpec& spec_;
    bool on_gpu_;
    trifold_sparse_launch launch_;
    std::int64_t row_bytes_;
    int rank_;
    Shares shares_;
    Exchange beside_tiles_, around_tiles_, around_slices_;
    Range inside_tiles_{}, inside_slices_{};
    std::vector<Parcel> outgoing_, incoming_;  // by the other rank
    std::optional<Beside> beside_;
    std::int64_t room_ = 0, room_place_ = 0, list_place_ = 0;
    std::vector<trifold_int> lists_;
    std::map<std::vector<trifold_int>, trifold_int> places_;
    std::vector<Launch> list_;
};

}  // namespace

Generated on_rank(Generated whole, const SparseSpec& spec, const Arrangement& arrangement, int rank, int ranks) {
    if (spec.batch != 1)
        throw SpecError(
            fmt::format("ranks share one matrix, and the batch is {}; give each rank other members, without ranks", spec.batch));
    if (spec.method == SparseMethod::gmres) throw SpecError("ranks have the methods bicgstab and cg; take one of them in place of gmres");
    for (const auto operation : spec.operations)
        if (operation != SparseOperation::solve)
            throw SpecError(fmt::format("ranks have no {}; leave solve alone in the SparseSpec's operations", to_string(operation)));
    return OnRank(std::move(whole), spec, arrangement, rank, ranks).make();
}

}  // namespace trifold::sparse
