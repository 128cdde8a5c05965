#pragma once
#include <trifold/trifold.hpp>

#include "tools/bench/regret/records.hpp"
#include "tools/tune/data.hpp"

namespace trifold::regret {

/// Fills in a record's times of these operations (factor, factor_solve), residual and kernels; `data` is of the record's point. Throws what
/// the library throws.
void measure(Record& record, const Operations& operations, const tune::Data& data, const Device& device, DeviceTools& tools);

}  // namespace trifold::regret
