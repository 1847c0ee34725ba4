/// \file
/// Launches the operations of a multigrid cycle on a GPU.
#pragma once

#include "core/cuda/dependent_launch.cuh"
#include "core/cuda/memory.hpp"
#include "solvers/amg/cycle_kernel.cuh"
#include "solvers/amg/cycle_layout.hpp"
#include "solvers/amg/cycle_row_lists.cuh"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

/// Inverse of the coarsest matrix, row-major.
template <class V>
struct DenseInverse {
  index_t rows = 0;
  Array<V> values;
};

/// Whether an operation is one of the finest matrix, which alone may lie in row lists: kernels of the others for it
/// would be compiled in vain.
template <class Op>
inline constexpr bool may_be_finest = true;
template <class V>
inline constexpr bool may_be_finest<AmgRestrict<V>> = false;
template <class V>
inline constexpr bool may_be_finest<AmgProlong<V>> = false;
template <class V>
inline constexpr bool may_be_finest<AmgFirstStep<V>> = false;
template <class V>
inline constexpr bool may_be_finest<AmgSecondStep<V>> = false;

/// Whether the rows of sliced ELL may be raked: those of P, which are short.
template <class Op>
inline constexpr bool may_rake_slices = false;
template <>
inline constexpr bool may_rake_slices<AmgProlong<float>> = true;

template <bool Raking, class V>
[[nodiscard]] AmgListedRows<V, Raking> listed_rows(const AmgDeviceMatrix<V>& a) {
  const AmgRowLists<V>& lists = a.lists();
  return {a.rows(), lists.stride, lists.entries.data(), lists.codes.data(), a.offsets(), a.values()};
}

/// function(layout) with the rows of a matrix.
template <class Op, class V, class Function>
void with_rows(const AmgDeviceMatrix<V>& a, Function&& function) {
  if constexpr (may_be_finest<Op>) {
    if (a.layout() == AmgRowLayout::listed) {
      if constexpr (std::is_same_v<V, float>) {
        if (a.is_raked()) return function(listed_rows<true>(a));
      }
      return function(listed_rows<false>(a));
    }
  }
  switch (a.layout()) {
    case AmgRowLayout::sliced_ell:
      if constexpr (may_rake_slices<Op>) {
        if (a.is_raked()) return function(AmgSlicedRows<V, true>{a.rows(), a.offsets(), a.columns(), a.values()});
      }
      return function(AmgSlicedRows<V>{a.rows(), a.offsets(), a.columns(), a.values()});
    case AmgRowLayout::streamed:
      return function(AmgStreamedRows<V>{a.rows(), a.offsets(), a.columns(), a.values()});
    case AmgRowLayout::listed:  // handled above
    case AmgRowLayout::lanes:
      if (a.has_long_rows()) {
        return function(AmgLaneRows<V, true>{a.rows(), a.lanes_log2(), a.offsets(), a.columns(), a.values()});
      }
      return function(AmgLaneRows<V, false>{a.rows(), a.lanes_log2(), a.offsets(), a.columns(), a.values()});
  }
}
template <class Op, class V, class Function>
void with_rows(const DenseInverse<V>& a, Function&& function) {
  function(AmgDenseRows<V>{a.rows, a.values.data()});
}

/// What the launches of a cycle share.
struct CycleSetting {
  const Context* context = nullptr;
  bool overlaps = false;  ///< whether kernels of a cycle may overlap
  void* parts = nullptr;  ///< of sums: max_parts() of any of them
};

/// Most blocks of a kernel with sums.
[[nodiscard]] inline std::int64_t max_parts(const DeviceLimits& limits) {
  return std::int64_t{limits.multiprocessors} * (limits.threads_per_multiprocessor / amg_threads);
}
inline constexpr std::int64_t bytes_of_part = sizeof(AmgSecondStepSums);

/// Where z goes, and whether inner products with w are wanted.
template <class T>
struct CycleOutput {
  T* z = nullptr;
  const T* w = nullptr;    ///< null: none
  std::int64_t parts = 0;  ///< out: of the inner products
};

