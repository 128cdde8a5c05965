#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/generate.hpp>

#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/identity.hpp"
#include "generator/tridiagonal/mixed.hpp"

namespace trifold {

Program generate(const Choice& choice, Packing packing) {
    auto plain = design(choice);
    auto program = is_wrapped(plain) ? wrap_mixed(std::move(plain), packing) : write_down(plain, packing);
    program.about = about_json(choice).dump();
    return program;
}

Program generate(const Spec& spec, const Target& target, const Tuning& tuning, Packing packing) {
    return generate(choose(spec, target, tuning), packing);
}

}  // namespace trifold
