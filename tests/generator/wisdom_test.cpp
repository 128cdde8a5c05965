#include "generator/tridiagonal/wisdom.hpp"

#include "generator/grid/wisdom.hpp"
#include "generator/program/sha256.hpp"
#include "generator/program/templates.hpp"
#include "generator/sparse/wisdom.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

const Target h200{Backend::cuda, "sm_90"};

/// A row with its problem as a Spec, so that a case can change a part of it.
struct SpecRow {
    std::string device;
    Target target = h200;
    Spec spec;
    int workers = 1;
    std::string objective = "factor_solve", schedule, variant;
    double seconds = 1e-4, default_seconds = 2e-4;
    std::string measured = "by hand";
    operator WisdomRow() const {
        return {device, key_of(spec, target, workers), objective, {schedule, variant}, seconds, default_seconds, measured};
    }
};

SpecRow row_of(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& device = "NVIDIA H200") {
    return {.device = device, .spec = spec, .schedule = schedule, .variant = variant};
}

void check_problem(const WisdomRow& row) { spec_of(row.key); }

/// 2000 rows, as a sweep gives them.
std::vector<SpecRow> many_rows() {
    std::vector<SpecRow> rows;
    for (const std::int64_t block : {4, 6, 8, 12, 17, 20, 24, 32, 40, 48})
        for (std::int64_t horizon = 8; horizon <= 4096; horizon *= 2)
            for (std::int64_t batch = 1; batch <= 512; batch *= 2)
                for (const auto precision : {Precision::f32, Precision::f64})
                    rows.push_back(row_of({.block = block, .horizon = horizon, .precision = precision, .batch = batch}, "multi-stage",
                                          "dataflow:rides=0"));
    return rows;
}

/// A file whose first line fits, whatever the rest is.
std::string with_first_line(const std::string& rest) {
    const auto lines = std::ranges::count(rest, '\n');
    return fmt::format("trifold wisdom 1, {} rows, sha256 {}\n{}", lines - 1, sha256(rest), rest);
}
std::string rest_of(const std::string& text) { return text.substr(text.find('\n') + 1); }
std::string replaced(std::string text, const std::string& what, const std::string& by) {
    REQUIRE(says(text, what));
    return text.replace(text.find(what), what.size(), by);
}

std::string written(const std::vector<SpecRow>& rows) { return write_wisdom({rows.begin(), rows.end()}); }

std::string message_of(const std::string& text) try {
    read_wisdom(text, check_problem);
    return "no error";
} catch (const SpecError& error) {
    return error.what();
}

Resolved resolved_with(const std::vector<SpecRow>& rows, const Spec& spec, const std::string& device = "NVIDIA H200",
                       const Tuning& tuning = {}) {
    const auto text = written(rows);
    const Wisdom file("a file", text);
    const Wisdom* const files[] = {&file};
    return resolve(spec, h200, tuning, device, files);
}

const Spec spec{.block = 12, .horizon = 50, .batch = 256};

}  // namespace

TEST_CASE("wisdom is read as it was written") {
    auto laid_out = row_of({.block = 12, .horizon = 20, .rhs = 3}, "multi-stage", "dataflow:rides=0");
    laid_out.spec.order = Order::column_major;
    laid_out.spec.coupling = Coupling::upper;
    laid_out.spec.rhs_layout = RhsLayout::stacked;
    laid_out.spec.d = {.leading = 16};
    laid_out.spec.e = {.stage = 0, .member = 0};
    laid_out.spec.ring = true;
    auto processor = row_of({.block = 3, .horizon = 1000, .precision = Precision::mixed}, "sequential", "tile", "AMD family 25 model 1");
    processor.target = {Backend::cpu, "x86-64-v3"};
    processor.workers = 8;
    auto factors = row_of({.block = 7, .horizon = 5, .operations = {Operation::factor, Operation::inverse}}, "multi-stage", "tiled");
    factors.spec.lengths = true;
    const auto text = written({laid_out, processor, factors});
    CHECK(text == written({factors, laid_out, processor}));
    const auto rows = read_wisdom(text, check_problem);
    REQUIRE(rows.size() == 3);
    CHECK(write_wisdom(rows) == text);
    CHECK(rows[0].device == processor.device);
    CHECK(rows[0].key.workers == 8);
    CHECK(rows[0].key.precision == Precision::mixed);
    CHECK(spec_of(rows[1].key) == factors.spec);
    CHECK(spec_of(rows[2].key) == laid_out.spec);
    CHECK(rows[2].seconds == 1e-4);
    CHECK(rows[2].pins.variant == "dataflow:rides=0");
}

