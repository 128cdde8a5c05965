#include <algorithm>
#include <trifold/error.hpp>

#include "tests/support/families/buffer.hpp"
#include "tests/support/families/conform.hpp"
#include "tests/support/families/oracle.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {
namespace {

using nlohmann::json;

class Refusals {
  public:
    Refusals(const AnyRunner& runner, const AnyCase& one)
        : runner_(runner),
          one_(one),
          family_(*one.family),
          oracle_(oracle_of(family_.name)),
          precision_(value_named<Precision>(one.problem.at("precision").get<std::string>(), "precision")),
          face_(make(one.problem, one.tuning, {.given = !runner.memory.allocate})) {}

    Faults judge() {
        fields(*family_.spec, [&](const json& wrong) { make(changed(one_.problem, wrong), one_.tuning, {.given = false}); });
        fields(*family_.tuning, [&](const json& wrong) { make(one_.problem, changed(one_.tuning, wrong), {.given = false}); });
        if (!runner_.memory.allocate) {
            expect("a workspace that is too small", "needs", [&] { make(one_.problem, one_.tuning, {.less = 1}); });
            expect("a misaligned workspace", "not aligned to 64 bytes", [&] { make(one_.problem, one_.tuning, {.shift = 8}); });
        }
        expect("an unknown operation", "solve", [&] { face_->run("invert", {}, json::object()); });
        for (const bool factoring : {true, false})
            for (const auto& row : family_.operations)
                if (row.factors == factoring && one_.plans(row)) operation(row);
        return faults_;
    }

  private:
    std::unique_ptr<AnyFace> make(const json& problem, const json& tuning, const Room& room) {
        return runner_.make(family_.name, problem, runner_.device, tuning, room);
    }
    static json changed(json object, const json& by) {
        object.update(by);
        return object;
    }
    /// The call has to be refused in a text that has the word.
    void expect(const std::string& what, std::string_view word, const std::function<void()>& call) {
        try {
            call();
            faults_.push_back(what + " is not refused");
        } catch (const SpecError& error) {
            if (!says(error.what(), word)) faults_.push_back(fmt::format("{}: '{}' does not say {}", what, error.what(), word));
        } catch (const std::exception& error) {
            faults_.push_back(fmt::format("{} is no SpecError: {}", what, error.what()));
        }
    }
    /// Values that a field cannot have, and names that are no field's.
    void fields(const Fields& fields, const std::function<void(const json&)>& take) {
        for (const auto& field : fields.all) {
            const std::string name(field.name);
            const auto wrong = [&](const json& value) {
                expect(fmt::format("{} = {}", name, value.dump()), name, [&] { take({{name, value}}); });
            };
            const auto usual = field.get(fields.usual);
            if (usual.is_number_integer() && field.least != std::numeric_limits<std::int64_t>::min()) wrong(field.least - 1);
            if (usual.is_number_integer() && field.most != std::numeric_limits<std::int64_t>::max()) wrong(field.most + 1);
            if (!usual.is_string()) wrong("plenty");
            if (field.has_several)
                wrong({"plenty"});
            else if (!field.words.empty())
                wrong("plenty");
            if (usual.is_string()) wrong(7);
        }
        expect("an unknown field", "colour", [&] { take({{"colour", 1}}); });
    }
    /// Arrays of ones for the whole batch, with room behind them.
    std::vector<std::vector<double>> arrays_of(const OperationRow& row) {
        std::vector<std::vector<double>> all;
        const auto batch = one_.problem["batch"].get<std::int64_t>();
        Values values;
        for (const auto& array : row.arrays) {
            sizes_.push_back(batch);
            for (const auto size : shape_of(array, [&](auto name) { return oracle_.extent(one_.problem, name); }, {1, width()}))
                sizes_.back() *= size;
            all.emplace_back(static_cast<std::size_t>(2 * sizes_.back() + 4096), 1.0);
        }
        return all;
    }
    std::int64_t width() const { return one_.problem.value("rhs", std::int64_t{1}); }

