// Fuzz target of the file readers: problems, specs and captures. Anything may be refused with an Error; what is accepted must survive being
// written and read again, and must assemble or be refused.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <trifold/error.hpp>

#include "tools/formats/assemble.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/grid.hpp"
#include "tools/tune/points.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool same_bits(const std::vector<double>& left, const std::vector<double>& right) {
    for (std::size_t k = 0; k < left.size() && k < right.size(); ++k) {
        if (std::isnan(left[k]) ? !std::isnan(right[k]) : std::memcmp(&left[k], &right[k], sizeof(double)) != 0) return false;
    }
    return left.size() == right.size();
}

/// Notes are clauses of a line each.
void require_notes(const std::vector<std::string>& notes) {
    for (const auto& note : notes) require(!note.empty() && note.find('\n') == std::string::npos);
}

/// A and b as images, whose values are looked at as every kind of image has them.
void read_image(const GridSystem& system) {
    require_notes(system.notes);
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
        for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed}) {
            GridSpec spec{.width = system.width, .height = system.height};
            spec.matrix = matrix;
            spec.boundary = boundary;
            try {
                check_finite(system, spec);
            } catch (const InputError& refused) {
                require(std::strlen(refused.what()) > 0);
            }
        }
}

void read_npy(std::string_view bytes) {
    require(foreign_kind(bytes).empty() || !bytes.starts_with("\x93NUMPY"));
    const auto array = parse_npy(bytes, "input");
    if (array.shape.size() > 2 && array.shape.back() == 9) {
        auto pixels = array.shape;
        pixels.pop_back();
        read_image(assemble_grid(array, {pixels, array.precision, std::vector<double>(array.values.size() / 9, 1.0)}));
    }
    const auto again = parse_npy(format_npy(array), "again");
    require(again.shape == array.shape && again.precision == array.precision && same_bits(array.values, again.values));
    // One array in all places: the shapes rarely fit, which is the point.
    for (const auto* of_border : {&array, static_cast<const Array*>(nullptr)}) try {
            assemble({array, array, &array, of_border, of_border}, Precision::f64);
        } catch (const InputError&) {
        }
}

void read_matrix_market(std::string_view bytes) {
    const auto matrix = parse_matrix_market(bytes, "input");
    if (const auto* dense = std::get_if<DenseMatrix>(&matrix)) {
        const auto again = std::get<DenseMatrix>(parse_matrix_market(format_matrix_market(*dense), "again"));
        require(again.rows == dense->rows && again.columns == dense->columns && same_bits(dense->values, again.values));
        return;
    }
    const auto& sparse = std::get<SparseMatrix>(matrix);
    const auto again = std::get<SparseMatrix>(parse_matrix_market(format_matrix_market(sparse), "again"));
    require(again.rows == sparse.rows && again.symmetric == sparse.symmetric && again.entries == sparse.entries);
    constexpr std::int64_t small = 4096;  // larger ones are sound too, but slow under a fuzzer
    if (sparse.rows > small) return;
    const DenseMatrix b{sparse.rows, 1, std::vector<double>(static_cast<std::size_t>(sparse.rows), 1.0)};
    if (sparse.rows % 3 == 0 && sparse.rows > 6 && sparse.rows == sparse.columns) {
        try {
            read_image(assemble(sparse, b, 3, sparse.rows / 3));
        } catch (const InputError&) {
        }
    }
    const auto system = assemble(sparse, b, {}, Precision::f64);
    require_notes(system.notes);
    require(system.block * system.horizon >= sparse.rows && system.rows == sparse.rows);
    if (sparse.symmetric) {
        for (const auto& entry : to_sparse(system).entries)
            require(system.ring || entry.row >= system.rows - system.border || entry.row / system.block - entry.column / system.block <= 1);
    }
}

/// Lines of specs and captures. What is taken can be tuned, and is a line again.
void read_points(std::string_view bytes) {
    tune::PointFiles files;
    files.read(bytes, "input");
    std::string lines;
    const auto points = files.points();
    for (const auto& point : points) {
        require(tune::family_of(point.spec).parse(point.spec) == point.spec);
        double weights = 0;
        for (const auto& [operation, weight] : point.objective) weights += weight;
        require(weights > 0 && point.seconds >= 0 && point.workers >= 1);
        auto line = point.spec;
        line["objective"] = tune::to_string(point.objective);
        line["workers"] = point.workers;
        lines += line.dump() + "\n";
    }
    tune::PointFiles again;
    again.read(lines, "again");
    require(again.points().size() <= points.size() && again.points().empty() == points.empty());
}

template <class Reader>
void attempt(Reader&& reader, std::string_view bytes) {
    try {
        reader(bytes);
    } catch (const Error& refused) {
        require(std::strlen(refused.what()) > 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    attempt(read_npy, bytes);
    attempt(read_matrix_market, bytes);
    attempt(read_points, bytes);
    return 0;
}
