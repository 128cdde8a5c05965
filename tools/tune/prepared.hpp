#pragma once
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/resources.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"
#include "tools/tune/trial.hpp"

/// A family gives the tuner two things to measure: random data, and a candidate that runs on them.
namespace trifold::tune {

/// Arrays on a device by name, each in `sets` copies, which calls take one after the other.
class Arrays {
  public:
    Arrays(DeviceTools& tools, Precision precision, std::int64_t sets) : tools_(tools), precision_(precision), sets_(sets) {}
    /// Rounds the values to the precision, and repeats them until a set has all its elements.
    void add(const std::string& name, std::vector<double>& values, std::int64_t elements);
    /// An array for results. Those that are looked at alone need no copy in every set.
    void add_zeros(const std::string& name, std::int64_t elements, bool in_every_set = false);
    /// An array of one set.
    void* pointer(const std::string& name, std::int64_t set) const;
    AnyArray at(const std::string& name, std::int64_t set) const;
    std::vector<double> read(const std::string& name, std::int64_t first, std::int64_t count) const;  ///< of the first set
    void poison(const std::string& name) const;                                                       ///< the first set becomes NaN
    std::int64_t sets() const { return sets_; }

  private:
    struct Place {
        std::shared_ptr<void> memory;
        std::int64_t bytes = 0, sets = 1;  // the former of a set
    };
    void place(const std::string& name, std::vector<double>& values, std::int64_t elements, std::int64_t sets);
    DeviceTools& tools_;
    Precision precision_;
    std::int64_t sets_;
    std::map<std::string, Place> places_;
};

/// Results of the operations of a Spec, by name: solutions of the first members, log determinants and the like.
struct Outputs {
    std::map<std::string, std::vector<double>> values;
    std::vector<std::string> status;  ///< how each member fared, in words that are the same whatever the order of elimination
};

/// A candidate that is ready to run on the data of its point, which must outlive it.
class Prepared {
  public:
    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    virtual ~Prepared() = default;
    virtual const std::vector<KernelResources>& resources() const = 0;
    /// Puts an operation on a set of the arrays into the stream.
    virtual void run(const std::string& operation, std::int64_t set) = 0;
    /// Waits, and throws what the library throws about its results.
    virtual void check() = 0;
    /// How members fared, and what of the factorization is in no array.
    virtual Outputs numbers() = 0;
    /// Numbers of the last call of an operation.
    virtual std::map<std::string, std::vector<double>> numbers_of(const std::string&) { return {}; }
};

/// Random arrays of a point on a device; "x" is where solutions go. A large batch repeats: a few members are made.
class PointData {
  public:
    PointData(DeviceTools& tools, Precision precision, std::int64_t sets) : arrays(tools, precision, sets) {}
    virtual ~PointData() = default;
    virtual std::unique_ptr<Prepared> prepare(const Point&, const Candidate&, const Device&) const = 0;
    /// An array of the first set, of the members that differ.
    virtual std::vector<double> result(const std::string& array) const = 0;
    /// The relative residual of X, the worst of the members that are looked at.
    virtual double residual() const = 0;
    Arrays arrays;
};

/// Thrown where a candidate does not fit into the device's memory.
class TooLarge : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The largest relative residual that is taken, of families whose solutions are exact but for rounding.
double tolerance_of(Precision precision);
/// How the second differ from the first by more than solutions with such residuals do: "inverse, by 3e-2". Empty: they agree.
std::string difference(const Outputs& first, const Outputs& second, Precision precision, double (*tolerance)(Precision) = tolerance_of);

/// The number of members that are made, by the bytes of each.
std::int64_t different_members(std::int64_t batch, std::int64_t bytes_of_each);

}  // namespace trifold::tune
