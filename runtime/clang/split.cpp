#include "runtime/clang/split.hpp"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include <algorithm>

namespace trifold::clang_plugin {
namespace {

// More pieces than a small machine has cores even out; each costs about 3 ms.
constexpr std::size_t most_pieces = 6;
constexpr std::size_t small_unit = 4000;  // instructions: not worth cutting

void inline_always(llvm::Module& module) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass(false));
    passes.run(module, modules);
}

/// Copies of state would not be shared, and names that others see may be defined only once.
bool has_state(const llvm::Module& module) {
    const auto shared = [](const llvm::GlobalVariable& variable) {
        return !variable.isDeclaration() && (!variable.isConstant() || !variable.hasLocalLinkage());
    };
    return std::ranges::any_of(module.globals(), shared) || !module.alias_empty() || !module.ifunc_empty();
}

using Classes = llvm::EquivalenceClasses<const llvm::Function*>;

/// Functions that have to be compiled together: callers with whatever may be inlined into them.
Classes together(const llvm::Module& module) {
    Classes classes;
    for (const auto& function : module) {
        if (function.isDeclaration()) continue;
        classes.insert(&function);
        if (!function.hasLocalLinkage()) continue;
        for (const auto* user : function.users()) {
            const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
            const bool separable =
                call != nullptr && function.hasFnAttribute(llvm::Attribute::NoInline) && call->getCalledFunction() == &function;
            const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
            if (!separable && instruction != nullptr) classes.unionSets(&function, instruction->getFunction());
        }
    }
    return classes;
}

struct Group {
    std::vector<std::string> names;
    std::size_t work = 0;
};

std::vector<Group> groups_of(const llvm::Module& module) {
    const auto classes = together(module);
    std::vector<Group> groups;
    llvm::DenseMap<const llvm::Function*, std::size_t> number;
    for (const auto& function : module) {  // in the module's order, which does not depend on addresses
        if (function.isDeclaration()) continue;
        const auto [entry, first] = number.try_emplace(classes.getLeaderValue(&function), groups.size());
        if (first) groups.emplace_back();
        auto& group = groups[entry->second];
        group.names.push_back(function.getName().str());
        group.work += function.getInstructionCount();
    }
    std::ranges::stable_sort(groups, std::greater(), &Group::work);
    return groups;
}

/// The largest group first, each to the piece with the least work so far.
std::vector<std::vector<std::string>> distribute(std::vector<Group> groups, std::size_t pieces) {
    std::vector<Group> result(std::min(pieces, groups.size()));
    for (auto& group : groups) {
        auto& least = *std::ranges::min_element(result, {}, &Group::work);
        least.work += group.work;
        std::ranges::move(group.names, std::back_inserter(least.names));
    }
    std::vector<std::vector<std::string>> names;
    for (auto& piece : result) names.push_back(std::move(piece.names));
    return names;
}

}  // namespace

Pieces::Pieces(llvm::Module& module) {
    inline_always(module);
    const bool whole = has_state(module) || module.getInstructionCount() < small_unit;
    names_ = distribute(groups_of(module), whole ? 1 : most_pieces);
    llvm::raw_string_ostream stream(bitcode_);
    llvm::WriteBitcodeToFile(module, stream);
}

std::unique_ptr<llvm::Module> Pieces::piece(std::size_t index, llvm::LLVMContext& context) const {
    auto module = llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode_, "kernel"), context));
    if (size() == 1) return module;
    llvm::StringSet<> mine;
    for (const auto& name : names_[index]) mine.insert(name);
    const auto shared = [&](const llvm::Function& function) {
        return std::ranges::any_of(function.users(), [&](const llvm::User* user) {
            const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
            return instruction == nullptr || mine.contains(instruction->getFunction()->getName()) != mine.contains(function.getName());
        });
    };
    std::vector<llvm::Function*> hidden, others;
    for (auto& function : *module) {
        if (function.isDeclaration()) continue;
        if (function.hasLocalLinkage() && shared(function)) hidden.push_back(&function);
        if (!mine.contains(function.getName())) others.push_back(&function);
    }
    for (auto* function : hidden) {
        function->setLinkage(llvm::GlobalValue::ExternalLinkage);
        function->setVisibility(llvm::GlobalValue::HiddenVisibility);
        function->setDSOLocal(true);
    }
    for (auto* function : others) function->deleteBody();
    return module;
}

}  // namespace trifold::clang_plugin
