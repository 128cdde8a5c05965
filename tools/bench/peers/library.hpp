#pragma once
#include <string>
#include <trifold/error.hpp>
#include <vector>

namespace trifold::bench {

/// A shared library of a peer, looked for in the directories of TRIFOLD_PEERS, then where the system looks, then in the CUDA toolkit.
/// It stays open: libraries that others need do not survive being closed.
class Library {
  public:
    /// The first of `names` that opens. Throws Error saying what is missing.
    explicit Library(std::vector<std::string> names);

    /// A function by its name. Throws Error when the library has none.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

    /// Calls a function that returns a status, 0 for success; throws Error naming it otherwise. Arguments are passed as they are, so
    /// their types have to be the function's.
    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        if (const int status = find<int(Arguments...)>(name)(arguments...); status != 0) fail(name, status);
    }

  private:
    void* address(const char* name) const;
    [[noreturn]] static void fail(const char* name, int status);
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace trifold::bench
