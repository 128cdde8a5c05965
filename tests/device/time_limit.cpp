// A time limit for each case, since a kernel that hangs never returns: 300 seconds, or those of its doctest::timeout. The process ends with
// the name of the case and what it has captured.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace {

constexpr unsigned usual_seconds = 300, seconds_to_report = 10;
std::string complaint;  // about the case that runs; made before, since little may be called in a signal's handler

void say(const std::string& text) { [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size()); }

void give_up(int) {
    say(complaint);
    // What follows may hang too, where the case was interrupted within malloc. Then the next alarm ends the process.
    std::signal(SIGALRM, SIG_DFL);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, nullptr);
    alarm(seconds_to_report);
    std::ostringstream captured;
    for (int k = 0; k < doctest::IReporter::get_num_active_contexts(); ++k) {
        doctest::IReporter::get_active_contexts()[k]->stringify(&captured);
        captured << "\n";
    }
    say(captured.str());
    std::cout.flush();
    std::_Exit(EXIT_FAILURE);
}

class TimeLimit : public doctest::IReporter {
  public:
    explicit TimeLimit(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& test) override {
        const auto seconds = test.m_timeout > 0 ? static_cast<unsigned>(test.m_timeout) : usual_seconds;
        complaint = fmt::format("\ntime limit: the case '{}' takes more than {} s\n", test.m_name, seconds);
        std::signal(SIGALRM, give_up);
        alarm(seconds);
    }
    void test_case_end(const doctest::CurrentTestCaseStats&) override { alarm(0); }

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("time_limit", 1, TimeLimit);
