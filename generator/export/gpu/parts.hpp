#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "generator/export/gpu/export.hpp"
#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// A request and what follows from it.
struct GpuExport {
    const GpuExportRequest& request;
    std::vector<Design> designs;          ///< in the targets' order
    const std::vector<KernelCode>& code;  ///< as many as designs, or none
    std::string command;                  ///< makes the project again
    const Spec& spec() const { return request.spec; }
    Backend backend() const { return request.targets.front().backend; }
    std::string backend_name() const { return std::string(to_string(backend())); }
    /// Bytes that are enough on any of the architectures.
    std::int64_t workspace_bytes() const { return std::ranges::max(designs, {}, &Design::workspace_bytes).workspace_bytes; }
};

/// "cuda:sm_87,sm_110"
std::string targets_text(const GpuExportRequest& request);

/// Flops of one system under a Design's schedule, as socu counts: potrf n^3/3, trsm n^3, syrk n^3, gemm 2 n^3; a triangular solve n^2 and
/// a product 2 n^2 a right-hand side.
std::int64_t nominal_factor_flops(const Design& design);
std::int64_t nominal_solve_flops(const Design& design);

/// The C texts, with the request's prefix; kernels keep their own names, which begin with btd.
std::string gpu_header(const GpuExport& project);
std::string gpu_source(const GpuExport& project);
std::string gpu_example(const GpuExport& project);
/// An image as a C array with the prefix btd, to the byte what embed.sh makes of the file.
std::string embedded(std::string_view arch, std::string_view file, std::string_view bytes);

std::string gpu_manifest(const GpuExport& project, const std::vector<ExportedFile>& files);

}  // namespace trifold
