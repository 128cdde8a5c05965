#include "tools/formats/npy.hpp"

#include "tests/tools/formats/expect.hpp"

using namespace trifold;
using namespace trifold::formats;
using namespace std::string_literals;

namespace {

/// A file of format `version` with this dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
    const auto length = dictionary.size();
    auto bytes =
        "\x93NUMPY"s + static_cast<char>(version) + '\0' + static_cast<char>(length & 0xff) + static_cast<char>(length >> 8 & 0xff);
    if (version > 1) bytes += "\0\0"s;
    return bytes + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
}

template <class Real>
std::string raw(std::initializer_list<Real> values, bool big_endian = false) {
    std::string bytes;
    for (const auto value : values) {
        std::string one(reinterpret_cast<const char*>(&value), sizeof(Real));
        bytes += big_endian ? std::string(one.rbegin(), one.rend()) : one;
    }
    return bytes;
}

}  // namespace

TEST_CASE("npy: both precisions, both byte orders, all three versions") {
    const std::vector<double> expected{1.5, -2, 0.25, 4, 5, -6};
    for (const int version : {1, 2, 3}) {
        for (const bool big : {false, true}) {
            const auto wide =
                parse_npy(npy(dictionary(big ? ">f8" : "<f8", "(2, 3)"), raw<double>({1.5, -2, 0.25, 4, 5, -6}, big), version), "x");
            CHECK(wide.values == expected);
            CHECK(wide.precision == Precision::f64);
            CHECK(wide.shape == std::vector<std::int64_t>{2, 3});
            const auto narrow =
                parse_npy(npy(dictionary(big ? ">f4" : "<f4", "(2, 3)"), raw<float>({1.5F, -2, 0.25F, 4, 5, -6}, big), version), "x");
            CHECK(narrow.values == expected);
            CHECK(narrow.precision == Precision::f32);
        }
    }
    CHECK(parse_npy(npy(dictionary("=f8", "(1,)"), raw<double>({7})), "x").values == std::vector<double>{7});
}

TEST_CASE("npy: Fortran order becomes C order") {
    const auto array = parse_npy(npy(dictionary("<f8", "(2, 3)", true), raw<double>({0, 10, 1, 11, 2, 12})), "x");
    CHECK(array.values == std::vector<double>{0, 1, 2, 10, 11, 12});
    // Element (i, j, k) = 100 i + 10 j + k, stored with i fastest.
    std::string data;
    for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 2; ++i) data += raw<double>({100.0 * i + 10 * j + k});
    const auto cube = parse_npy(npy(dictionary("<f8", "(2, 3, 2)", true), data), "x");
    CHECK(cube.values == std::vector<double>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
}

TEST_CASE("npy: empty axes and scalars") {
    CHECK(parse_npy(npy(dictionary("<f8", "(0, 4, 4)"), ""), "x").values.empty());
    CHECK(parse_npy(npy(dictionary("<f8", "(0, 9223372036854775807, 9223372036854775807)"), ""), "x").values.empty());
    CHECK(parse_npy(npy(dictionary("<f8", "()"), raw<double>({3})), "x").values == std::vector<double>{3});
}

TEST_CASE("npy: what is written reads back to the bit, with an aligned header") {
    for (const auto precision : {Precision::f32, Precision::f64}) {
        const Array array{{2, 2}, precision, {1, -0.0, 0x1p-149, std::numeric_limits<float>::max()}};
        const auto bytes = format_npy(array);
        CHECK((bytes.find('\n') + 1) % 64 == 0);
        const auto again = parse_npy(bytes, "x");
        CHECK(again.shape == array.shape);
        CHECK(again.precision == precision);
        CHECK(again.values == array.values);
        CHECK(std::signbit(again.values[1]));
    }
    const auto nan = parse_npy(format_npy({{1}, Precision::f64, {std::nan("")}}), "x");
    CHECK(std::isnan(nan.values[0]));
}

TEST_CASE("npy: headers with other spacing, quotes and key order") {
    const auto data = raw<double>({1, 2});
    CHECK(parse_npy(npy("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f8\"}", data), "x").values.size() == 2);
    CHECK(parse_npy(npy("  { 'fortran_order' : True , 'shape' : ( 1 , 2 ) , 'descr' : '<f8' , }   \n", data), "x").values.size() == 2);
}

TEST_CASE("npy: garbage is refused with a reason") {
    const auto good = npy(dictionary("<f8", "(2,)"), raw<double>({1, 2}));
    CHECK_INPUT_ERROR("signature", parse_npy("garbage", "x"));
    CHECK_INPUT_ERROR("signature", parse_npy("", "x"));
    CHECK_INPUT_ERROR("'name.npy'", parse_npy("", "name.npy"));
    for (std::size_t length = 6; length < good.size(); ++length) {
        INFO("cut to ", length);
        CHECK_INPUT_ERROR("not a usable .npy file", parse_npy(good.substr(0, length), "x"));
    }
    CHECK_INPUT_ERROR("17 are there", parse_npy(good + "z", "x"));
    CHECK_INPUT_ERROR("version 9", parse_npy(npy(dictionary("<f8", "(2,)"), raw<double>({1, 2}), 9), "x"));
    for (const std::string type : {"<i8", "<c16", "|b1", "<f2", "<f16", "", "f", "|f8", "?f8"})
        CHECK_INPUT_ERROR("give real numbers, f4 or f8", parse_npy(npy(dictionary(type, "(2,)"), raw<double>({1, 2})), "x"));
    CHECK_INPUT_ERROR("records", parse_npy(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", ""), "x"));
    CHECK_INPUT_ERROR("too large for a 64-bit size", parse_npy(npy(dictionary("<f8", "(4294967296, 4294967296)"), ""), "x"));
    CHECK_INPUT_ERROR("needs 1000000000000000 x 8 bytes", parse_npy(npy(dictionary("<f8", "(1000000000000000,)"), "abc"), "x"));
    CHECK_INPUT_ERROR("needs", parse_npy(npy(dictionary("<f8", "(9223372036854775807,)"), "abc"), "x"));
    CHECK_INPUT_ERROR("whole number", parse_npy(npy(dictionary("<f8", "(-1,)"), ""), "x"));
    CHECK_INPUT_ERROR("whole number", parse_npy(npy(dictionary("<f8", "(99999999999999999999,)"), ""), "x"));
    CHECK_INPUT_ERROR(
        "dimensions",
        parse_npy(npy(dictionary("<f8", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "12345678"), "x"));
    CHECK_INPUT_ERROR("lacks", parse_npy(npy("{'descr': '<f8', 'shape': (2,)}", ""), "x"));
    CHECK_INPUT_ERROR("repeated", parse_npy(npy("{'descr': '<f8', 'descr': '<f8'}", ""), "x"));
    CHECK_INPUT_ERROR("unknown", parse_npy(npy("{'color': 'red'}", ""), "x"));
    CHECK_INPUT_ERROR("neither True nor False", parse_npy(npy("{'fortran_order': 1}", ""), "x"));
    CHECK_INPUT_ERROR("goes on", parse_npy(npy(dictionary("<f8", "(2,)") + "x", raw<double>({1, 2})), "x"));
    CHECK_INPUT_ERROR("announces 4294967295 bytes", parse_npy("\x93NUMPY\x02\x00\xff\xff\xff\xff"s, "x"));
}
