#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "generator/sparse/generate.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/sparse/verbs.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

std::string levels_text(const sparse::Arrangement& a) {
    std::vector<std::vector<std::string>> rows{{"pattern of a subdomain", "rows", "entries", "levels of L", "levels of U", "subdomains"}};
    for (std::size_t k = 0; k < a.shapes.size(); ++k) {
        const auto& shape = a.shapes[k];
        rows.push_back({fmt::format("{}", k), fmt::format("{}", shape.rows()), fmt::format("{}", shape.entries()),
                        fmt::format("{}", sparse::lower_levels(shape).count), fmt::format("{}", sparse::upper_levels(shape).count),
                        fmt::format("{}", std::ranges::count(a.tile_shapes, static_cast<std::int32_t>(k)))});
    }
    return table(rows);
}

std::string launches_text(const Program& program, const std::string& operation) {
    std::vector<std::vector<std::string>> rows{{fmt::format("launches of {}", operation), "tasks"}};
    for (const auto& launch : program.operations.at(operation))
        rows.push_back({fmt::format("{}: {}", kernel_of(program, launch).name, launch.what), fmt::format("{}", launch.grid.groups)});
    return table(rows);
}

sparse::Parts parts_of(const SparseMesh& mesh, const SparsePattern& pattern, const SparsePartition& partition, std::int64_t rows) {
    if (partition.by == SparsePartitioning::whole) return sparse::whole(pattern);
    if (partition.by == SparsePartitioning::greedy) return sparse::greedy_parts(pattern, rows);
    if (partition.by == SparsePartitioning::given) return sparse::given_parts(pattern, partition.parts);
    if (partition.by == SparsePartitioning::metis) throw SpecError("explain takes no METIS; give boxes, greedy, whole or a file");
    return sparse::parts_of_boxes(mesh, partition.by == SparsePartitioning::box ? partition.box : sparse::box_of(mesh, rows));
}

Report explain(const SparseSpec& spec, const SparseMatrixOptions& own, const SpecOptions& options) {
    const auto mesh = own.cells();
    if (!mesh) throw SpecError("explain needs the cells of a sparse system; give --mesh, such as 128x128x128");
    const auto target = options.target();
    const SparsePattern pattern(*mesh);
    const auto partition = own.parts(true);
    const auto rows = partition.rows > 0 ? partition.rows : sparse::usual_rows(spec, target);
    const auto a = sparse::arrange(pattern, parts_of(*mesh, pattern, partition, rows), spec.preconditioner);
    const auto made = sparse::generate(spec, target, {.workers = options.workers}, pattern, a);
    const auto& program = made.program;
    const auto square = spec.block * spec.block;
    auto text = fmt::format("{} rows of {}, {}, {}, {}, target {}\n{}: {} subdomains of at most {} rows\n\n{}\n", a.rows(), spec.block,
                            to_string(spec.precision), to_string(spec.preconditioner), to_string(spec.method), to_string(target), a.how,
                            a.tiles(), a.largest_tile(), levels_text(a));
    for (const auto& [operation, launches] : program.operations) text += launches_text(program, operation) + "\n";
    text += list({{"entries of A", fmt::format("{} blocks, {} of them between subdomains", a.entries(), a.entries() - a.kept)},
                  {"A", bytes_text(a.entries() * square * element_bytes(spec.precision))},
                  {"factors", bytes_text(a.filled * square * sparse::factor_bytes(spec))},
                  {"workspace", bytes_text(program.workspace_bytes)}});
    return {Json{{"partition", a.how},
                 {"subdomains", a.tiles()},
                 {"largest_subdomain", a.largest_tile()},
                 {"patterns", a.shapes.size()},
                 {"entries", a.entries()},
                 {"dropped", a.entries() - a.kept},
                 {"factored", a.filled},
                 {"program", Json::parse(to_json(program))}},
            text};
}

}  // namespace

std::function<Report()> sparse_explain(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseMatrixOptions>();
    own->add_to(app);
    app.add_option("--points", own->points,
                   "With --iterative: neighbours of a cell and itself: 7, 19 or 27, or 5 or 9 where all lie in a plane")
        ->capture_default_str();
    return [own, &app, &options] {
        auto spec = own->spec();
        spec.block = block_of(app);
        spec.precision = options.precision();
        spec.rhs = options.rhs;
        spec.batch = options.batch;
        return explain(spec, *own, options);
    };
}

}  // namespace trifold::command