TEST_CASE("the first line of wisdom says what the rest must be") {
    const auto text = write_wisdom({row_of(spec, "multi-stage", "dataflow")});
    CHECK(text.starts_with("trifold wisdom 1, 1 rows, sha256 " + sha256(rest_of(text)) + "\n"));
}

TEST_CASE("a new row of wisdom is a new line, and no other of them changes") {
    auto rows = many_rows();
    rows.resize(20);
    const auto before = rest_of(written(rows));
    rows.push_back(row_of(spec, "multi-stage", "dataflow"));
    auto after = rest_of(written(rows));
    const auto line = after.find("\t50\t1\t256\t");
    const auto begin = after.rfind('\n', line) + 1;
    after.erase(begin, after.find('\n', line) + 1 - begin);
    CHECK(after == before);
}

TEST_CASE("the key of wisdom is target, device and problem") {
    const auto plain = row_of(spec, "multi-stage", "dataflow");
    const auto key = [](const SpecRow& row) { return key_of(row); };
    auto same = plain;
    same.workers = 7;  // of a GPU they mean nothing
    same.schedule = "sequential";
    same.spec.operations = {Operation::factor, Operation::backward, Operation::forward};
    same.spec.d = {.leading = 12, .stage = 144, .member = 50 * 144};
    CHECK(key(same) == key(plain));
    for (const auto& change :
         {+[](SpecRow& row) { row.device = "NVIDIA H100"; }, +[](SpecRow& row) { row.target.arch = "sm_100"; },
          +[](SpecRow& row) { row.spec.operations = {Operation::factor, Operation::forward}; },
          +[](SpecRow& row) { row.spec.operations.insert(Operation::inverse); }, +[](SpecRow& row) { row.spec.rhs = 2; },
          +[](SpecRow& row) { row.spec.d.stage = 0; }, +[](SpecRow& row) { row.spec.precision = Precision::f32; }}) {
        auto other = plain;
        change(other);
        CHECK(key(other) != key(plain));
    }
    auto one = row_of({.block = 3, .horizon = 9}, "sequential", "tile"), two = one;
    one.target = two.target = {Backend::cpu, "x86-64-v3"};
    two.workers = 2;
    CHECK(key(one) != key(two));
}

TEST_CASE("what cannot be wisdom is not written") {
    const auto refuses = [](auto change) {
        auto row = row_of(spec, "multi-stage", "dataflow");
        change(row);
        CHECK_THROWS_AS(write_wisdom({row}), SpecError);
    };
    refuses([](SpecRow& row) { row.device = "tab\there"; });
    refuses([](SpecRow& row) { row.measured = "two\nlines"; });
    refuses([](SpecRow& row) { row.device = ""; });
    refuses([](SpecRow& row) { row.schedule = "auto"; });
    refuses([](SpecRow& row) { row.seconds = 0; });
    refuses([](SpecRow& row) { row.default_seconds = std::numeric_limits<double>::quiet_NaN(); });
    refuses([](SpecRow& row) { row.spec.block = 0; });
    refuses([](SpecRow& row) { row.target.arch = "sm_1"; });
    const auto row = row_of(spec, "multi-stage", "dataflow");
    CHECK_REFUSED("two rows are of", write_wisdom({row, row}));
}

