#include "tests/tools/cli/command.hpp"
#include "tests/tools/formats/dense.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

/// D, E, b and a System's x as files of this test.
void write_arrays(const Scratch& scratch, const System& system, Precision precision = Precision::f64) {
    const auto array = [&](const char* name, std::vector<std::int64_t> shape, const std::vector<double>& values) {
        if (system.batch > 1) shape.insert(shape.begin(), system.batch);
        scratch.write(name, format_npy({shape, precision, values}));
    };
    const auto n = system.block, horizon = system.horizon;
    array("D.npy", {horizon, n, n}, system.d);
    array("E.npy", {system.couplings(), n, n}, system.e);
    if (system.general) array("U.npy", {system.couplings(), n, n}, system.u);
    array("b.npy", system.rhs == 1 ? std::vector{horizon, n} : std::vector{horizon, n, system.rhs}, system.b);
}

void write_matrix_market(const Scratch& scratch, const SparseMatrix& a, const DenseMatrix& b) {
    scratch.write("A.mtx", format_matrix_market(a));
    scratch.write("b.mtx", format_matrix_market(b));
}

std::vector<std::string> keys(const nlohmann::json& json) {
    std::vector<std::string> result;
    for (const auto& item : json.items()) result.push_back(item.key());
    return result;
}

/// N = 2, n = 1: condition 8e8, and in f32 another matrix by far.
void make_ill_conditioned(System& system, std::size_t member) {
    system.d[2 * member] = system.d[2 * member + 1] = 1 + 0.51 * 0x1p-23;
    system.e[member] = 1 + 0.49 * 0x1p-23;
}

}  // namespace

