#pragma once
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace trifold::clang_plugin {

/// A unit before optimization, cut into pieces of about equal work that can be compiled at the same time. The cut depends on the
/// unit alone, never on the machine, so that the code does not either. Functions that may be inlined stay with their callers.
class Pieces {
  public:
    /// Functions called across pieces become hidden symbols of the module.
    explicit Pieces(llvm::Module& module);
    std::size_t size() const { return names_.size(); }
    /// The module with the functions of one piece only, and what is inlined into them. Thread-safe.
    std::unique_ptr<llvm::Module> piece(std::size_t index, llvm::LLVMContext& context) const;

  private:
    std::string bitcode_;
    std::vector<std::vector<std::string>> names_;  ///< functions by piece
};

}  // namespace trifold::clang_plugin
