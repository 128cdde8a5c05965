#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/tune/report.hpp"

namespace trifold::command {

/// Where a verb takes trials and decisions from: files, a database, or the user's own one where neither is given.
class RecordSource {
  public:
    void add_to(CLI::App& app);
    /// Throws InputError with the file and the line that is no record. What a database cannot read is left out, and said.
    tune::Records read() const;

  private:
    std::vector<std::string> files_;
    std::string database_;
};

}  // namespace trifold::command
