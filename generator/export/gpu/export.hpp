#pragma once
#include <trifold/generate.hpp>
#include <trifold/program.hpp>

#include "generator/export/text.hpp"

namespace trifold {

/// A self-contained C project to make: a solver for one Spec on the driver of CUDA or of HIP, for devices of some architectures.
struct GpuExportRequest {
    Spec spec;                    ///< row-major and dense, E the lower coupling; operations with factor_solve, or with factor and solve
    std::vector<Target> targets;  ///< all of one of the two, none twice
    Tuning tuning;
    std::string prefix = "btd";  ///< begins every name; a C identifier
};

/// The compiled kernels of one Program, with the resources that the compiler reported.
struct KernelCode {
    std::string bytes, compiler;
    std::vector<KernelResources> kernels;
};

/// Operations of an exported solver by default: those of a C99 export.
Operations export_operations();

/// Whether export goes to a GPU: "cuda:..." or "hip:...".
bool is_gpu_export(std::string_view targets);
/// Parses cuda:sm_87,sm_110 or hip:gfx90a,gfx942. Throws SpecError.
std::vector<Target> parse_gpu_targets(std::string_view text);

/// The Programs to compile, one of one unit for each target. Throws SpecError.
std::vector<Program> gpu_export_programs(const GpuExportRequest& request);

/// The files. Pure: same request and code, same bytes. `code` in the targets' order, or none: then the project compiles its
/// kernels where it is built. Throws SpecError.
std::vector<ExportedFile> export_gpu_project(const GpuExportRequest& request, const std::vector<KernelCode>& code = {});

}  // namespace trifold
