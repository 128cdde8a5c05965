#pragma once
#include <initializer_list>
#include <string>
#include <trifold/precision.hpp>
#include <vector>

namespace trifold::command {

/// A file that a verb writes.
struct File {
    std::string name, bytes;
};

/// Options of `problem` that all families have.
struct ProblemOptions {
    std::string name, precision_name = "f64", format = "npy", output = ".";
    std::int64_t rhs = 1, batch = 1;
    std::uint64_t seed = 42;
    bool force = false;

    Precision precision() const { return parse_precision(precision_name); }
    /// Values are as the precision has them.
    void round(std::initializer_list<std::vector<double>*> all) const;
    /// An array [batch][...] as a NumPy file, without the first axis for one system.
    File array(const char* name, std::vector<std::int64_t> shape, const std::vector<double>& values) const;
};

}  // namespace trifold::command
