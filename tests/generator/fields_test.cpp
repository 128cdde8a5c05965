// Tables of fields: JSON comes back as it was, and what is no value of a field is named with the field.
#include "generator/program/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>

#include "generator/grid/fields.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using nlohmann::json;

namespace {

std::string message_of(const auto& action) {
    try {
        action();
    } catch (const SpecError& error) {
        return error.what();
    }
    return "";
}

/// Every field of a table, by an object that is in range.
template <class Object>
void check_table(const Fields& fields, const Object& sound) {
    const auto whole = to_json(fields, &sound);
    Object again;
    read_json(fields, &again, whole);
    CHECK(again == sound);
    check_ranges(fields, &sound);
    const auto refused = [&](const Field& field, const json& value) {
        auto object = sound;
        return message_of([&] {
            read_json(fields, &object, {{std::string(field.name), value}});
            check_ranges(fields, &object);
        });
    };
    for (const auto& field : fields.all) {
        CAPTURE(field.name);
        CHECK(!field.about.empty());
        CHECK(says(refused(field, nullptr), field.name));
        CHECK(refused(field, json::object({{"other", 1}})).size() > 0);
        if (!field.words.empty()) {
            const json wrong = whole.at(std::string(field.name)).is_array() ? json({"sideways"}) : json("sideways");
            const auto message = refused(field, wrong);
            CHECK(says(message, "sideways"));
            for (const auto word : field.words) CHECK(says(message, word));
        } else if (whole.at(std::string(field.name)).is_number()) {
            CHECK(says(refused(field, 1.5), "no whole number"));
            CHECK(says(refused(field, "2"), "no whole number"));
            if (field.least > std::numeric_limits<std::int64_t>::min()) {
                CHECK(refused(field, field.least - 1).starts_with(std::string(field.name) + " = "));
                CHECK(refused(field, field.least).empty());
            }
            if (field.most < std::numeric_limits<std::int64_t>::max()) {
                CHECK(says(refused(field, field.most + 1), "give "));
                CHECK(refused(field, field.most).empty());
            }
        }
    }
    CHECK(message_of([&] { read_json(fields, &again, {{"colour", 1}}); }) == std::string(fields.thing) + " has no 'colour'");
    CHECK(says(message_of([&] { read_json(fields, &again, json(3)); }), fields.example));
}

}  // namespace

TEST_CASE("fields: the tables of all families, with values that no field has") {
    check_table(spec_fields, Spec{.block = 7,
                                  .horizon = 33,
                                  .precision = Precision::f32,
                                  .rhs = 3,
                                  .batch = 2,
                                  .order = Order::column_major,
                                  .coupling = Coupling::upper,
                                  .rhs_layout = RhsLayout::stacked,
                                  .d = {8, 64, 0},
                                  .operations = {Operation::factor, Operation::inverse}});
    check_table(layout_fields, BlockLayout{16, 0, 4096});
    check_table(grid_fields, GridSpec{.width = 9,
                                      .height = 1025,
                                      .precision = Precision::f32,
                                      .matrix = GridMatrix::symmetric,
                                      .pivoting = GridPivoting::none,
                                      .boundary = GridBoundary::fixed,
                                      .operations = {GridOperation::factor, GridOperation::gradient}});
    check_table(sparse_fields, SparseSpec{.block = 8,
                                          .precision = Precision::mixed,
                                          .preconditioner = SparsePreconditioner::ildu2,
                                          .method = SparseMethod::gmres,
                                          .restart = 32,
                                          .operations = {SparseOperation::gradient}});
}

TEST_CASE("fields: choices come back by their words, and texts say numbers and words") {
    GridSpec spec{.width = 9, .height = 5, .pivoting = GridPivoting::none, .boundary = GridBoundary::fixed};
    CHECK(to_text(grid_fields, &spec) == "width 9, height 5, precision f64, matrix general, pivoting none, boundary fixed, rhs 1, batch 1");
    GridSpec again{.width = 9, .height = 5};
    std::string options;
    for (const auto& [field, word] : unusual_choices(grid_fields, &spec)) {
        options += option_of(*field) + " " + word + " ";
        CHECK(choose_by_word(grid_fields, &again, word));
    }
    CHECK(options == "--pivoting none --boundary fixed ");
    CHECK(again == spec);
    CHECK(!choose_by_word(grid_fields, &again, "f32"));
    CHECK(!choose_by_word(grid_fields, &again, "sideways"));
    CHECK(again == spec);
    CHECK(option_of(spec_fields["rhs_layout"]) == "--rhs-layout");
}

TEST_CASE("fields: the page on interfaces has the operations and choices of all families") {
    std::ifstream file(TEST_ROOT "/docs/users/interfaces.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    const auto row = [](const std::string& head, const std::array<std::vector<std::string_view>, 3>& cells) {
        auto text = "| " + head;
        for (const auto& words : cells) text += fmt::format(" | `{}`", fmt::join(words, "`, `"));
        return text + " |\n";
    };
    const auto names = []<class Value>(Value) { return std::vector(names_of<Value>.begin(), names_of<Value>.end()); };
    auto of_sparse = names(SparseOperation());
    of_sparse.insert(of_sparse.begin(), "update");
    CHECK(says(page, row("operations", {names(Operation()), names(GridOperation()), of_sparse})));
    const auto choices = [](const Fields& fields) {
        std::vector<std::string_view> result;
        for (const auto* field : fields.choices()) result.push_back(field->name);
        return result;
    };
    CHECK(says(page, row("choices", {choices(spec_fields), choices(grid_fields), choices(sparse_fields)})));
}

TEST_CASE("fields: a sparse system of an old capture") {
    const auto problem = sparse::parse_sparse_json({{"family", "sparse"}, {"mesh", "9x7"}, {"points", 5}, {"most_iterations", 77}});
    CHECK(problem.spec.maxiter == 77);
    CHECK(problem.sizes.rows == 63);
}

TEST_CASE("fields: sizes are whole numbers with an x between them") {
    CHECK(parse_size("129x65", 2, 2) == std::vector<std::int64_t>{129, 65});
    CHECK(parse_size("1x2x3", 2, 3) == std::vector<std::int64_t>{1, 2, 3});
    CHECK(parse_size("7", 1, 3) == std::vector<std::int64_t>{7});
    for (const auto* text : {"", "x", "7", "7x", "x7", "7x7x", "7x7x7", "7 x7", "7x7.5", "7xa", "7x99999999999999999999"})
        CHECK(parse_size(text, 2, 2).empty());
}