TEST_CASE("solve: ranks share a chain") {
    auto system = problems::socu({5, 12}, 2);
    system.batch = 2;
    for (auto* values : {&system.d, &system.e, &system.b}) values->insert(values->end(), values->begin(), values->end());
    for (const auto precision : {Precision::f64, Precision::f32}) {
        const Scratch scratch;
        write_arrays(scratch, system, precision);
        const auto one = scratch.well("solve D.npy E.npy b.npy -o x.npy --inverse d.npy e.npy --device cpu --json");
        for (const int ranks : precision == Precision::f64 ? std::vector{2, 12} : std::vector{3}) {
            const auto ran = scratch.well(fmt::format("solve D.npy E.npy b.npy -o y.npy --inverse f.npy g.npy --ranks {} --json", ranks));
            CHECK(ran.json()["schedule"] == fmt::format("auto on {} ranks", ranks));
            for (const auto& [expected, found] : {std::pair{"x.npy", "y.npy"}, {"d.npy", "f.npy"}, {"e.npy", "g.npy"}}) {
                const auto first = parse_npy(scratch.read(expected), expected), second = parse_npy(scratch.read(found), found);
                REQUIRE(first.shape == second.shape);
                double worst = 0;
                for (std::size_t k = 0; k < first.values.size(); ++k) worst = std::max(worst, std::abs(first.values[k] - second.values[k]));
                CHECK(worst < (precision == Precision::f64 ? 1e-11 : 1e-3));
            }
            for (std::size_t m = 0; m < 2; ++m)
                CHECK(ran.json()["log_determinant"][m].get<double>() ==
                      doctest::Approx(one.json()["log_determinant"][m].get<double>()).epsilon(1e-5));
        }
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: ranks name the row that a textbook factorization fails at") {
    auto system = problems::socu({4, 9}, 1);
    system.d[6 * 16 + 5] = -1;
    write_arrays(*this, system);
    check("solve D.npy E.npy b.npy --ranks 3", 1, "not positive definite: member 0, block 6, row 1");
}

TEST_CASE_FIXTURE(Scratch, "solve: arrays in, arrays out, with the JSON that is promised") {
    const auto system = problems::socu({6, 9}, 1);
    write_arrays(*this, system);
    const auto ran = well("solve D.npy E.npy b.npy -o x.npy --device cpu --json");
    CHECK(ran.err.empty());
    const auto json = ran.json();
    // clang-format off
    CHECK(keys(json) == std::vector<std::string>{
        "bandwidth", "batch", "block", "border", "cache", "device", "failed", "horizon", "least_pivot", "log_determinant",
        "matrix", "nearly_singular", "out_of_range", "output", "precision", "quadratic", "relative_residual", "rhs", "ring", "row",
        "rung", "schedule", "seconds", "status", "variant"});
    // clang-format on
    CHECK(keys(json["seconds"]) == std::vector<std::string>{"compile", "factor", "generate", "load", "solve"});
    check_json(json, {{"status", "ok"}, {"block", 6}, {"horizon", 9}, {"rhs", 1}, {"batch", 1}, {"precision", "f64"}});
    CHECK(json["device"].get<std::string>().starts_with("cpu:"));
    CHECK(json["failed"].empty());
    CHECK(json["output"] == "x.npy");
    CHECK((json["cache"] == "hit" || json["cache"] == "miss"));
    const auto x = parse_npy(read("x.npy"), "x");
    CHECK(x.shape == std::vector<std::int64_t>{9, 6});
    const auto residual = relative_residuals(system, x.values)[0];
    CHECK(residual <= 1e-14);
    CHECK(json["relative_residual"].get<double>() == residual);
    const Eigen::VectorXd expected = dense_matrix(system).llt().solve(Eigen::Map<const Eigen::VectorXd>(system.b.data(), 54));
    for (Eigen::Index k = 0; k < 54; ++k) CHECK(x.values[static_cast<std::size_t>(k)] == doctest::Approx(expected(k)).epsilon(1e-10));
    const Eigen::MatrixXd l = dense_matrix(system).llt().matrixL();
    REQUIRE(json["log_determinant"].size() == 1);
    CHECK(json["log_determinant"][0].get<double>() == doctest::Approx(2 * l.diagonal().array().log().sum()).epsilon(1e-12));
    CHECK(run("solve D.npy E.npy b.npy --device cpu --json").json()["cache"] == "hit");
}

TEST_CASE_FIXTURE(Scratch, "solve: a ring, told by E of as many blocks as D, or by the entries of A") {
    for (const std::int64_t horizon : {1, 2, 6}) {
        const auto chain = problems::dominant({3, horizon}, 1);
        auto system = chain;
        system.ring = true;
        for (int k = 0; k < 9; ++k) system.e.push_back(std::cos(k) / 4);
        write_arrays(*this, system);
        Eigen::MatrixXd a = dense_matrix(chain);
        for (Eigen::Index r = 0; r < 3; ++r)
            for (Eigen::Index c = 0, last = 3 * (horizon - 1); c < 3; ++c) {
                const auto value = system.e[static_cast<std::size_t>(9 * (horizon - 1) + 3 * r + c)];
                a(r, last + c) += value;
                a(last + c, r) += value;
            }
        const Eigen::VectorXd expected = a.llt().solve(Eigen::Map<const Eigen::VectorXd>(system.b.data(), 3 * horizon));
        const Eigen::MatrixXd inverse = a.inverse();
        const auto check_x = [&](const Ran& ran, const std::vector<double>& x) {
            CHECK(ran.json()["ring"] == true);
            CHECK(ran.json()["relative_residual"].get<double>() < 1e-14);
            for (Eigen::Index k = 0; k < 3 * horizon; ++k)
                CHECK(x[static_cast<std::size_t>(k)] == doctest::Approx(expected(k)).epsilon(1e-11));
        };
        const auto ran = well("solve D.npy E.npy b.npy -o x.npy --inverse d.npy e.npy --device cpu --json --condition");
        check_x(ran, parse_npy(read("x.npy"), "x").values);
        const auto lower = parse_npy(read("e.npy"), "e");
        CHECK(lower.shape == std::vector<std::int64_t>{horizon, 3, 3});
        CHECK(lower.values.back() == doctest::Approx(inverse(2, 3 * horizon - 1)).epsilon(1e-10));
        if (horizon < 3) continue;
        write_matrix_market(*this, to_sparse(system), DenseMatrix{system.rows, 1, system.b});
        for (const auto* block : {"", "--block 3"}) {
            const auto found = run(fmt::format("solve A.mtx b.mtx -o x.mtx --device cpu --json {}", block));
            CHECK(says(found.err, "A is taken as a ring"));
            check_x(found, std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values);
        }
    }
    check("solve D.npy E.npy b.npy --ranks 2", 2, "ranks have no rings yet");
    check("solve D.npy E.npy b.npy --precision mixed", 2, "mixed precision has no rings");
}

TEST_CASE_FIXTURE(Scratch, "solve: Matrix Market in and out, block inferred, padding said") {
    auto a = to_sparse(problems::blockdss({8, 4}, 3));
    std::erase_if(a.entries, [](const Entry& entry) { return entry.row >= 29; });  // the leading 29 rows: 8 does not divide them
    a.rows = a.columns = 29;
    DenseMatrix b{29, 2, {}};
    for (int k = 0; k < 58; ++k) b.values.push_back(std::sin(k));
    write_matrix_market(*this, a, b);
    const auto ran = well("solve A.mtx b.mtx -o x.mtx --device cpu --json");
    CHECK(says(ran.err, "29 rows are not a multiple of the block size 8; the last block is padded with 3 rows of the identity"));
    check_json(ran.json(), {{"block", 8}, {"horizon", 4}, {"rhs", 2}});
    const auto x = std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x"));
    REQUIRE(x.rows == 29);
    REQUIRE(x.columns == 2);
    Eigen::MatrixXd full = Eigen::MatrixXd::Zero(29, 29);
    for (const auto& entry : a.entries) full(entry.row, entry.column) = full(entry.column, entry.row) = entry.value;
    const Eigen::MatrixXd expected =
        full.llt().solve(Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(b.values.data(), 29, 2));
    for (int row = 0; row < 29; ++row)
        for (int column = 0; column < 2; ++column)
            CHECK(x.values[static_cast<std::size_t>(2 * row + column)] == doctest::Approx(expected(row, column)).epsilon(1e-9));
    const Eigen::MatrixXd l = full.llt().matrixL();
    CHECK(ran.json()["log_determinant"][0].get<double>() == doctest::Approx(2 * l.diagonal().array().log().sum()));
    const auto wider = ends(0, "solve A.mtx b.mtx --block 29 --device cpu --json");
    CHECK(wider.err.empty());
    CHECK(wider.json()["horizon"] == 1);
}

TEST_CASE_FIXTURE(Scratch, "solve: standard input and output, which takes nothing but x") {
    const auto system = problems::socu({3, 4, 2}, 7);
    write_arrays(*this, system);
    write_matrix_market(*this, to_sparse(system), {12, 2, system.b});
    const std::string options = " --block 3 --device cpu";
    REQUIRE(run("solve D.npy E.npy b.npy -o x.npy" + options).status == 0);
    REQUIRE(run("solve A.mtx b.mtx -o x.mtx" + options).status == 0);
    REQUIRE(run("solve A.mtx b.mtx -o rows.npy" + options).status == 0);
    for (const auto& [files, output, input, expected] : {std::tuple{"- E.npy b.npy", "-o -", "D.npy", "x.npy"},
                                                         {"D.npy E.npy -", "-o - --format npy", "b.npy", "x.npy"},
                                                         {"D.npy E.npy -", "-o - --format mtx", "b.npy", "x.mtx"},
                                                         {"- b.mtx", "-o -", "A.mtx", "x.mtx"},
                                                         {"A.mtx -", "-o- --format npy", "b.mtx", "rows.npy"}}) {
        const auto ran = well(fmt::format("solve {} {}{} <{}", files, output, options, input));
        CHECK(ran.out == read(expected));
        CHECK(says(ran.err, "relative residual"));
    }
    CHECK(run("solve A.mtx b.mtx -o other --format npy" + options).status == 0);
    CHECK(read("other") == read("rows.npy"));
    CHECK_FALSE(has("-"));
    const auto json = run("solve D.npy E.npy b.npy -o - --json" + options);
    CHECK(json.out == read("x.npy"));
    const auto report = nlohmann::json::parse(json.err);
    check_json(report, {{"status", "ok"}, {"output", "-"}});
}

TEST_CASE_FIXTURE(Scratch, "solve: how the input was taken is said in a line") {
    const std::string head = "%%MatrixMarket matrix coordinate real general\n";
    write("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    write("A.mtx", head + "3 3 9\n1 1 4\n1 2 1\n2 1 1.0000000000001\n2 2 4\n2 3 -1\n3 2 -1\n3 3 4\n1 3 0\n3 1 0\n");
    for (const std::string block : {"", " --block 1"}) {
        const auto ran = well("solve A.mtx b.mtx -o x.mtx --json --device cpu" + block);
        CHECK(ran.json()["block"] == 1);
        CHECK(ran.err ==
              "trifold solve: the triangles of A differ by up to 2.5e-14 of the size of their rows; the lower triangle is taken\n"
              "trifold solve: zeros that A's file holds outside the blocks of 1 by 1 do not count: 2, the first at row 1 and column 3 "
              "(from 1)\n");
    }
    const Eigen::Matrix3d lower = (Eigen::Matrix3d() << 4, 1.0000000000001, 0, 1.0000000000001, 4, -1, 0, -1, 4).finished();
    const Eigen::Vector3d expected = lower.llt().solve(Eigen::Vector3d(1, 2, 3));
    const auto x = std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values;
    for (int k = 0; k < 3; ++k) CHECK(std::abs(x[static_cast<std::size_t>(k)] - expected(k)) <= 1e-15);
    CHECK(says(run("explain A.mtx b.mtx --json").err, "the lower triangle is taken"));
}

TEST_CASE_FIXTURE(Scratch, "solve: the output's name decides its format, and without one it is said that x is lost") {
    const auto system = problems::socu({3, 4, 2}, 7);
    write_arrays(*this, system);
    write_matrix_market(*this, to_sparse(system), {12, 2, system.b});
    for (const auto* files : {"D.npy E.npy b.npy", "A.mtx b.mtx"}) {
        for (const auto* output : {"x.npy", "x.mtx", "x"}) {
            INFO(files, " ", output);
            REQUIRE(run(fmt::format("solve {} -o {} --block 3 --device cpu", files, output)).status == 0);
        }
        CHECK(read("x") == read(files[0] == 'D' ? "x.npy" : "x.mtx"));
        const auto array = parse_npy(read("x.npy"), "x");
        CHECK(array.shape == (files[0] == 'D' ? std::vector<std::int64_t>{4, 3, 2} : std::vector<std::int64_t>{12, 2}));
        CHECK(array.precision == Precision::f64);
        CHECK(std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values == array.values);
        CHECK(relative_residuals(system, array.values)[0] <= 1e-14);
        const auto lost = well(fmt::format("solve {} --device cpu", files));
        CHECK(lost.err == "trifold solve: x was not kept; -o FILE writes it\n");
        const auto json = run(fmt::format("solve {} --device cpu --json", files));
        CHECK(json.err.empty());
        CHECK(json.json()["output"].is_null());
    }
    // Rows that the block size does not divide are written without their padding.
    REQUIRE(run("solve A.mtx b.mtx --block 5 -o x.npy --device cpu").status == 0);
    CHECK(parse_npy(read("x.npy"), "x").shape == std::vector<std::int64_t>{12, 2});
}

TEST_CASE("solve: b' A^-1 b by system and column, in every precision and for more columns than one pass has") {
    for (const auto& [columns, precision] : {std::pair(2, "f64"), std::pair(2, "mixed"), std::pair(2, "f32"), std::pair(17, "f64")}) {
        const Scratch scratch;
        auto system = problems::socu({3, 5, columns, 3}, 9);
        system.d[45 + 9] = -1;  // member 1 is not positive definite
        write_arrays(scratch, system);
        const auto ran = scratch.ends(
            1, fmt::format("solve D.npy E.npy b.npy --device cpu --json --matrix positive-definite --schedule sequential --precision {}",
                           precision));
        const auto quadratic = ran.json()["quadratic"];
        REQUIRE(quadratic.size() == 3);
        for (const std::int64_t member : {0, 1, 2}) {
            const Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>> b(system.b.data() + member * 15 * columns, 15, columns);
            const auto& values = quadratic[static_cast<std::size_t>(member)];
            REQUIRE(values.size() == static_cast<std::size_t>(columns));
            for (int column = 0; column < columns; ++column) {
                const auto& value = values[static_cast<std::size_t>(column)];
                CHECK(value.is_null() == (member == 1));
                if (member == 1) continue;
                const double expected = b.col(column).dot(dense_matrix(system, member).llt().solve(b.col(column)));
                CHECK(value.get<double>() == doctest::Approx(expected).epsilon(std::string(precision) == "f32" ? 1e-4 : 1e-10));
            }
        }
    }
}

TEST_CASE("solve: a member beyond the range of the precision is told apart from one that is not positive definite") {
    for (const auto& [precision, small, large] : {std::tuple("f64", 1e-200, 1e200), std::tuple("f32", 1e-30, 1e30)}) {
        const Scratch scratch;
        auto system = problems::socu({2, 3, 1, 3}, 3);
        std::ranges::fill_n(system.e.begin() + 8, 8, 0.0);
        for (std::size_t k = 12; k < 24; ++k) system.d[k] = k % 4 == 0 || k % 4 == 3 ? small : 0;
        std::ranges::fill_n(system.b.begin() + 6, 6, 1.0);
        system.b[7] = large;
        write_arrays(scratch, system);
        const auto run = [&] {
            return scratch.ends(
                1,
                fmt::format(
                    "solve D.npy E.npy b.npy -o x.npy --device cpu --json --matrix positive-definite --schedule sequential --precision {}",
                    precision));
        };
        const auto ran = run();
        CHECK(says(ran.err, fmt::format("out of the range of {}: member 1, x holds infinities or NaN", precision)));
        CHECK(ran.json()["status"] == "range");
        CHECK(ran.json()["failed"].empty());
        CHECK(ran.json()["out_of_range"] == nlohmann::json::parse(R"([{"member": 1, "solution": true, "inverse": false}])"));
        CHECK(ran.json()["relative_residual"].get<double>() <= 1e-6);  // of the others
        CHECK(ran.json()["quadratic"][0][0].is_number());
        const auto x = parse_npy(scratch.read("x.npy"), "x").values;
        CHECK(!std::isfinite(x[7]));
        for (const std::size_t member : {0, 2})
            for (std::size_t row = 0; row < 6; ++row) CHECK(std::isfinite(x[6 * member + row]));
        system.d[0] = -1;
        write_arrays(scratch, system);
        const auto both = run().json();
        CHECK(both["status"] == "not_positive_definite");
        CHECK(both["failed"].size() == 1);
        CHECK(both["out_of_range"].size() == 1);
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: where nothing shows a GPU, no driver is opened") {
    write_arrays(*this, problems::socu({3, 4}, 1));
    bool cuda = std::filesystem::exists("/dev/dxg") || std::filesystem::exists("/proc/driver/nvidia");
    const bool hip = std::filesystem::exists("/dev/dxg") || std::filesystem::exists("/dev/kfd");
    for (const auto& node : std::filesystem::directory_iterator("/dev")) {
        const auto name = node.path().filename().string();
        cuda = cuda || name.starts_with("nvidia") || name.starts_with("nvhost") || name.starts_with("nvgpu") || name.starts_with("nvmap");
    }
    const auto opened = [&](const std::string& device) {
        // The loader of the system says what it looks for.
        const auto said = run("solve D.npy E.npy b.npy --json --device " + device, "LD_DEBUG=libs").err;
        CHECK(says(said, "find library=libc.so.6"));
        return std::pair(said.find("find library=libcuda.so.1") != std::string::npos,
                         said.find("find library=libamdhip64") != std::string::npos);
    };
    if (!cuda && !hip) CHECK(opened("auto") == std::pair(false, false));
    CHECK(opened("cpu") == std::pair(false, false));
    const auto doctor = run("doctor --json").json();
    // Who names a device has its driver opened, and no other.
    if (doctor["cuda"]["problem"].get<std::string>().find("this build") == std::string::npos)
        CHECK(opened("cuda") == std::pair(true, false));
    if (doctor["hip"]["problem"].get<std::string>().find("this build") == std::string::npos) CHECK(opened("hip") == std::pair(false, true));
}

TEST_CASE_FIXTURE(Scratch, "solve: general symmetric files, integers and coordinate right-hand sides") {
    write("A.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 7\n1 1 4\n1 2 1\n2 1 1\n2 2 4\n2 3 -1\n3 2 -1\n3 3 4\n");
    write("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 1\n3 1 2\n");
    const auto ran = well("solve A.mtx b.mtx -o x.mtx --device cpu");
    CHECK(says(ran.out, "relative residual"));
    const auto x = std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values;
    const Eigen::Vector3d expected = (Eigen::Matrix3d() << 4, 1, 0, 1, 4, -1, 0, -1, 4).finished().llt().solve(Eigen::Vector3d(1, 0, 2));
    for (int k = 0; k < 3; ++k) CHECK(x[static_cast<std::size_t>(k)] == doctest::Approx(expected(k)));
}

TEST_CASE("solve: batches, right-hand sides, precisions and Fortran order") {
    for (const auto precision : {Precision::f64, Precision::f32}) {
        const Scratch scratch;
        const auto system = problems::socu({5, 7, 3, 4}, 11);
        write_arrays(scratch, system, precision);
        const auto ran = scratch.well("solve D.npy E.npy b.npy -o x.npy --device cpu --json");
        check_json(ran.json(), {{"precision", to_string(precision)}, {"batch", 4}});
        CHECK(ran.json()["log_determinant"].size() == 4);
        const auto x = parse_npy(scratch.read("x.npy"), "x");
        CHECK(x.precision == precision);
        CHECK(x.shape == std::vector<std::int64_t>{4, 7, 5, 3});
        for (const auto residual : relative_residuals(system, x.values)) CHECK(residual <= (precision == Precision::f32 ? 1e-6 : 1e-14));
    }
    // b in Fortran order, big endian: (2, 3) blocks of one system.
    const Scratch scratch;
    const auto system = problems::socu({3, 2}, 5);
    write_arrays(scratch, system);
    std::string data;
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < 2; ++i) {
            const std::string bytes(reinterpret_cast<const char*>(&system.b[i * 3 + c]), 8);
            data += std::string(bytes.rbegin(), bytes.rend());
        }
    const std::string header = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }\n";
    scratch.write("b.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + data);
    CHECK(scratch.run("solve D.npy E.npy b.npy -o x.npy --device cpu").status == 0);
    CHECK(relative_residuals(system, parse_npy(scratch.read("x.npy"), "x").values)[0] <= 1e-14);
}

TEST_CASE_FIXTURE(Scratch, "solve: many right-hand sides, more than one pass takes") {
    const auto system = problems::socu({4, 5, 37}, 2);
    write_arrays(*this, system);
    const auto ran = well("solve D.npy E.npy b.npy -o x.npy --device cpu --json --precision f32");
    check_json(ran.json(), {{"rhs", 37}, {"precision", "f32"}});
    CHECK(relative_residuals(system, parse_npy(read("x.npy"), "x").values)[0] <= 1e-6);
}

TEST_CASE_FIXTURE(Scratch, "solve: every schedule") {
    write_arrays(*this, problems::socu({4, 23}, 8));
    for (const auto* schedule : {"auto", "sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4",
                                 "recursive:3", "recursive:2:4", "segments:3,2"}) {
        const auto ran = well(fmt::format("solve D.npy E.npy b.npy --device cpu --json --schedule {}", schedule));
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: every variant, also of a matrix that is not positive definite") {
    auto system = problems::socu({4, 5}, 9);
    for (const bool sound : {true, false}) {
        if (!sound) system.d[2 * 16] = -1e6;
        write_arrays(*this, system);
        for (const auto* variant : {"tile", "lanes", "tile:fetches_from=1,halves=1", "lanes:is_far=1"}) {
            const auto ran = run(fmt::format("solve D.npy E.npy b.npy --device cpu --json --schedule multi-stage --variant {}", variant));
            INFO(variant, ": ", ran.err);
            CHECK(ran.status == (sound ? 0 : 1));
            CHECK(ran.json()["variant"] == variant);
            if (!sound) CHECK(ran.json()["failed"][0]["block"] == 2);
        }
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: the selected inverse") {
    const auto system = problems::blockdss({8, 5, 1, 2}, 6);
    write_arrays(*this, system);
    const auto ran = well("solve D.npy E.npy b.npy --device cpu --inverse diagonal.npy coupling.npy");
    const auto diagonal = parse_npy(read("diagonal.npy"), "d"), coupling = parse_npy(read("coupling.npy"), "c");
    CHECK(diagonal.shape == std::vector<std::int64_t>{2, 5, 8, 8});
    CHECK(coupling.shape == std::vector<std::int64_t>{2, 4, 8, 8});
    for (std::int64_t member = 0; member < 2; ++member) {
        const Eigen::MatrixXd inverse = dense_matrix(system, member).inverse();
        double worst = 0;
        for (std::int64_t i = 0; i < 5; ++i)
            for (std::int64_t r = 0; r < 8; ++r)
                for (std::int64_t c = 0; c < 8; ++c) {
                    worst = std::max(worst, std::abs(diagonal.values[static_cast<std::size_t>(((member * 5 + i) * 8 + r) * 8 + c)] -
                                                     inverse(i * 8 + r, i * 8 + c)));
                    if (i < 4)
                        worst = std::max(worst, std::abs(coupling.values[static_cast<std::size_t>(((member * 4 + i) * 8 + r) * 8 + c)] -
                                                         inverse((i + 1) * 8 + r, i * 8 + c)));
                }
        CHECK(worst < 1e-13 * inverse.cwiseAbs().maxCoeff() * 100);
    }
}

TEST_CASE("solve: a member that is not positive definite is named as LAPACK would, the others are solved") {
    for (const auto* schedule : {"auto", "sequential", "multi-stage", "twisted:2", "partitioned:3"}) {
        const Scratch scratch;
        auto system = problems::socu({4, 9, 1, 3}, 21);
        // Member 1: the leading minor first fails at block 5, row 2; a later block is bad on its own, which other orders meet first.
        const auto entry = [&](std::int64_t block, std::int64_t row) -> double& {
            return system.d[static_cast<std::size_t>((((9 + block) * 4 + row) * 4) + row)];
        };
        entry(5, 2) = 1e-3;
        entry(7, 0) = -5;
        write_arrays(scratch, system);
        const auto ran = scratch.ends(
            1, fmt::format("solve D.npy E.npy b.npy -o x.npy --device cpu --json --matrix positive-definite --schedule {}", schedule));
        CHECK(says(ran.err, "not positive definite: member 1, block 5, row 2 (from 0)"));
        const auto json = ran.json();
        CHECK(json["status"] == "not_positive_definite");
        REQUIRE(json["failed"].size() == 1);
        CHECK(json["failed"][0] == nlohmann::json{{"member", 1}, {"block", 5}, {"row", 2}});
        CHECK(json["log_determinant"][1].is_null());
        CHECK(json["log_determinant"][0].is_number());
        CHECK(json["relative_residual"].get<double>() <= 1e-14);
        const auto x = parse_npy(scratch.read("x.npy"), "x").values;
        const auto residuals = relative_residuals(system, x);
        CHECK(residuals[0] <= 1e-14);
        CHECK(residuals[2] <= 1e-14);
        for (std::size_t k = 36; k < 72; ++k) CHECK(std::isnan(x[k]));
        // The oracle: the first leading minor of member 1 that has no Cholesky factor.
        const auto a = dense_matrix(system, 1);
        Eigen::Index rows = 1;
        while (rows <= 36 && a.topLeftCorner(rows, rows).llt().info() == Eigen::Success) ++rows;
        CHECK(rows - 1 == 5 * 4 + 2);
    }
}

TEST_CASE("solve: a matrix that is not positive definite is taken as symmetric, and its inertia is said") {
    for (const auto& [place, value, why] :
         {std::tuple(2 * 16 + 5, -30.0, "diagonal entry 1 of block 2 is -30, so A is taken as symmetric"),
          std::tuple(2 * 16 + 5, 1e-3, "a factorization for positive definite matrices has failed, so A is taken as symmetric")})
        for (const auto* precision : {"f64", "f32"}) {
            const Scratch scratch;
            auto system = problems::socu({4, 5, 2, 1}, 21);
            system.d[static_cast<std::size_t>(place)] = value;
            write_arrays(scratch, system);
            write_matrix_market(scratch, to_sparse(system), {20, 2, system.b});
            const auto a = dense_matrix(system, 0);
            const auto negative = (a.selfadjointView<Eigen::Lower>().eigenvalues().array() < 0).count();
            REQUIRE(negative > 0);
            for (const auto* files : {"D.npy E.npy b.npy", "A.mtx b.mtx --block 4"}) {
                const auto ran = scratch.ends(0, fmt::format("solve {} -o x.npy --device cpu --json --precision {}", files, precision));
                CHECK(says(ran.err, why, fmt::format("of which {} of 20 are negative; --matrix positive-definite refuses it", negative)));
                check_json(ran.json(), {{"status", "ok"}, {"matrix", "symmetric"}, {"negative_pivots", {negative}}});
                CHECK(ran.json()["growth"][0].get<double>() > 0);
                CHECK(relative_residuals(system, parse_npy(scratch.read("x.npy"), "x").values)[0] <= (precision[1] == '6' ? 1e-14 : 1e-6));
                const auto refused = scratch.ends(1, fmt::format("solve {} --device cpu --json --matrix positive-definite", files));
                check_json(refused.json(), {{"status", "not_positive_definite"}, {"matrix", "positive-definite"}});
                CHECK(!refused.json().contains("negative_pivots"));
            }
            const auto said =
                scratch.well(fmt::format("solve D.npy E.npy b.npy --device cpu --matrix symmetric --precision {}", precision));
            CHECK(says(said.out, "negative pivots", fmt::format("{} of 20", negative)));
            CHECK(!says(said.err, "taken as symmetric"));
        }
    const Scratch scratch;
    auto system = problems::socu({4, 5, 1, 2}, 3);
    write_arrays(scratch, system);
    check_json(scratch.well("solve D.npy E.npy b.npy --device cpu --json").json(), {{"matrix", "positive-definite"}});
    check_json(scratch.well("solve D.npy E.npy b.npy --device cpu --json --matrix symmetric").json(), {{"negative_pivots", {0, 0}}});
    std::ranges::fill_n(system.d.begin() + 80, 16, 0.0);  // of member 1 the first block has a zero pivot
    write_arrays(scratch, system);
    const auto failed = scratch.ends(1, "solve D.npy E.npy b.npy -o x.npy --device cpu --json --schedule multi-stage");
    CHECK(says(failed.err, "diagonal entry 0 of block 0 of member 1 is 0", "a pivot is zero: member 1, block 0, row 0 (from 0)",
               "rows are not interchanged"));
    check_json(failed.json(), {{"status", "zero_pivot"}, {"negative_pivots", {0, -1}}});
    CHECK(failed.json()["failed"] == nlohmann::json::parse(R"([{"member": 1, "block": 0, "row": 0}])"));
    const auto x = parse_npy(scratch.read("x.npy"), "x").values;
    CHECK((std::isfinite(x[0]) && std::isnan(x[20])));
    scratch.check("solve D.npy E.npy b.npy --matrix indefinite", 2,
                  "--matrix is \"indefinite\"; give positive-definite, symmetric or general");
    scratch.check("solve D.npy E.npy b.npy --matrix symmetric --precision mixed", 2, "mixed precision is for positive definite matrices");
    scratch.check("solve D.npy E.npy b.npy --matrix symmetric --ranks 2 --device cpu", 2, "ranks are for positive definite matrices");
}

TEST_CASE("solve: a matrix that is not symmetric is taken as general, and the sign of its determinant is said") {
    for (const bool ring : {false, true})
        for (const auto* precision : {"f64", "f32"}) {
            const Scratch scratch;
            auto system = problems::socu({4, 6, 2, 1}, 21);
            if (ring) problems::close_ring(system, 3);
            problems::take_kind(system, MatrixKind::general, 4);
            for (auto* values : {&system.d, &system.u}) std::for_each_n(values->begin() + 4, 4, [](double& value) { value = -value; });
            for (std::size_t k = 0; ring && k < 4; ++k) system.e[5 * 16 + 4 + k] *= -1;  // row 1 of A changes its sign
            write_arrays(scratch, system);
            write_matrix_market(scratch, to_sparse(system), {24, 2, system.b});
            const auto a = dense_matrix(system);
            const Eigen::PartialPivLU<Eigen::MatrixXd> lu(a);
            REQUIRE(lu.determinant() < 0);
            const Eigen::MatrixXd expected =
                lu.solve(Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(system.b.data(), 24, 2));
            for (const std::string files :
                 {"D.npy E.npy U.npy b.npy", "A.mtx b.mtx --block 4", "A.mtx b.mtx", "A.mtx b.mtx --matrix general"}) {
                const auto ran =
                    scratch.well(fmt::format("solve {} -o x.npy --condition --device cpu --json --precision {}", files, precision));
                const bool found = files.ends_with("mtx") || files.ends_with("4");
                CHECK(says(ran.err, "A(2, 1) = ", "so A is taken as general") == found);
                const auto json = ran.json();
                check_json(json, {{"status", "ok"}, {"matrix", "general"}, {"determinant_sign", {-1}}, {"ring", ring}, {"block", 4}});
                CHECK(json["growth"][0].get<double>() > 0);
                CHECK(json["reciprocal_condition"][0].get<double>() > 1e-3);
                const double tolerance = precision[1] == '6' ? 1e-13 : 1e-5;
                CHECK(json["log_determinant"][0].get<double>() == doctest::Approx(std::log(-lu.determinant())).epsilon(tolerance));
                const auto x = parse_npy(scratch.read("x.npy"), "x").values;
                for (int row = 0; row < 24; ++row)
                    for (int column = 0; column < 2; ++column)
                        CHECK(std::abs(x[static_cast<std::size_t>(2 * row + column)] - expected(row, column)) <=
                              tolerance * expected.cwiseAbs().maxCoeff());
                const double quadratic =
                    (Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(system.b.data(), 24, 2).col(1).dot(expected.col(1)));
                CHECK(json["quadratic"][0][1].get<double>() == doctest::Approx(quadratic).epsilon(10 * tolerance));
            }
            CHECK(says(scratch.well("solve D.npy E.npy U.npy b.npy --device cpu").out, "determinant's sign", "-1"));
            CHECK(says(scratch.well("explain A.mtx b.mtx").out, "variant getrf"));
        }
}

TEST_CASE_FIXTURE(Scratch, "solve: batches of general matrices, failures, and what they do not have") {
    auto system = problems::socu({3, 5, 1, 2}, 3);
    problems::take_kind(system, MatrixKind::general, 4);
    write_arrays(*this, system);
    check_json(well("solve D.npy E.npy U.npy b.npy -o x.npy --device cpu --json").json(), {{"determinant_sign", {1, 1}}, {"batch", 2}});
    for (const auto residual : relative_residuals(system, parse_npy(read("x.npy"), "x").values)) CHECK(residual <= 1e-14);
    std::ranges::fill_n(system.d.begin() + 45, 9, 0.0);  // block 0 of member 1, whose rows are interchanged with no others
    write_arrays(*this, system);
    const auto failed = ends(1, "solve D.npy E.npy U.npy b.npy -o x.npy --device cpu --json --schedule twisted:2");
    CHECK(says(failed.err, "a pivot is zero: member 1, block 0, row 0 (from 0)", "rows are interchanged within blocks alone"));
    check_json(failed.json(), {{"status", "zero_pivot"}, {"determinant_sign", {1, 0}}});
    const auto x = parse_npy(read("x.npy"), "x").values;
    CHECK((std::isfinite(x[0]) && std::isnan(x[15])));
    check_refused("solve ", {{"D.npy E.npy b.npy --matrix general", "the arrays of a general matrix are D.npy E.npy U.npy b.npy"},
                             {"D.npy E.npy U.npy b.npy --matrix symmetric", "four arrays are D, E, U and b of a general matrix"},
                             {"D.npy E.npy D.npy b.npy", "U must be (2, 4, 3, 3), as many blocks as E has"},
                             {"D.npy E.npy U.npy b.npy --inverse i.npy j.npy", "--inverse is not there for a general matrix"},
                             {"D.npy E.npy U.npy b.npy --precision mixed", "--precision mixed is not there for a general matrix"},
                             {"D.npy E.npy U.npy b.npy --ranks 2", "--ranks is not there for a general matrix"},
                             {"D.npy E.npy U.npy b.npy --border 2", "--border 2 was given"}});
    system.u[3] = NAN;
    write_arrays(*this, system);
    check("solve D.npy E.npy U.npy b.npy", 2, "U(0, 0, 1, 0) is nan");
}

TEST_CASE_FIXTURE(Scratch, "solve: a residual above the tolerance is exit status 1, and x is written") {
    write_arrays(*this, problems::socu({6, 9}, 1));
    const auto ran = ends(1, "solve D.npy E.npy b.npy -o x.npy --device cpu --json --tolerance 0");
    CHECK(ran.json()["status"] == "inaccurate");
    CHECK(says(ran.err, "is above the tolerance"));
    CHECK(has("x.npy"));
    CHECK(run("solve D.npy E.npy b.npy --device cpu --tolerance 1e-3").status == 0);
}

TEST_CASE_FIXTURE(Scratch, "solve: one block of one row") {
    write("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 4\n");
    write("b.mtx", "%%MatrixMarket matrix array real general\n1 1\n2\n");
    CHECK(run("solve A.mtx b.mtx -o x.mtx --device cpu").status == 0);
    CHECK(std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values == std::vector<double>{0.5});
}

TEST_CASE_FIXTURE(Scratch, "solve: pipes are read like files") {
    const auto system = problems::socu({4, 5}, 1);
    write_matrix_market(*this, to_sparse(system), {20, 1, system.b});
    REQUIRE(std::system(fmt::format("cd '{}' && mkfifo pipe && (cat A.mtx >pipe &)", path.string()).c_str()) == 0);
    const auto ran = well("solve pipe b.mtx --device cpu");
}

TEST_CASE_FIXTURE(Scratch, "solve: mixed precision reaches the accuracy of f64 and says in how many iterations") {
    write_arrays(*this, problems::make("socu", {6, 20, 3, 2}, 5));
    const auto ran = well("solve D.npy E.npy b.npy -o x.npy --device cpu --precision mixed --json");
    CHECK(ran.err.empty());
    const auto json = ran.json();
    CHECK(json["precision"] == "mixed");
    CHECK(json["relative_residual"].get<double>() <= 1e-14);
    REQUIRE(json["refinement"]["iterations"].size() == 2);
    for (const auto& iterations : json["refinement"]["iterations"]) CHECK((iterations >= 1 && iterations <= 5));
    CHECK(json["refinement"]["fell_back"].empty());
    CHECK(parse_npy(read("x.npy"), "x").precision == Precision::f64);
    const auto text = run("solve D.npy E.npy b.npy --device cpu --precision mixed").out;
    CHECK(says(text, "iteration"));
}

TEST_CASE_FIXTURE(Scratch, "solve: where mixed precision does not converge, f64 is taken, and said") {
    auto system = problems::make("socu", {1, 2, 1, 3}, 5);
    make_ill_conditioned(system, 1);
    write_arrays(*this, system);
    const auto ran = well("solve D.npy E.npy b.npy -o x.npy --device cpu --precision mixed --json");
    CHECK(says(ran.err, "1 of 3 systems, solved in f64 instead: member 1"));
    CHECK(ran.json()["refinement"]["fell_back"] == std::vector{1});
    const auto x = parse_npy(read("x.npy"), "x");
    for (const auto residual : relative_residuals(system, x.values)) CHECK(residual <= 1e-14);
    const auto determinant = system.d[2] * system.d[3] - system.e[1] * system.e[1];
    CHECK(ran.json()["log_determinant"][1].get<double>() == doctest::Approx(std::log(determinant)).epsilon(1e-6));
}

TEST_CASE_FIXTURE(Scratch, "solve: mixed precision falls back beyond the range of f32, and still names what is not positive definite") {
    auto system = problems::make("socu", {4, 5, 1, 3}, 5);
    const auto size = system.d.size() / 3, couplings = system.e.size() / 3;
    for (std::size_t k = 0; k < size; ++k) system.d[k] *= 1e100;
    for (std::size_t k = 0; k < couplings; ++k) system.e[k] *= 1e100;
    system.d[2 * size + 2 * 16 + 5] = -1;  // member 2, block 2, row 1
    write_arrays(*this, system);
    const auto ran = ends(1, "solve D.npy E.npy b.npy -o x.npy --device cpu --precision mixed --json");
    const auto json = ran.json();
    CHECK(json["refinement"]["fell_back"] == std::vector{0, 2});
    REQUIRE(json["failed"].size() == 1);
    CHECK((json["failed"][0]["member"] == 2 && json["failed"][0]["block"] == 2 && json["failed"][0]["row"] == 1));
    CHECK(json["relative_residual"].get<double>() <= 1e-14);
    CHECK(run("solve D.npy E.npy b.npy --device cpu --precision mixed --inverse i.npy j.npy").status == 2);
}
