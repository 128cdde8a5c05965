#pragma once
#include "tests/support/test.hpp"

/// One run of the trifold command.
struct Ran {
    int status;  ///< exit status; 128 plus the number of the signal that ended it
    std::string out, err;
    nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs one simple command by the shell in `directory`.
Ran run_shell(const std::filesystem::path& directory, const std::string& command);

/// A directory of one test's own, removed at the end.
class Scratch {
  public:
    Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();
    const std::filesystem::path path;
    void write(const std::string& name, const std::string& bytes) const;
    std::string read(const std::string& name) const;
    bool has(const std::string& name) const { return std::filesystem::exists(path / name); }
    /// Names in the directory, sorted.
    std::vector<std::string> names() const;

    /// Runs `trifold ARGUMENTS` here by the shell, with this suite's own kernel cache; `environment` is put before it.
    Ran run(const std::string& arguments, const std::string& environment = "") const;
    /// A run that has to end with this status, or well.
    Ran ends(int status, const std::string& arguments, const std::string& environment = "") const;
    Ran well(const std::string& arguments, const std::string& environment = "") const { return ends(0, arguments, environment); }
    /// Checks with which status a run ends, and what its standard error says.
    void check(const std::string& arguments, int status, const std::string& words, const std::string& environment = "") const;
    /// Runs that end with status 2: what follows `begin`, and words that standard error has.
    void check_refused(const std::string& begin, const std::vector<std::pair<std::string, std::string>>& runs) const;
};
