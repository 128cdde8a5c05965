#include "generator/sparse/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <trifold/error.hpp>

namespace trifold::sparse {
namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

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
                fmt::format("{} subdomains are too few for {} ranks; give smaller subdomains, or fewer ranks", a.tiles(), ranks));
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
    /// Those that count as the rank's.
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

class OnRank {
  public:
    OnRank(Program whole, const SparseSpec& spec, const Arrangement& a, int rank, int ranks)
        : program_(std::move(whole)),
          spec_(spec),
          launch_(constants_of(program_.operations.at("solve").front())),
          rank_(rank),
          shares_(a, launch_.slice_rows, ranks) {
        beside_tiles_ = exchange(a, false, false);
        around_tiles_ = exchange(a, true, false);
        around_slices_ = exchange(a, true, true);
    }

    Program make() {
        std::map<std::string, std::vector<Launch>> operations;
        for (const auto* name : {"update", "solve"}) operations[name] = launches_of(name);
        program_.operations = std::move(operations);
        program_.rank = rank_;
        program_.ranks = shares_.ranks();
        add_room();
        return std::move(program_);
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

    std::vector<Launch> launches_of(const std::string& operation) {
        list_.clear();
        const auto& whole = program_.operations.at(operation);
        auto* repeat = program_.repeats.contains(operation) ? &program_.repeats.at(operation).front() : nullptr;
        Repeat moved;
        if (repeat != nullptr) moved = *repeat;
        for (std::size_t k = 0; k < whole.size(); ++k) {
            if (repeat != nullptr && k == repeat->first) moved.first = list_.size();
            if (static_cast<Kernel>(whole[k].kernel) == Kernel::deliver) gather_x();
            add_own(whole[k]);
            add_messages(static_cast<Kernel>(whole[k].kernel), static_cast<trifold_sparse_step>(constants_of(whole[k]).step));
            if (repeat != nullptr && k + 1 == repeat->first + repeat->count) moved.count = list_.size() - moved.first;
        }
        if (repeat != nullptr) *repeat = moved;
        return std::move(list_);
    }

    /// The launch on the rank's own part of the work. What decides runs on all, and so does what leaves the result.
    void add_own(Launch launch) {
        const auto only = [&](Range range) {
            launch.first_task = range.first;
            launch.grid.groups = range.count();
        };
        switch (static_cast<Kernel>(launch.kernel)) {
            case Kernel::factor:
            case Kernel::precondition:
                only(shares_.tiles(rank_));
                break;
            case Kernel::gather:
                // Conjugate gradients compare A with its transposed matrix, of which other ranks have rows.
                if (spec_.method == SparseMethod::bicgstab) only(shares_.slices(rank_));
                break;
            case Kernel::compare:
            case Kernel::begin:
            case Kernel::update:
            case Kernel::product:
                only(shares_.slices(rank_));
                break;
            default:
                break;
        }
        append(std::move(launch));
    }

    void add_messages(Kernel kernel, trifold_sparse_step step) {
        const bool cg = spec_.method == SparseMethod::cg;
        if (kernel == (cg ? Kernel::compare : Kernel::gather)) share_records(false);
        if (kernel == Kernel::factor) share_records(true);
        if (kernel == Kernel::begin || kernel == Kernel::product) share_sums(false);
        if (kernel == Kernel::update && step == trifold_sparse_renews) send_rows(around_slices_, {trifold_sparse_x});
        if (kernel == Kernel::update && step == trifold_sparse_second) send_rows(around_slices_, {trifold_sparse_p});
        if (kernel != Kernel::precondition) return;
        const auto solved = step == trifold_sparse_first ? trifold_sparse_z : trifold_sparse_y;
        if (step == trifold_sparse_first) send_rows(beside_tiles_, {trifold_sparse_x});
        if (!cg) send_rows(beside_tiles_, {trifold_sparse_r});
        send_rows(cg ? beside_tiles_ : around_tiles_, {solved});
        if (cg) share_sums(true);
    }

    Range owned(bool tiles, int rank) const { return tiles ? shares_.tiles(rank) : shares_.own_slices(rank); }

    void share_records(bool tiles) {
        constexpr std::int64_t each = sizeof(trifold_sparse_record);
        const auto records = [&](int from, int) {
            const auto range = owned(tiles, from);
            return std::vector{Piece{launch_.records + range.first * each, range.count() * each, 0, 1}};
        };
        add_exchange("records of the parts", records);
    }
    /// Every rank gets all sums, and adds them up by the same tree.
    void share_sums(bool tiles) {
        constexpr std::int64_t each = trifold_sparse_sums * sizeof(double), used = 5 * sizeof(double);
        const auto sums = [&](int from, int) {
            std::vector<Piece> pieces;
            const auto range = owned(tiles, from);
            for (std::int64_t system = 0; system < launch_.systems; ++system)
                for (auto part = range.first; part < range.end; ++part)
                    pieces.push_back({launch_.sums + (system * launch_.parts + part) * each, used, 0, 1});
            return pieces;
        };
        add_exchange("sums of the parts", sums);
    }
    void send_rows(const Exchange& rows, std::initializer_list<trifold_sparse_vector> vectors) {
        const auto pieces_of = [&](int from, int to) {
            std::vector<Piece> pieces;
            for (const auto vector : vectors) add_rows(pieces, vector, rows[at(from)][at(to)]);
            return pieces;
        };
        add_exchange("rows of vectors", pieces_of);
    }
    /// The whole of x, on all ranks.
    void gather_x() {
        const auto pieces_of = [&](int from, int) {
            std::vector<Piece> pieces;
            add_rows(pieces, trifold_sparse_x, {shares_.own_slice_rows(from)});
            return pieces;
        };
        add_exchange("the solution", pieces_of);
    }
    void add_rows(std::vector<Piece>& pieces, trifold_sparse_vector vector, const std::vector<Range>& runs) const {
        const auto row = spec_.block * element_bytes(spec_.precision);
        for (std::int64_t system = 0; system < launch_.systems; ++system)
            for (const auto& run : runs)
                pieces.push_back({launch_.vectors + (system * launch_.vector_count + vector) * launch_.vector_stride + run.first * row,
                                  run.count() * row, 0, 1});
    }

    /// Messages with each other rank, where there is something to tell. Where sending waits for the receiver the lower rank sends first,
    /// and all go through the others in ascending order, so that none waits for a rank that waits for it.
    template <class PiecesOf>
    void add_exchange(const char* what, const PiecesOf& pieces_of) {
        for (int other = 0; other < shares_.ranks(); ++other) {
            if (other == rank_) continue;
            if (rank_ < other) add_message(Work::send, other, pieces_of(rank_, other), what);
            add_message(Work::receive, other, pieces_of(other, rank_), what);
            if (rank_ > other) add_message(Work::send, other, pieces_of(rank_, other), what);
        }
    }
    void add_message(Work work, int peer, std::vector<Piece> pieces, const char* what) {
        std::erase_if(pieces, [](const Piece& piece) { return piece.bytes == 0; });
        if (pieces.empty()) return;
        std::int64_t bytes = 0;
        for (const auto& piece : pieces) bytes += piece.bytes;
        room_ = std::max(room_, bytes);
        Launch launch;
        launch.work = work;
        launch.message = {peer, std::move(pieces)};
        launch.what = fmt::format("{} {} rank {}", what, work == Work::send ? "to" : "from", peer);
        append(std::move(launch));
    }
    void append(Launch launch) {
        launch.after = list_.empty() ? std::vector<std::size_t>{} : std::vector{list_.size() - 1};
        list_.push_back(std::move(launch));
    }

    /// Memory for a message on its way, before the workers' own.
    void add_room() {
        const auto scratch = program_.workers * program_.scratch_bytes,
                   first = round_up(program_.workspace_bytes - scratch, workspace_alignment);
        const auto bytes = round_up(std::max<std::int64_t>(room_, 1), workspace_alignment);
        program_.buffers.push_back({.name = "message", .offset = first, .bytes = bytes});
        program_.workspace_bytes = first + bytes + scratch;
    }

    Program program_;
    const SparseSpec& spec_;
    trifold_sparse_launch launch_;
    int rank_;
    Shares shares_;
    Exchange beside_tiles_, around_tiles_, around_slices_;
    std::int64_t room_ = 0;
    std::vector<Launch> list_;
};

}  // namespace

Program on_rank(Program whole, const SparseSpec& spec, const Arrangement& arrangement, int rank, int ranks) {
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
