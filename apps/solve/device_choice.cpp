#include "device_choice.hpp"

#include "option_values.hpp"
#include "summary_text.hpp"

#include "solvers/persistent_kernel.hpp"
#include "spmv/registry.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string_view option_word(Determinism determinism) {
  return determinism == Determinism::gpu_to_gpu ? "gpu" : "run";
}

/// The name of a product with its determinism class.
[[nodiscard]] std::string with_class(const std::string& product, Determinism determinism) {
  if (determinism == Determinism::not_guaranteed) return product;
  return fmt::format("{} with --determinism {}", product, option_word(determinism));
}

[[nodiscard]] ProductBackends backends_of_any_kernel(Determinism determinism) {
  const auto kernels = spmv_algorithms(Device::Kind::cuda);
  const bool kept = std::any_of(kernels.begin(), kernels.end(), [determinism](SpmvAlgorithm each) {
    return detail::spmv_kernel_entry(each).cuda.strongest >= determinism;
  });
  // A build without kernels for GPUs finds no GPU either, which is the better reason.
  return {with_class("a product", determinism), true, kept || determinism == Determinism::not_guaranteed};
}

[[nodiscard]] std::string trouble_of(const CudaDeviceInfo& gpu) {
  return fmt::format("cuda:{} ({}): {}", gpu.ordinal, gpu.name,
                     gpu.problem.empty() ? "this build has no machine code for it" : gpu.problem);
}

}  // namespace

ProductBackends product_backends(const SpmvOptions& options) {
  if (!names_kernel(options.algorithm)) return backends_of_any_kernel(options.determinism);
  const detail::SpmvKernelEntry& entry = detail::spmv_kernel_entry(options.algorithm);
  const std::string kernel = fmt::format("kernel {}", entry.name);
  if (!entry.host.offered()) return {kernel, false, entry.cuda.offered()};
  if (!entry.cuda.offered()) return {kernel, true, false};
  return {with_class(kernel, options.determinism), true, entry.cuda.strongest >= options.determinism};
}

std::uint64_t bytes_on_gpu(const Workload& work) {
  constexpr std::uint64_t vectors = 10;
  const auto rows = static_cast<std::uint64_t>(work.rows);
  const auto nnz = static_cast<std::uint64_t>(work.nnz);
  const std::uint64_t matrix = (rows + 1) * sizeof(offset_t) + nnz * (sizeof(index_t) + work.value_bytes);
  const std::uint64_t descriptors = 2 * nnz / 5;
  return matrix + descriptors + vectors * rows * work.element_bytes;
}

std::uint64_t bytes_of_parts(const RunSettings& settings, Method method, std::int64_t rows, offset_t nnz,
                             std::size_t value_bytes, std::int64_t columns) {
  using cuda::PersistentLoop;
  const Precond precond = settings.precond.precond;
  const bool may_be_diagonal = precond == Precond::none || precond == Precond::jacobi || precond == Precond::automatic;
  if (columns > 1 || !may_be_diagonal || names_kernel(settings.spmv.algorithm)) return 0;
  if (method == Method::cg) return cuda::most_persistent_bytes(PersistentLoop::cg, rows, nnz, value_bytes);
  if (method == Method::gmres) {
    return cuda::most_persistent_bytes(PersistentLoop::gmres, rows, nnz, value_bytes, settings.solver.restart);
  }
  if (method != Method::bicgstab) return 0;
  return cuda::most_persistent_bytes(PersistentLoop::bicgstab, rows, nnz, value_bytes);
}

bool may_stream(const SpmvOptions& spmv) {
  return !spmv.device.is_host() && (!names_kernel(spmv.algorithm) || spmv.algorithm == SpmvAlgorithm::streamed);
}

std::uint64_t memory_beside_vectors(const MachineSettings& machine, std::uint64_t matrix_bytes, std::uint64_t vectors,
                                    const std::string& purpose) {
  constexpr std::uint64_t surely_fits = std::uint64_t{64} << 20;
  if (machine.device.is_host() || (!machine.limits_gpu && matrix_bytes <= surely_fits)) return 0;
  std::uint64_t allowed = machine.memory_limit_bytes;
  if (!machine.limits_gpu) {
    const auto gpu = support::gpu_info(machine.device);
    if (!gpu) return 0;
    allowed = gpu->memory_free_bytes / 10 * 9;
  }
  if (vectors >= allowed) throw OutOfMemory(vectors, allowed, purpose + " on " + machine.device.name());
  return allowed - vectors;
}

GpuSearch find_gpu() {
  const CudaSurvey first = survey_cuda(0);
  if (first.devices.empty()) return {std::nullopt, first.problem};
  std::string problem;
  for (const CudaDeviceInfo& listed : first.devices) {
    const CudaSurvey survey = listed.ordinal == 0 ? first : survey_cuda(listed.ordinal);
    for (const CudaDeviceInfo& gpu : survey.devices) {
      if (gpu.ordinal != listed.ordinal) continue;
      if (gpu.problem.empty() && gpu.has_machine_code) {
        return {UsableGpu{gpu.ordinal, gpu.name, gpu.memory_free_bytes}, {}};
      }
      if (problem.empty()) problem = trouble_of(gpu);
    }
  }
  return {std::nullopt, problem};
}

DeviceChoice choose_device(const Workload& work, const std::function<GpuSearch()>& search) {
  const bool gpu_alone = work.backends.gpu && !work.backends.host;
  if (!gpu_alone && work.nnz < worth_a_gpu) {
    return {std::nullopt,
            fmt::format("{}: starting a GPU would take longer than the host needs", counted(work.nnz, "nonzero"))};
  }
  if (!work.backends.gpu) return {std::nullopt, work.backends.product + " runs on the host only"};
  const auto [gpu, problem] = search();
  if (!gpu) return {std::nullopt, "no GPU: " + problem};
  if (gpu_alone) return {gpu->ordinal, work.backends.product + " runs on a GPU only"};
  const std::uint64_t needed = bytes_on_gpu(work);
  if (needed > gpu->free_bytes / 10 * 9) {
    return {std::nullopt, fmt::format("about {} needed, too much for cuda:{} ({}) with {} free", size_text(needed),
                                      gpu->ordinal, gpu->name, size_text(gpu->free_bytes))};
  }
  return {gpu->ordinal, fmt::format("{} are worth starting a GPU, about {} needed, {} free",
                                    counted(work.nnz, "nonzero"), size_text(needed), size_text(gpu->free_bytes))};
}

void decide_device(const Workload& work, MachineSettings& machine, SpmvOptions& spmv) {
  if (!machine.device_undecided) return;
  const DeviceChoice choice = choose_device(work, find_gpu);
  if (choice.gpu) machine.device = Device::cuda(*choice.gpu);
  machine.device_reason = choice.reason;
  machine.device_undecided = false;
  spmv.device = machine.device;
}

template <class T>
void decide_device(const Csr<T>& matrix, MachineSettings& machine, SpmvOptions& spmv, Progress& progress) {
  decide_device({matrix.rows(), matrix.nnz(), matrix.is_pattern() ? 0 : sizeof(T), sizeof(T), product_backends(spmv)},
                machine, spmv);
  if (machine.device_reason.empty()) return;
  progress.detail(
      fmt::format("device {} (auto: {})", support::device_text(machine.device, machine.host), machine.device_reason));
}

template void decide_device(const Csr<float>&, MachineSettings&, SpmvOptions&, Progress&);
template void decide_device(const Csr<double>&, MachineSettings&, SpmvOptions&, Progress&);

}  // namespace tessera::cli
