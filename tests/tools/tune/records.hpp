#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/tune/database.hpp"

/// A machine that is none of this test's: nothing of it is looked at.
trifold::tune::Machine a_machine(const std::string& device = "NVIDIA H200", const std::string& target = "cuda:sm_90");
/// The k-th of some points that differ in all that a key has.
trifold::tune::Point a_point(int k);
/// Different in every field for each k, with every verdict and letters that formats trip over.
trifold::tune::Trial a_trial(int k, const trifold::tune::Machine& machine = a_machine());
trifold::tune::Decision a_decision(int k, const trifold::tune::Machine& machine = a_machine());

/// All fields as text.
std::vector<std::string> texts(const std::vector<trifold::tune::Trial>& trials);

/// A directory of one test's own, removed at the end.
class Folder {
  public:
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    const std::filesystem::path path;
    std::filesystem::path database() const { return path / "tuning.db"; }
};
std::string bytes_of(const std::filesystem::path& path);
void put_bytes(const std::filesystem::path& path, const std::string& bytes);

/// What it throws says; empty where it throws nothing.
std::string complaint(const std::function<void()>& action);
/// Runs it in a child process, which ends at once with what it returns, or 99 where it throws; returns the child's number.
int begin_child(const std::function<int()>& action);
/// Exit status, or 128 and the signal.
int wait_for(int child);