    void operation(const OperationRow& row) {
        sizes_.clear();
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<AnyArray> good;
        for (const auto& values : arrays_of(row)) {
            buffers.push_back(std::make_unique<Buffer>(runner_.memory, values, precision_));
            good.push_back(buffers.back()->array(false));
        }
        const auto run = [&](const std::vector<AnyArray>& arrays, const json& options = json::object()) {
            face_->run(row.name, arrays, options);
        };
        const auto works = [&] {
            run(good);
            face_->synchronize();
        };
        works();
        fields(*family_.options, [&](const json& wrong) { run(good, wrong); });
        for (const auto* name : {"members", "columns"})
            for (const auto wrong : {std::int64_t{-1}, std::int64_t{1} << 40})
                expect(fmt::format("{} = {}", name, wrong), name, [&] { run(good, {{name, wrong}}); });
        auto more = good;
        more.push_back(good.front());
        expect("one array more", row.name, [&] { run(more); });
        expect("one array fewer", row.name, [&] { run({good.begin(), good.end() - 1}); });
        for (std::size_t k = 0; k < good.size(); ++k)
            if (sizes_[k] > 0) array(row, k, good, *buffers[k], run);
        works();
    }
    void array(const OperationRow& row, std::size_t k, const std::vector<AnyArray>& good, Buffer& buffer,
               const std::function<void(const std::vector<AnyArray>&, const json&)>& run) {
        const auto& table = row.arrays[k];
        const auto wrong = [&](const std::string& how, std::string_view word, const std::function<void(AnyArray&)>& change) {
            auto arrays = good;
            change(arrays[k]);
            expect(fmt::format("{} of {}: {}", table.name, row.name, how), word, [&] { run(arrays, json::object()); });
        };
        const auto by = [](const AnyArray& array, std::int64_t bytes) { return static_cast<const char*>(array.data) + bytes; };
        wrong("null", table.name, [](AnyArray& array) { array.data = nullptr; });
        wrong("misaligned", table.name, [&](AnyArray& array) { array.data = by(array, 1); });
        if (!runner_.memory.allocate) wrong("in the workspace", "workspace", [&](AnyArray& array) { array.data = face_->workspace(); });
        const auto other = precision_ == Precision::f32 ? Precision::f64 : Precision::f32;
        if (runner_.states_arrays) wrong("another type", table.name, [&](AnyArray& array) { array.precision = other; });
        if (runner_.states_arrays)
            expect(fmt::format("{} of {}: too short", table.name, row.name), table.name, [&] {
                std::vector<AnyArray> arrays;
                for (const auto& one : good) arrays.emplace_back(buffer.array(true).data, true, one.precision);
                arrays[k].size = sizes_[k] - 1;
                run(arrays, json::object());
            });
        if (runner_.states_arrays && runner_.memory.allocate && good.size() > 1)
            wrong("in the other memory", "host", [&](AnyArray& array) { array = buffer.array(true); });
        for (std::size_t from = 0; from < good.size(); ++from) {
            if (from == k || table.access == Access::read || sizes_[from] == 0) continue;
            const std::int64_t element = element_bytes(good[k].precision);
            if (table.extents == row.arrays[from].extents) {  // one behind the other is no overlap
                auto arrays = good;
                arrays[k].data = by(good[from], element * sizes_[from]);
                run(arrays, json::object());
            }
            if (sizes_[from] > 1)
                wrong(fmt::format("one element into {}", row.arrays[from].name), table.name,
                      [&](AnyArray& array) { array.data = by(good[from], element); });
            if (table.may_equal == nullptr || std::string_view(table.may_equal) != row.arrays[from].name)
                wrong(fmt::format("in the place of {}", row.arrays[from].name), table.name,
                      [&](AnyArray& array) { array.data = good[from].data; });
        }
    }

    const AnyRunner& runner_;
    const AnyCase& one_;
    const Family& family_;
    const Oracle& oracle_;
    Precision precision_;
    std::unique_ptr<AnyFace> face_;
    std::vector<std::int64_t> sizes_;
    Faults faults_;
};

}  // namespace

Faults refuse(const AnyRunner& runner, const AnyCase& one) {
    try {
        return Refusals(runner, one).judge();
    } catch (const std::exception& error) {
        return {error.what()};
    }
}

}  // namespace trifold::test
