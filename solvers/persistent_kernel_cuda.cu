/// The kernels of persistent loops, and what their launches need.
#include "solvers/persistent_kernel.hpp"

#include "core/cuda/cooperative_launch.cuh"
#include "solvers/persistent_bicgstab.cuh"
#include "solvers/persistent_cg.cuh"
#include "solvers/persistent_gmres.cuh"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace tessera::cuda {

namespace {

/// Reductions per launch, at most: three per iteration and one at the end.
constexpr std::uint64_t most_reductions = 3 * (loop_entries + 1) + 1;

template <class T, int Lanes>
__global__ void __launch_bounds__(persistent_threads, 1)
    persistent_cg_kernel(PersistentTask<T> task, PersistentCgVectors<T> vectors, detail::CgState* state) {
  CgBlock<T, Lanes>(task, vectors, state).run();
}

template <class T, int Lanes>
__global__ void __launch_bounds__(persistent_threads, 1)
    persistent_bicgstab_kernel(PersistentTask<T> task, PersistentBicgstabVectors<T> vectors,
                               detail::BicgstabState* state) {
  BicgstabBlock<T, Lanes>(task, vectors, state).run();
}

template <class T, int Lanes>
__global__ void __launch_bounds__(persistent_threads, 1)
    persistent_gmres_kernel(PersistentTask<T> task, PersistentGmresVectors<T> vectors, detail::GmresState* state) {
  GmresBlock<T, Lanes>(task, vectors, state).run();
}

template <class T>
[[nodiscard]] std::size_t shared_bytes(const PartSize& most, PersistentLoop loop, int directions) {
  if (loop == PersistentLoop::gmres) return GmresSpace<T>(nullptr, most, directions).space.used();
  if (loop == PersistentLoop::cg) return CgSpace<T>(nullptr, most).space.used();
  return BicgstabSpace<T>(nullptr, most).space.used();
}

template <class T>
class PartitionedMatrix final : public PersistentMatrix<T> {
 public:
  PartitionedMatrix(const Device& device, index_t rows, PersistentLoop loop, int directions, Parts parts,
                    std::size_t shared_bytes)
      : device_(device),
        rows_(rows),
        parts_(std::move(parts)),
        shared_bytes_(shared_bytes),
        lines_(reduction_lines(parts_.count), Init::zero, device),
        elements_((loop == PersistentLoop::bicgstab ? 2 : 1) * std::int64_t{rows}, Init::zero, device),
        directions_(directions),
        words_(loop == PersistentLoop::gmres ? BasisSums::words(directions + more_sums_of_gmres, parts_.count) : 0,
               Init::zero, device) {}

  void launch_cg(const LoopFrame& frame, const CsrView<T>& a, const PersistentCgVectors<T>& vectors) override {
    auto* const state = static_cast<detail::CgState*>(frame.state);
    const auto start = [&](auto* kernel) { this->start("CG in one kernel", kernel, task(frame, a), vectors, state); };
    if (parts_.lanes == 1) return start(persistent_cg_kernel<T, 1>);
    if (parts_.lanes == 4) return start(persistent_cg_kernel<T, 4>);
    start(persistent_cg_kernel<T, 8>);
  }

  void launch_bicgstab(const LoopFrame& frame, const CsrView<T>& a,
                       const PersistentBicgstabVectors<T>& vectors) override {
    auto* const state = static_cast<detail::BicgstabState*>(frame.state);
    const auto start = [&](auto* kernel) {
      this->start("BiCGSTAB in one kernel", kernel, task(frame, a), vectors, state);
    };
    if (parts_.lanes == 1) return start(persistent_bicgstab_kernel<T, 1>);
    if (parts_.lanes == 4) return start(persistent_bicgstab_kernel<T, 4>);
    start(persistent_bicgstab_kernel<T, 8>);
  }