/// Launches the operations of one cycle.
template <class T, class V>
class GpuExecutor {
 public:
  using Matrix = AmgDeviceMatrix<V>;
  using Dense = DenseInverse<V>;
  /// Its second gather costs less than a kernel and the vectors that it would write and read.
  static constexpr bool fuses_first_sweep = true;

  /// \param halted null, or on the device: where it is not 0 no kernel does anything
  GpuExecutor(const CycleSetting& setting, CycleOutput<T>& output, const std::int32_t* halted)
      : setting_(setting), output_(output), halted_(halted) {}

  template <class Rows, class Gather, class Op>
  void rows(const Rows& matrix, const Gather& x, const Op& op) {
    with_rows<Op>(matrix, [&](const auto& layout) {
      using Layout = std::remove_cvref_t<decltype(layout)>;
      start("row operation of a cycle", blocks_of(layout), amg_rows_kernel<Layout, Gather, Op>, layout, x, op);
    });
  }

  template <class Op>
  void elements(index_t n, const Op& op) {
    start("element operation of a cycle", blocks_for(n, amg_threads), amg_elements_kernel<Op>, n, op);
  }

  template <class Gather, class Op>
  void scalars(const Matrix& matrix, const Gather& x, const Op& op, AmgKrylovScalars* scalars) {
    using Sums = typename Op::Sums;
    const unsigned parts = rows_with_sums(matrix, x, op);
    start("scalars of a cycle", 1, amg_scalars_kernel<Sums>, parts, static_cast<const Sums*>(setting_.parts), scalars);
  }

  template <class Rows, class Gather, class MakeOp>
  void last(const Rows& matrix, const Gather& x, MakeOp&& make_op) {
    if (output_.w == nullptr) {
      rows(matrix, x, make_op(AmgOutput<T>{output_.z}));
    } else {
      output_.parts = rows_with_sums(matrix, x, make_op(AmgOutputAndDots<T>{output_.z, output_.w}));
    }
  }

 private:
  /// The first kernel of a cycle begins when everything before it has ended: it may follow work that wrote the
  /// matrices.
  template <class... Parameters, class... Arguments>
  void start(const char* name, unsigned blocks, void (*kernel)(Parameters...), const Arguments&... arguments) {
    const Grid grid{blocks, amg_threads};
    if (std::exchange(is_first_, false) || !setting_.overlaps) {
      launch(name, *setting_.context, grid, kernel, halted_, arguments...);
    } else {
      launch_dependent(name, *setting_.context, grid, kernel, halted_, arguments...);
    }
  }

  /// \returns the parts of the sums
  template <class Rows, class Gather, class Op>
  unsigned rows_with_sums(const Rows& matrix, const Gather& x, const Op& op) {
    unsigned blocks = 0;
    with_rows<Op>(matrix, [&](const auto& layout) {
      using Layout = std::remove_cvref_t<decltype(layout)>;
      const auto kernel = amg_sums_kernel<Layout, Gather, Op>;
      blocks = std::min(blocks_of(layout), resident_blocks(kernel));
      start("row operation of a cycle with sums", blocks, kernel, layout, layout.tiles(), x, op,
            static_cast<typename Op::Sums*>(setting_.parts));
    });
    return blocks;
  }

  template <class Layout>
  [[nodiscard]] static unsigned blocks_of(const Layout& layout) {
    return blocks_for(layout.tiles(), amg_tiles_per_block<Layout>);
  }

  /// Blocks of a kernel that the GPU holds at once. The runtime answers from memory, in less than a microsecond.
  template <class Kernel>
  [[nodiscard]] unsigned resident_blocks(Kernel kernel) const {
    int per_multiprocessor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, amg_threads, 0),
          "asking how many blocks a multiprocessor holds");
    const std::int64_t blocks = std::int64_t{setting_.context->multiprocessors()} * std::max(per_multiprocessor, 1);
    return static_cast<unsigned>(std::min(blocks, max_parts(setting_.context->limits())));
  }

  const CycleSetting& setting_;
  CycleOutput<T>& output_;
  const std::int32_t* halted_;
  bool is_first_ = true;
};

}  // namespace tessera::cuda
