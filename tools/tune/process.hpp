#pragma once
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace trifold::tune {

/// How a process ended that had only so much time.
struct Finished {
    bool started = false, timed_out = false, stopped = false;
    int status = 0;      ///< as waitpid gives it
    std::string output;  ///< the end of what it wrote to standard output and error
    bool succeeded() const { return started && !timed_out && !stopped && status == 0; }
    std::string describe() const;  ///< "exited with status 1", "was killed by signal 11", "had not ended in time, and was killed"
};

/// Runs a program without a shell, in a process group of its own. After `seconds`, or when it is asked to stop, the whole group is killed:
/// also a compiler that the program has started and that hangs. So is it when this process ends. `seen` is called with each line that the
/// program writes, and returns how many seconds it has from then on. Throws DeviceError where there is no pipe.
Finished run_limited(const std::vector<std::string>& arguments, double seconds, const std::stop_token& stop = {},
                     const std::function<double(const std::string& line)>& seen = {});

}  // namespace trifold::tune