  void launch_gmres(const LoopFrame& frame, const CsrView<T>& a, PersistentGmresVectors<T> vectors) override {
    auto* const state = static_cast<detail::GmresState*>(frame.state);
    vectors.directions = directions_;
    vectors.words = words_.data();
    const auto start = [&](auto* kernel) {
      this->start("GMRES in one kernel", kernel, task(frame, a), vectors, state);
    };
    if (parts_.lanes == 1) return start(persistent_gmres_kernel<T, 1>);
    if (parts_.lanes == 4) return start(persistent_gmres_kernel<T, 4>);
    start(persistent_gmres_kernel<T, 8>);
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    return parts_.bytes() + lines_.bytes() + elements_.bytes() + words_.bytes();
  }

 private:
  [[nodiscard]] PersistentTask<T> task(const LoopFrame& frame, const CsrView<T>& a) {
    return {.row_offsets = a.row_offsets.data(),
            .values = a.is_pattern() ? nullptr : a.values.data(),
            .numbers = parts_.numbers.data(),
            .first_rows = parts_.first_rows.data(),
            .sizes = parts_.sizes.data(),
            .halo = parts_.halo.data(),
            .is_shared = parts_.is_shared.data(),
            .most = parts_.most,
            .lines = lines_.data(),
            .elements = elements_.data(),
            .rows = rows_,
            .number = std::exchange(number_, number_ + most_reductions),
            .control = static_cast<LoopControlBlock*>(frame.control_block)};
  }

  template <class... Parameters, class... Arguments>
  void start(std::string_view name, void (*kernel)(Parameters...), Arguments&&... arguments) {
    const DeviceGuard current(device_);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
          name);
    check(start_cooperative_kernel(kernel, static_cast<unsigned>(parts_.count), static_cast<unsigned>(parts_.threads),
                                   shared_bytes_, Context::of(device_).stream(), std::forward<Arguments>(arguments)...),
          name);
  }

  Device device_;
  index_t rows_;
  Parts parts_;
  std::size_t shared_bytes_;
  Array<SumLine> lines_;
  Array<NumberedWord> elements_;
  int directions_;
  Array<NumberedWord> words_;  ///< of BasisSums
  std::uint64_t number_ = 0;   ///< of the latest reduction
};

static_assert(sizeof(NumberedWord) == bytes_per_element_handed_over);

/// Whether the entries and vectors of a matrix can fit at all, before it is cut.
template <class T>
[[nodiscard]] bool may_fit(const CsrView<T>& a, const DeviceLimits& limits) {
  const auto bytes = static_cast<double>(a.nnz()) * (sizeof(T) + sizeof(std::uint16_t)) +
                     static_cast<double>(a.rows) * (5 * sizeof(T) + sizeof(std::int32_t));
  return bytes <= static_cast<double>(limits.largest_shared_per_block) * limits.multiprocessors;
}

}  // namespace

bool has_persistent_kernels(const Device& device) {
  if (device.is_host()) return false;
  const char* const wish = std::getenv("TESSERA_CUDA_PERSISTENT");
  if (wish != nullptr && std::string_view(wish) == "0") return false;
  return Context::of(device).limits().launches_cooperative_grids;
}

template <class T>
std::unique_ptr<PersistentMatrix<T>> make_persistent_matrix(const Device& device, const CsrView<T>& a,
                                                            PersistentLoop loop, int directions) {
  if (!has_persistent_kernels(device)) return nullptr;
  const DeviceLimits& limits = Context::of(device).limits();
  if (!may_fit(a, limits)) return nullptr;
  auto parts = cut_into_parts(device, a.rows, a.row_offsets, a.columns);
  if (!parts || parts->count > most_parts) return nullptr;
  const std::size_t bytes = shared_bytes<T>(parts->most, loop, directions);
  if (bytes > static_cast<std::size_t>(limits.largest_shared_per_block)) return nullptr;
  return std::make_unique<PartitionedMatrix<T>>(device, a.rows, loop, directions, std::move(*parts), bytes);
}

template std::unique_ptr<PersistentMatrix<float>> make_persistent_matrix(const Device&, const CsrView<float>&,
                                                                         PersistentLoop, int);
template std::unique_ptr<PersistentMatrix<double>> make_persistent_matrix(const Device&, const CsrView<double>&,
                                                                          PersistentLoop, int);

}  // namespace tessera::cuda
