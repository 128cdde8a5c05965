#include "tools/trifold/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/layout.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

std::string levels_text(const sparse::Arrangement& a) {
    std::vector<std::vector<std::string>> rows{{"pattern of a subdomain", "rows", "entries", "levels of L", "levels of U", "subdomains"}};
    for (std::size_t k = 0; k < a.shapes.size(); ++k) {
        const auto& shape = a.shapes[k];
        rows.push_back({fmt::format("{}", k), fmt::format("{}", shape.rows()), fmt::format("{}", shape.entries()),
                        fmt::format("{}", sparse::levels_of(shape, false).count), fmt::format("{}", sparse::levels_of(shape, true).count),
                        fmt::format("{}", std::ranges::count(a.tile_shapes, static_cast<std::int32_t>(k)))});
    }
    return table(rows);
}

std::string costs_text(const std::vector<sparse::Cost>& costs) {
    std::vector<std::vector<std::string>> rows{{"operation", "bytes", "at the device's rate of memory"}};
    for (const auto& cost : costs) rows.push_back({cost.operation, bytes_text(cost.bytes), fmt::format("{:.3f} ms", cost.seconds * 1e3)});
    return table(rows);
}

Report explain(const SparseSpec& spec, const SparseMatrixOptions& own, const SpecOptions& options) {
    const auto [choice, decided, a, program] = make_mesh(spec, own, options);
    const auto& target = choice.target;
    const auto knobs = sparse::knobs_for(target);
    const auto who = by_whom(choice.rung, choice.row);
    const auto square = spec.block * spec.block;
    auto text = fmt::format("{} rows, {}, target {}\n{}: {} subdomains of at most {} rows\nvariant {}, chosen by {}\n\n{}\n{}\n", a.rows(),
                            to_text(sparse_fields, &spec), to_string(target), a.how, a.tiles(), a.largest_tile(), choice.tuning.variant,
                            who, knobs_text(decided, knobs, choice.rung, choice.row), levels_text(a));
    for (const auto& [operation, launches] : program.operations) text += launches_text(program, operation) + "\n";
    text += list({{"entries of A", fmt::format("{} blocks, {} of them between subdomains", a.entries(), a.entries() - a.kept)},
                  {"A", bytes_text(a.entries() * square * element_bytes(spec.precision))},
                  {"factors", bytes_text(a.filled * square * sparse::factor_bytes(spec))},
                  {"workspace", bytes_text(program.workspace_bytes)}});
    text += "\n" + costs_text(sparse::costs_of(spec, target, a));
    return {Json{{"partition", a.how},
                 {"subdomains", a.tiles()},
                 {"largest_subdomain", a.largest_tile()},
                 {"patterns", a.shapes.size()},
                 {"entries", a.entries()},
                 {"dropped", a.entries() - a.kept},
                 {"factored", a.filled},
                 {"variant", choice.tuning.variant},
                 {"rung", to_string(choice.rung)},
                 {"row", choice.row},
                 {"knobs", knobs_json(decided, knobs, choice.rung, choice.row)},
                 {"program", Json::parse(to_json(program))}},
            text};
}

}  // namespace

std::function<Report()> sparse_explain(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseMatrixOptions>();
    own->add_to(app);
    own->add_points(app);
    own->add_variant(app);
    return [own, &app, &options] { return explain(own->spec(app, options), *own, options); };
}

}  // namespace trifold::command
