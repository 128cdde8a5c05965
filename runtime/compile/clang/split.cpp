#include "runtime/compile/clang/split.hpp"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace trifold::clang_plugin {
namespace {

// More pieces than a small machine has cores even out; each costs about 3 ms.
constexpr std::size_t max_pieces = 8;
constexpr std::size_t small_unit = 2000;  // instructions: not worth cutting

/// Copies of state would not be shared, and names that others see may be defined only once.
bool has_state(const llvm::Module& module) {
    const auto shared = [](const llvm::GlobalVariable& variable) {
        return !variable.isDeclaration() && (!variable.isConstant() || !variable.hasLocalLinkage());
    };
    return std::ranges::any_of(module.globals(), shared) || !module.alias_empty() || !module.ifunc_empty();
}

bool only_called(const llvm::Function& function) {
    return std::ranges::all_of(function.users(), [&](const llvm::User* user) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        return call != nullptr && call->getCalledFunction() == &function;
    });
}

/// Vanishes into its callers, so every piece that calls it has a copy.
bool is_copied(const llvm::Function& function) {
    return function.hasLocalLinkage() && function.hasFnAttribute(llvm::Attribute::AlwaysInline) && only_called(function);
}

/// May be in another piece than its callers.
bool is_separable(const llvm::Function& function) {
    return !function.hasLocalLinkage() || function.hasFnAttribute(llvm::Attribute::NoInline) || !only_called(function);
}

/// A function that is not copied, with those that are inlined into it and the others it refers to.
struct Root {
    llvm::Function* function;
    llvm::SetVector<llvm::Function*> bodies, others;
    std::size_t work = 0;  ///< instructions once all is inlined
};

void visit(Root& root, llvm::Function& function) {
    root.work += function.getInstructionCount();
    root.bodies.insert(&function);
    for (auto& instruction : llvm::instructions(function)) {
        for (const auto& operand : instruction.operands()) {
            auto* used = llvm::dyn_cast<llvm::Function>(operand);
            if (used == nullptr || used->isDeclaration()) continue;
            if (is_copied(*used))
                visit(root, *used);
            else
                root.others.insert(used);
        }
    }
}

std::vector<Root> roots_of(llvm::Module& module) {
    std::vector<Root> roots;
    for (auto& function : module) {  // in the module's order, which does not depend on addresses
        if (function.isDeclaration() || is_copied(function)) continue;
        visit(roots.emplace_back(Root{&function, {}, {}}), function);
    }
    return roots;
}

/// Roots that are compiled together.
struct Group {
    std::vector<const Root*> roots;
    std::size_t work = 0;
};

std::vector<Group> groups_of(const std::vector<Root>& roots) {
    llvm::EquivalenceClasses<const llvm::Function*> together;
    for (const auto& root : roots) {
        together.insert(root.function);
        for (const auto* other : root.others) {
            if (!is_separable(*other)) together.unionSets(root.function, other);
        }
    }
    std::vector<Group> groups;
    llvm::DenseMap<const llvm::Function*, std::size_t> number;
    for (const auto& root : roots) {
        const auto [entry, first] = number.try_emplace(together.getLeaderValue(root.function), groups.size());
        if (first) groups.emplace_back();
        groups[entry->second].roots.push_back(&root);
        groups[entry->second].work += root.work;
    }
    return groups;
}

/// The largest group first, each to the piece with the least work so far.
std::vector<Group> distribute(std::vector<Group> groups, std::size_t pieces) {
    std::ranges::stable_sort(groups, std::greater(), &Group::work);
    std::vector<Group> result(std::min(pieces, groups.size()));
    for (auto& group : groups) {
        auto& least = *std::ranges::min_element(result, {}, &Group::work);
        least.work += group.work;
        std::ranges::move(group.roots, std::back_inserter(least.roots));
    }
    return result;
}

void hide(llvm::Function& function) {
    if (!function.hasLocalLinkage()) return;
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    function.setDSOLocal(true);
}

}  // namespace

Pieces::Pieces(llvm::Module& module) {
    const bool whole = has_state(module) || module.getInstructionCount() < small_unit;
    const auto roots = roots_of(module);
    for (const auto& piece : distribute(groups_of(roots), whole ? 1 : max_pieces)) {
        llvm::SetVector<llvm::Function*> bodies, others;
        for (const auto* root : piece.roots) {
            bodies.insert(root->bodies.begin(), root->bodies.end());
            others.insert(root->others.begin(), root->others.end());
        }
        names_.emplace_back();
        for (const auto* function : bodies) names_.back().push_back(function->getName().str());
        for (auto* function : others) {
            if (!bodies.contains(function)) hide(*function);
        }
    }
    for (const auto& root : roots) {
        if (!whole && !only_called(*root.function)) hide(*root.function);  // a table may refer to it
    }
    llvm::raw_string_ostream stream(bitcode_);
    llvm::WriteBitcodeToFile(module, stream);
}

std::unique_ptr<llvm::Module> Pieces::piece(std::size_t index, llvm::LLVMContext& context) const {
    const llvm::MemoryBufferRef buffer(bitcode_, "kernel");
    if (size() == 1) return llvm::cantFail(llvm::parseBitcodeFile(buffer, context));
    auto module = llvm::cantFail(llvm::getLazyBitcodeModule(buffer, context));
    llvm::StringSet<> mine;
    for (const auto& name : names_[index]) mine.insert(name);
    for (auto& function : *module) {
        if (!function.isDeclaration() && !mine.contains(function.getName())) function.deleteBody();
    }
    llvm::cantFail(module->materializeAll());
    return module;
}

}  // namespace trifold::clang_plugin
