#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/cpu/problem.hpp"
#include "tests/support/emulator/unit.hpp"

namespace trifold::test {

template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

/// The workspace, every byte 0xff at first, a NaN in both precisions, but for what must be zero or has given contents.
class EmulatedWorkspace {
  public:
    explicit EmulatedWorkspace(const Program& program)
        : memory_(static_cast<std::size_t>(program.workspace_bytes + workspace_alignment), '\xff') {
        for (const auto& item : program.buffers) {
            if (item.zeroed) std::fill_n(data() + item.offset, item.bytes, '\0');
            std::ranges::copy(item.contents, data() + item.offset);
        }
    }
    char* data() { return memory_.data() + (-reinterpret_cast<std::uintptr_t>(memory_.data()) & (workspace_alignment - 1)); }
    template <class T>
    const T* buffer(const Program& program, std::string_view name) {
        return reinterpret_cast<const T*>(data() + trifold::buffer(program, name).offset);
    }

  private:
    std::vector<char> memory_;
};

inline std::vector<System> random_systems(const Spec& spec, unsigned seed) {
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, spec.rhs, seed + static_cast<unsigned>(m)));
    return systems;
}

template <class Real>
trifold_args arguments(const Spec& spec, const Arrays<Real>& user, std::vector<Real>& x, EmulatedWorkspace& workspace) {
    const auto s = rhs_strides(spec, spec.rhs);
    trifold_args args{};
    args.d = user.d.data(), args.e = user.e.data(), args.b = user.b.data(), args.x = x.data();
    args.b_strides = args.x_strides = {s.row, s.column, s.stage, s.member};
    args.columns = spec.rhs;
    args.members = spec.batch;
    args.workspace = workspace.data();
    return args;
}

}  // namespace trifold::test