TEST_CASE("a bad wisdom file is refused with the line and the reason") {
    const auto text = write_wisdom({row_of(spec, "multi-stage", "dataflow")});
    const auto rest = rest_of(text);
    CHECK(message_of(text) == "no error");
    CHECK(message_of("").find("line 1: this is no wisdom") == 0);
    CHECK(message_of("trifold wisdom 1").find("line 1:") == 0);
    CHECK(says(message_of(replaced(text, "wisdom 1", "wisdom 2")), "is of format 2, and this library reads format 1"));
    CHECK(message_of(replaced(text, "1 rows", "2 rows")).find("line 1: its number of rows or its checksum") == 0);
    CHECK(message_of(replaced(text, "H200", "H100")).find("line 1: its number of rows or its checksum") == 0);
    CHECK(says(message_of(text.substr(0, text.size() - 1)), "cut off"));
    CHECK(message_of(text.substr(0, text.find('\n') + 1)).find("line 2") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "device", "gadget"))).find("line 2") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "\tNVIDIA", "NVIDIA"))) == "line 3: it has not 16 columns");
    CHECK(message_of(with_first_line(replaced(rest, "sm_90", "sm_1"))).find("line 3:") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "\t256\t", "\t2x6\t"))) == "line 3: batch is '2x6', which is no whole number");
    CHECK(message_of(with_first_line(replaced(rest, "\t256\t", "\t0256\t"))).find("line 3: its first columns") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "0.0001", "nan"))).find("line 3: nan is no time") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "plain", "upper,what"))).find("line 3: layout 'upper,what' has 'what'") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "plain", "d=1/2"))).find("line 3: a layout has not three strides") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "\tsolve\t", "\tsleep\t"))).find("line 3: operations are 'sleep'") == 0);
    CHECK(message_of(with_first_line(replaced(rest, "by hand", std::string("by\0hand", 7)))).find("line 3: measured holds") == 0);
    const auto row = rest.substr(rest.find('\n') + 1);
    CHECK(message_of(with_first_line(rest + row)).find("line 4: it is not in order") == 0);
}

TEST_CASE("no change of a wisdom file ends in anything but an error or other rows") {
    auto rows = many_rows();
    rows.resize(5);
    rows[2].spec.d = {.leading = 64};
    const auto text = written(rows);
    std::mt19937_64 random(7);
    std::size_t accepted = 0;
    for (int k = 0; k < 3000; ++k) {
        auto changed = k % 2 == 0 ? text : rest_of(text);
        const auto at = random() % changed.size();
        switch (random() % 4) {
            case 0:
                changed[at] = static_cast<char>(random());
                break;
            case 1:
                changed.erase(at, random() % 40);
                break;
            case 2:
                changed.insert(at, 1, "\t\n\0/=,-9"[random() % 8]);
                break;
            default:
                changed = changed.substr(0, at) + changed.substr(random() % changed.size());
        }
        if (k % 2 == 1) changed = with_first_line(changed);
        try {
            const auto again = read_wisdom(changed, check_problem);
            CHECK(write_wisdom(again) == write_wisdom(read_wisdom(write_wisdom(again))));
            ++accepted;
        } catch (const SpecError& error) {
            CHECK(std::string(error.what()).starts_with("line "));
        }
        try {  // what is only looked into says no more than what is wrong with it either
            const Wisdom file("changed", changed);
            const Wisdom* const files[] = {&file};
            resolve(rows[2].spec, h200, {}, "NVIDIA H200", files);
            file.rows_for(h200, "NVIDIA H200");
        } catch (const SpecError&) {
        }
    }
    CHECK(accepted > 0);
}

TEST_CASE("a file of 2000 rows opens in a millisecond") {
    const auto text = written(many_rows());
    auto best = 1.0;
    for (int k = 0; k < 20; ++k) {
        const auto start = std::chrono::steady_clock::now();
        const Wisdom file("many", text);
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        REQUIRE(file.rows() == 2000);
    }
    MESSAGE(fmt::format("{} bytes in {:.3f} ms", text.size(), best * 1e3));
    constexpr double min_optimized = 30;  // builds for debugging and with sanitizers on a busy machine
    CHECK(best < min_optimized * 1e-3);
}

TEST_CASE("wisdom counts its rows by target and device") {
    const auto text = write_wisdom({row_of(spec, "multi-stage", "dataflow"), row_of(spec, "multi-stage", "dataflow", "NVIDIA H100")});
    const Wisdom file("two", text);
    CHECK(file.rows() == 2);
    CHECK(file.rows_for(h200) == 2);
    CHECK(file.rows_for(h200, "NVIDIA H100") == 1);
    CHECK(file.rows_for(h200, "NVIDIA") == 0);
    CHECK(file.rows_for({Backend::cuda, "sm_9"}) == 0);
    CHECK(file.rows_for({Backend::cuda, "sm_100"}) == 0);
}

