#include <algorithm>
#include <memory>

#include "tools/bench/peers/library.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

/// Columns of the lower band, 2 n entries each: A(i, j) at row i - j of column j.
template <class Real>
std::vector<Real> band_of(const formats::System& system) {
    const auto n = system.block, horizon = system.horizon, height = 2 * n;
    std::vector<Real> band(static_cast<std::size_t>(system.batch * horizon * n * height));
    for (std::int64_t k = 0; k < system.batch * horizon; ++k) {
        auto* columns = band.data() + k * n * height;
        const auto* d = system.d.data() + k * n * n;
        const auto* e = system.e.data() + (k - k / horizon) * n * n;
        for (std::int64_t c = 0; c < n; ++c) {
            for (auto r = c; r < n; ++r) columns[c * height + r - c] = static_cast<Real>(d[r * n + c]);
            if (k % horizon + 1 == horizon) continue;
            for (std::int64_t r = 0; r < n; ++r) columns[c * height + n + r - c] = static_cast<Real>(e[r * n + c]);
        }
    }
    return band;
}

template <class Real>
class Banded : public Contender {
  public:
    Banded(const Library& library, const formats::System& system)
        : library_(library),
          rows_(static_cast<int>(system.horizon * system.block)),
          height_(static_cast<int>(2 * system.block)),
          members_(system.batch),
          band_(band_of<Real>(system)),
          factor_(band_.size()),
          b_(system.b.begin(), system.b.end()),
          x_(b_.size()) {}

    std::vector<Step> steps() override {
        return {
            {.operation = "factor", .call = [this] { factor(); }, .prepare = [this] { std::ranges::copy(band_, factor_.begin()); }},
            {.operation = "solve", .call = [this] { solve(); }, .prepare = [this] { std::ranges::copy(b_, x_.begin()); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return {x_.begin(), x_.end()}; }

  private:
    static constexpr bool single = sizeof(Real) == sizeof(float);

    void factor() {
        const char half = 'L';
        const int width = height_ - 1;
        const auto pbtrf =
            library_.find<void(const char*, const int*, const int*, Real*, const int*, int*)>(single ? "spbtrf_" : "dpbtrf_");
        for (std::int64_t member = 0; member < members_; ++member) {
            int info = 0;
            pbtrf(&half, &rows_, &width, factor_.data() + member * rows_ * height_, &height_, &info);
            if (info != 0) throw Error("pbtrf met a pivot that is not positive");
        }
    }

    void solve() {
        const char half = 'L';
        const int width = height_ - 1, one = 1;
        const auto pbtrs =
            library_.find<void(const char*, const int*, const int*, const int*, const Real*, const int*, Real*, const int*, int*)>(
                single ? "spbtrs_" : "dpbtrs_");
        for (std::int64_t member = 0; member < members_; ++member) {
            int info = 0;
            pbtrs(&half, &rows_, &width, &one, factor_.data() + member * rows_ * height_, &height_, x_.data() + member * rows_, &rows_,
                  &info);
        }
    }

    Library library_;
    int rows_, height_;
    std::int64_t members_;
    std::vector<Real> band_, factor_, b_, x_;
};

/// A few seconds and gigabytes are as much as a comparison is worth.
bool fits(const Spec& spec) {
    const auto rows = static_cast<double>(spec.horizon) * static_cast<double>(spec.block) * static_cast<double>(spec.batch);
    const auto width = 2 * static_cast<double>(spec.block);
    return spec.rhs == 1 && rows * width * width < 1e11 && rows * width < 4e8;
}

}  // namespace

Peer lapack(int workers) {
    Peer peer{.name = "lapack", .fits = fits};
    try {
        const Library library({"libopenblas.so.0", "liblapack.so.3"});
        try {
            library.find<void(int)>("openblas_set_num_threads")(workers);
        } catch (const Error&) {  // another LAPACK
        }
        peer.make = [library](const formats::System& system, Precision precision, const DeviceTools&) -> std::unique_ptr<Contender> {
            if (precision == Precision::f32) return std::make_unique<Banded<float>>(library, system);
            return std::make_unique<Banded<double>>(library, system);
        };
    } catch (const Error& error) {
        peer.problem = error.what();
    }
    return peer;
}

}  // namespace trifold::bench
