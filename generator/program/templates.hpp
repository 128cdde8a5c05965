#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <trifold/target.hpp>
#include <vector>

namespace trifold {

/// `name` as listed in templates/, such as "cpu/tridiagonal/finish.c", or "grid_args.h" of generator/trifold. The text is embedded at build
/// time. Builds of developers read it from the folder that TRIFOLD_TEMPLATES names, if that is set. Throws SpecError when there is none.
std::string_view template_text(std::string_view name);

/// Names of the embedded texts, sorted.
std::vector<std::string_view> template_names();

/// The environment variable that names a folder of templates, and whether this build reads it (TRIFOLD_DEVELOPER in CMake).
inline constexpr const char* templates_switch = "TRIFOLD_TEMPLATES";
bool reads_template_folder();

/// Its path from the repository's root, for messages.
std::string template_path(std::string_view name);

/// Source of templates' texts: template_text, or a function of a test.
using TemplateReader = std::string_view (*)(std::string_view name);

/// Dialect of a unit. It decides which header takes the place of "gpu/platform.cuh", which every GPU kernel needs.
enum class Platform { none, cuda, hip };
/// Dialect of a GPU's target.
Platform platform_of(const Target& target);
/// Options of the compiler that all units of a target have. On GPUs ptxas reports registers and spills in the log, where the runtime reads
/// them; AMD's code objects carry them.
std::vector<std::string> unit_options(const Target& target);
/// A name in capitals, as constants have it.
std::string upper(std::string_view name);
/// Name of a kernel in the templates, which define the kernels that have a name; and the line that gives it one.
std::string kernel_macro(std::string_view kernel);
std::string define_kernel(std::string_view kernel, std::string_view name);

/// The text of templates with all that they need. A template names what it needs in lines such as
///     #include "gpu/tridiagonal/common.cuh"
/// Each file is pasted once, after the files that it needs. A line with its name comes first: see marker. Those lines of #include are left
/// out. Throws SpecError, with the chain of files, when a name is unknown or files need one another in a circle.
std::string paste(const std::vector<std::string>& roots, Platform platform = Platform::none, TemplateReader read = template_text);

/// A unit of constants, as lines of #define, and a pasted text that reads them as TRIFOLD_*: the constants that the text does not name are
/// left out.
std::string with_constants(std::string_view constants, std::string_view text);

/// The line that stands before each template of a unit.
std::string marker(std::string_view name);

/// A line of a template.
struct TemplateLine {
    std::string file;      ///< such as "gpu/tridiagonal/common.cuh"; empty: the line is from no template
    std::size_t line = 0;  ///< from 1
};

/// Template and line that each line of a unit comes from. Lines behind an edited or unknown marker come from no template.
std::vector<TemplateLine> places_of(std::string_view unit, TemplateReader read = template_text);

}  // namespace trifold