/// Why nothing can be made of a row, whatever its family; empty: it can be used.
std::string flaw_of(const WisdomRow& row) try {
    const auto& target = row.key.target;
    if (is_grid(row.key)) return wisdom_problem(grid_of(row.key), target, GridTuning{})->refusal(row);
    if (sparse::is_sparse(row.key)) return sparse::wisdom_problem(sparse::problem_of(row.key), target, {})->refusal(row);
    return problem_of(row);
} catch (const SpecError& error) {
    return error.what();
}

TEST_CASE("every row of the shipped wisdom can be used") {
    CHECK(shipped_wisdom().size() >= 1);
    for (const auto name : template_names()) {
        if (!name.ends_with(".wisdom")) continue;
        CAPTURE(name);
        for (const auto& row : read_wisdom(template_text(name))) CHECK_MESSAGE(flaw_of(row).empty(), key_of(row), ": ", flaw_of(row));
    }
}

TEST_CASE("what the caller pins is taken, whatever the wisdom") {
    const std::vector<SpecRow> rows{row_of(spec, "multi-stage", "dataflow")};
    for (const auto& tuning : {Tuning{.schedule = "twisted:2"}, Tuning{.variant = "fused"}}) {
        const auto resolved = resolved_with(rows, spec, "NVIDIA H200", tuning);
        CHECK(resolved.rung == DecisionSource::pinned);
        CHECK(resolved.tuning == tuning);
        CHECK(choose(spec, h200, resolved).rung == DecisionSource::pinned);
        CHECK(choose(spec, h200, tuning).rung == DecisionSource::pinned);
    }
    CHECK(choose(spec, h200).rung == DecisionSource::model);
}

TEST_CASE("a row of the very problem and device is taken, the user's before the shipped one") {
    const auto users = write_wisdom({row_of(spec, "multi-stage", "dataflow:rides=0")});
    const auto shipped = write_wisdom({row_of(spec, "twisted:2", "fused")});
    const Wisdom first("the user's", users), second("the shipped", shipped);
    const Wisdom* const files[] = {&first, &second};
    const auto resolved = resolve(spec, h200, {.spin_microseconds = 5}, "NVIDIA H200", files);
    CHECK(resolved.rung == DecisionSource::exact);
    CHECK(resolved.tuning == Tuning{"multi-stage", "dataflow:rides=0", 1, 5});
    CHECK(resolved.row.find("line 3 of the user's: NVIDIA H200") == 0);
    CHECK(resolve(spec, h200, {}, "NVIDIA H200", std::span(files).subspan(1)).tuning.schedule == "twisted:2");
    const auto choice = choose(spec, h200, resolved);
    CHECK(choice.reason.find("wisdom: exact; line 3 of the user's") == 0);
    const auto program = generate(choice), by_hand = generate(spec, h200, {.schedule = "multi-stage", .variant = "dataflow:rides=0"});
    CHECK(to_json(program) == to_json(by_hand));
    CHECK(program.units.at(0).source == by_hand.units.at(0).source);
    CHECK(program.id != generate(spec, h200).id);
}

TEST_CASE("an exact row wins over the model even where that disagrees, a near one does not") {
    const std::vector<SpecRow> rows{row_of({.block = 12, .horizon = 512}, "sequential", "fused")};
    CHECK(resolved_with(rows, {.block = 12, .horizon = 512}).rung == DecisionSource::exact);
    CHECK(resolved_with(rows, {.block = 12, .horizon = 500}).rung == DecisionSource::model);
}

TEST_CASE("what another device of the architecture measured of this very problem wins over the model") {
    const std::vector<SpecRow> rows{row_of({.block = 12, .horizon = 512}, "sequential", "fused", "NVIDIA H100")};
    CHECK(resolved_with(rows, {.block = 12, .horizon = 512}).rung == DecisionSource::nearest);
    CHECK(resolved_with(rows, {.block = 12, .horizon = 500}).rung == DecisionSource::model);
}

