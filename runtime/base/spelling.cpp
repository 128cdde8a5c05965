#include "runtime/base/spelling.hpp"

#include <algorithm>
#include <vector>

namespace trifold {

std::size_t spelling_distance(std::string_view left, std::string_view right) {
    std::vector<std::vector<std::size_t>> steps(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
    for (std::size_t i = 0; i <= left.size(); ++i) {
        for (std::size_t j = 0; j <= right.size(); ++j) {
            auto& least = steps[i][j] = i + j;
            if (i == 0 || j == 0) continue;
            const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
            least = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                least = std::min(least, steps[i - 2][j - 2] + 1);
        }
    }
    return steps[left.size()][right.size()];
}

}  // namespace trifold
