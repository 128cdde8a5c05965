#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace trifold {

/// Templates that are read from a folder at run time, each once. `folder` is laid out as templates/ is.
class TemplateFolder {
  public:
    /// `switch_name` is for messages: the environment variable that named the folder. Throws SpecError when there is no such folder.
    TemplateFolder(std::string folder, std::string switch_name);

    /// Throws SpecError when the file cannot be read. Throws it also when the file is compiled into this program and has changed since:
    /// host and kernels would disagree.
    std::string_view text(std::string_view name);

  private:
    std::string folder_, switch_name_;
    std::mutex mutex_;
    std::map<std::string, std::string, std::less<>> texts_;
};

/// Whether the generator includes the template in its own code, so that an edit needs a build.
bool is_compiled_in(std::string_view name);

/// The texts that are part of the program. embed.cmake writes these functions. Throws SpecError when there is no text of that name.
std::string_view embedded_text(std::string_view name);

/// All names, sorted.
std::vector<std::string_view> embedded_names();

/// A hash of all files that the generator is made of, with templates and facts of devices: what it wrote may be kept under it and its
/// input.
std::string_view generator_hash();

}  // namespace trifold
