#include <utility>

#include "tools/tune/database.hpp"
#include "tools/tune/keys.hpp"
#include "tools/tune/sqlite.hpp"

namespace trifold::tune {
namespace {

Owner owner_of(const Statement& row, int column) {
    return {row.text(column), row.text(column + 1), row.number(column + 2), row.number(column + 3)};
}

}  // namespace

bool Database::claim(const Machine& machine, const Point& point) {
    const auto key = point_key(machine, point);
    const auto self = this_owner();
    Transaction transaction(*connection_);
    {
        Statement row(*connection_, "SELECT host, kernel, pid, begun FROM claims WHERE key = ?", key);
        if (row.step()) {
            const auto owner = owner_of(row, 0);
            if (owner == self) return true;
            if (may_live(owner)) return false;
        }
    }
    Statement(*connection_, "INSERT OR REPLACE INTO claims(key, machine, point, host, kernel, pid, begun) VALUES (?, ?, ?, ?, ?, ?, ?)",
              key, machine.device + " " + machine.target, to_string(point), self.host, self.machine, self.pid, self.begun)
        .step();
    transaction.commit();
    return true;
}

void Database::release(const Machine& machine, const Point& point) {
    const auto self = this_owner();
    Statement(*connection_, "DELETE FROM claims WHERE key = ? AND kernel = ? AND pid = ? AND begun = ?", point_key(machine, point),
              self.machine, self.pid, self.begun)
        .step();
}

std::vector<Claim> Database::claims() const {
    std::vector<Claim> result;
    Statement rows(*connection_, "SELECT machine, point, host, kernel, pid, begun FROM claims ORDER BY key");
    while (rows.step()) {
        Claim claim{rows.text(0), rows.text(1), owner_of(rows, 2)};
        if (may_live(claim.owner)) result.push_back(std::move(claim));
    }
    return result;
}

std::int64_t Database::release_all() {
    connection_->run("DELETE FROM claims");
    return connection_->changes();
}

}  // namespace trifold::tune
