#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/files.hpp"

namespace trifold {

/// Its ends are above_standard, since a child's own 0 to 2 would take their place.
struct Pipe {
    explicit Pipe(const std::string& to);  ///< throws DeviceError, with what it leads to
    Descriptor read_end, write_end;
};

/// A process group for children, with all that they start. It does not outlive this process, however that ends: a shell in the group reads
/// from a pipe that this process holds open, and kills the group when the pipe closes. No signal to the parent's death alone would
/// do: compilers start others, which do not get it.
class ProcessGroup {
  public:
    /// If no shell can be started the group begins with its first child, and is killed only by this process.
    ProcessGroup();
    ProcessGroup(const ProcessGroup&) = delete;
    ProcessGroup& operator=(const ProcessGroup&) = delete;
    ~ProcessGroup();  ///< kills what is left in it
    void kill() const;

    /// Starts a program in the group, with nothing to read and `output` for all that it writes. Gives 0 and an error number when it does
    /// not start. Whoever waits for the child does so before the group ends.
    pid_t start(std::vector<std::string> arguments, std::vector<std::string> environment, int output, int& error);

  private:
    pid_t id_ = 0, keeper_ = 0;
    Descriptor held_;
};

/// The environment of this process, as `NAME=value`.
std::vector<std::string> environment_of_process();

struct Ended {
    bool started = false;
    int status = 0;                ///< as waitpid gives it; -1 when somebody else reaped the process
    std::string output;            ///< standard output and error together
    std::string describe() const;  ///< "exited with status 1", "was killed by signal 9"
};
/// Runs a program without a shell, in the C locale, and waits for it. Its temporary files go to `scratch`, unless that is empty. Throws
/// DeviceError when a limit of the system keeps it from starting.
Ended run_process(const std::vector<std::string>& arguments, const std::filesystem::path& scratch = {});

}  // namespace trifold