TEST_CASE("a near row is taken where the model does not hold it for slower") {
    const auto own = choose(spec, h200);
    const auto near = [&](Spec at, const std::string& device = "NVIDIA H200") {
        return row_of(at, own.schedule.name, own.variant, device);
    };
    auto at = spec;
    at.batch = 300;
    const auto resolved = resolved_with({near(at)}, spec);
    CHECK(resolved.rung == DecisionSource::nearest);
    CHECK(resolved.tuning.variant == own.variant);
    CHECK(choose(spec, h200, resolved).reason.find("wisdom: nearest; line 3 of a file") == 0);
    // The own device first, then the distance.
    auto far = spec;
    far.batch = 400;
    CHECK(says(resolved_with({near(at, "NVIDIA H100"), near(far)}, spec).row, "400 systems"));
    CHECK(says(resolved_with({near(at), near(far)}, spec).row, "300 systems"));
    CHECK(resolved_with({near(spec, "NVIDIA H100")}, spec).rung == DecisionSource::nearest);
    // Not near: another n, too many systems, another precision, other operations.
    for (const auto& change :
         {+[](Spec& other) { other.block = 13; }, +[](Spec& other) { other.batch = 600; },
          +[](Spec& other) { other.precision = Precision::f32; }, +[](Spec& other) { other.operations.insert(Operation::inverse); },
          +[](Spec& other) { other.rhs_layout = RhsLayout::stacked; }}) {
        auto other = spec;
        change(other);
        CHECK(resolved_with({near(other)}, spec).rung == DecisionSource::model);
    }
    auto default_won = near(at);
    default_won.default_seconds = default_won.seconds;
    CHECK(resolved_with({default_won}, spec).rung == DecisionSource::model);
}

TEST_CASE("a near row whose schedule would be another one at this horizon is not taken") {
    // On one worker the model takes one chain. What has become one chain here is as good, so that only the schedule's name keeps it out.
    const Target target{Backend::cpu, "x86-64-v3"};
    const Spec asked{.block = 12, .horizon = 18};
    const auto rung_by = [&](const std::string& schedule, std::int64_t horizon) {
        auto row = row_of({.block = 12, .horizon = horizon}, schedule, choose(asked, target).variant, "AMD");
        row.target = target;
        const auto text = write_wisdom({row});
        const Wisdom file("a file", text);
        const Wisdom* const files[] = {&file};
        return resolve(asked, target, {}, "AMD", files).rung;
    };
    CHECK(rung_by("sequential", 30) == DecisionSource::nearest);
    CHECK(rung_by("segments:19", 19) == DecisionSource::nearest);  // one chain at either
    CHECK(rung_by("segments:19", 30) == DecisionSource::model);
    CHECK(resolved_with({row_of({.block = 12, .horizon = 10}, "twisted:5", "fused")}, {.block = 12, .horizon = 5}).rung ==
          DecisionSource::model);
}

TEST_CASE("a row that no kernels can be made by is ignored, and the reason told") {
    for (const auto& [schedule, variant, why] :
         {std::tuple{"multi-stage", "dataflow:wings=2", "no knob 'wings'"}, std::tuple{"multi-stage", "fast", "unknown variant 'fast'"},
          std::tuple{"zigzag", "dataflow", "unknown schedule 'zigzag'"}}) {
        const auto row = row_of(spec, schedule, variant);
        const auto resolved = resolved_with({row}, spec);
        CHECK(resolved.rung == DecisionSource::model);
        CHECK(resolved.tuning == Tuning{});
        REQUIRE_FALSE(resolved.ignored.empty());
        CHECK(says(resolved.ignored.front(), why));
        CHECK(says(problem_of(row), why));
    }
    auto exported = row_of({.block = 12, .horizon = 50}, "sequential", "tile");
    exported.target = {Backend::c99, "generic"};
    CHECK(says(problem_of(exported), "no kernels to generate"));
    CHECK(problem_of(row_of(spec, "multi-stage", "dataflow")).empty());
}

