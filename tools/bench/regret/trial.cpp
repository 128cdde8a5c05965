#include "tools/bench/regret/trial.hpp"

#include "tools/bench/statistics.hpp"
#include "tools/tune/prepared.hpp"

namespace trifold::regret {

void measure(Record& record, const Operations& operations, const tune::Data& data, const Device& device, DeviceTools& tools) {
    const auto& [schedule, variant, is_auto, modelled, thirds] = record.candidate;
    const tune::Point point{spec_of(record.point, operations), record.workers};
    tune::Prepared prepared(point, {schedule, variant}, device, data, tools);
    record.kernels = tune::kernels_of(prepared.plan());
    record.residual = prepared.residual();
    record.accurate = record.residual <= tune::tolerance_of(record.point.precision);
    for (const auto operation : operations) {
        const auto floor = tune::least_seconds(point.spec, operation, device, record.workers);
        record.seconds[std::string(to_string(operation))] =
            bench::summarize(tune::take_series(prepared.timed(operation), {}, floor)).median;
    }
}

}  // namespace trifold::regret
