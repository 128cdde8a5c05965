#include "tools/tune/ledger.hpp"

namespace trifold::tune {

Ledger::Ledger(Database& database, Machine machine, const TuneOptions& options, const SweepListener& listener, std::size_t points)
    : database_(database), machine_(std::move(machine)), generator_(generator_version()), options_(options), listener_(listener) {
    report_.state.points = points;
}

std::vector<Trial> Ledger::trials(const Point& point) {
    const std::scoped_lock lock(mutex_);
    return database_.trials(machine_, generator_, point);
}

std::vector<Trial> Ledger::all_trials() {
    const std::scoped_lock lock(mutex_);
    auto all = database_.all_trials();
    std::erase_if(all, [&](const Trial& trial) { return !(trial.machine == machine_) || trial.generator != generator_; });
    return all;
}

std::optional<Decision> Ledger::decision(const Point& point) {
    const std::scoped_lock lock(mutex_);
    return database_.decision(machine_, generator_, point);
}

bool Ledger::claim(const Point& point) {
    const std::scoped_lock lock(mutex_);
    return database_.claim(machine_, point);
}

void Ledger::release(const Point& point) {
    const std::scoped_lock lock(mutex_);
    database_.release(machine_, point);
}

void Ledger::append(const Trial& trial) {
    const std::scoped_lock lock(mutex_);
    database_.append(trial);
    ++report_.state.trials;
    if (trial.verdict != Verdict::sound) ++report_.state.failures[trial.verdict];
    tell();
}

void Ledger::append(const Decision& decision) {
    const std::scoped_lock lock(mutex_);
    database_.append(decision);
}

void Ledger::add(PointResult result) {
    const std::scoped_lock lock(mutex_);
    ++report_.state.done;
    report_.results.push_back(std::move(result));
    if (listener_.done) listener_.done(report_.results.back());
    tell();
}

void Ledger::show(const std::string& now, const std::string& best) {
    const std::scoped_lock lock(mutex_);
    report_.state.now = now;
    report_.state.best = best;
    tell();
}

double Ledger::seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

void Ledger::tell() {
    report_.state.seconds = seconds();
    if (listener_.progress) listener_.progress(report_.state);
}

bool Ledger::is_over() const {
    const bool is_late = options_.budget_seconds > 0 && seconds() > options_.budget_seconds;
    return given_up_ || is_late || (options_.stop != nullptr && *options_.stop);
}

void Ledger::give_up(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    if (problem_.empty()) problem_ = why;
    given_up_ = true;
}

std::string Ledger::problem() {
    const std::scoped_lock lock(mutex_);
    return problem_;
}

SweepReport Ledger::report() {
    const std::scoped_lock lock(mutex_);
    report_.state.seconds = seconds();
    report_.complete = report_.state.done == report_.state.points;
    return report_;
}

}  // namespace trifold::tune