TEST_CASE("where the device is not known, any of the architecture counts") {
    const std::vector<SpecRow> rows{row_of(spec, "twisted:2", "fused")};
    CHECK(resolved_with(rows, spec, "").rung == DecisionSource::exact);
    CHECK(resolved_with(rows, spec, "NVIDIA H100").rung != DecisionSource::exact);
}

TEST_CASE("a row of a grid names image and kind, and is found for that image alone or a near one") {
    const GridSpec image{.width = 513, .height = 257, .matrix = GridMatrix::symmetric, .rhs = 2, .batch = 4};
    const auto with = [](const GridSpec& grid, const std::string& variant) {
        return WisdomRow{"NVIDIA H200", key_of(grid, h200, 3), "factor_solve", {"dissection", variant}, 1e-4, 2e-4, "by hand"};
    };
    const auto blocks = row_of(spec, "multi-stage", "dataflow");
    const auto text = write_wisdom({with(image, "fronts:step_rows=128"), blocks});
    CHECK(says(text,
               "cuda:sm_90\tf64\tsolve\tsymmetric\t1\tgrid\tNVIDIA H200\t513x257\t2\t4\tfactor_solve\tdissection\tfronts:step_rows=128\t"));
    const auto rows = read_wisdom(text, [](const WisdomRow& row) { is_grid(row.key) ? (void)grid_of(row.key) : check_problem(row); });
    REQUIRE(rows.size() == 2);
    CHECK(has_blocks(rows[0].key) != has_blocks(rows[1].key));
    const auto& row = is_grid(rows[0].key) ? rows[0] : rows[1];
    auto again = image;
    again.operations = {GridOperation::factor, GridOperation::solve, GridOperation::factor_solve};
    CHECK(grid_of(row.key) == again);

    const Wisdom file("a file", text);
    const Wisdom* const files[] = {&file};
    const auto chosen = [&](const GridSpec& grid, const GridTuning& tuning = {}) {
        return choose(grid, h200, tuning, "NVIDIA H200", files);
    };
    const auto choice = chosen(image);
    CHECK(choice.rung == DecisionSource::exact);
    CHECK(says(choice.row, "NVIDIA H200, 513x257, m = 2, 4 systems"));
    CHECK(choice.tuning.variant == "fronts:step_rows=128");
    CHECK(to_json(generate(choice)) == to_json(generate(image, h200, {.variant = "fronts:step_rows=128"})));
    CHECK(chosen(image, {.variant = "fronts"}).rung == DecisionSource::pinned);
    auto near = image;
    near.width = 300;
    CHECK(chosen(near).rung == DecisionSource::nearest);
    near.width = 200;
    CHECK(chosen(near).rung == DecisionSource::model);
    for (const auto& change :
         {+[](GridSpec& other) { other.matrix = GridMatrix::general; }, +[](GridSpec& other) { other.boundary = GridBoundary::fixed; },
          +[](GridSpec& other) { other.precision = Precision::f32; },
          +[](GridSpec& other) { other.operations = {GridOperation::factor}; }}) {
        auto other = image;
        change(other);
        CHECK(chosen(other).rung == DecisionSource::model);
    }
    for (const auto* variant : {"fronts:leaf_cells=8", "fronts:step_rows=7", "tile", "fronts:"}) {
        const auto bad = write_wisdom({with(image, variant)});
        const Wisdom bad_file("a bad file", bad);
        const Wisdom* const bad_files[] = {&bad_file};
        const auto answer = look_up(*wisdom_problem(image, h200, GridTuning{}), "NVIDIA H200", bad_files);
        CHECK_FALSE(answer.pins);
        CHECK(answer.ignored.size() == 1);
    }
    const auto refuses = [&](auto change) {
        auto key = row.key;
        change(key);
        CHECK_THROWS_AS(grid_of(key), SpecError);
    };
    for (const auto* size : {"513", "0513x257", "513x257x4", "1x5"}) refuses([&](ProblemKey& key) { key.size = size; });
    for (const auto* layout : {"oblique", "fixed,symmetric", ""}) refuses([&](ProblemKey& key) { key.layout = layout; });
    refuses([](ProblemKey& key) { key.operations = "solve+inverse"; });
}
