/// \file
/// csr-vector on a GPU: dispatch by lanes per row; long rows by parts and a carry fix-up.
#include "core/cuda/launch.cuh"
#include "spmv/common/carries.cuh"
#include "spmv/common/device_kernel.hpp"
#include "spmv/common/dot_parts_kernel.hpp"
#include "spmv/common/terms.cuh"
#include "spmv/csr_vector/csr_vector.hpp"
#include "spmv/csr_vector/csr_vector_kernel.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

template <int Lanes, class Terms, class T>
void launch_rows(const Context& context, const CsrView<T>& a, offset_t long_row, const Terms& terms,
                 const UpdateEpilogue<T>& epilogue) {
  launch("product of rows", context,
         Grid{blocks_for(std::int64_t{a.rows} * Lanes, csr_vector_threads), csr_vector_threads},
         csr_vector_rows_kernel<Lanes, Terms, T>, a.rows, a.row_offsets.data(), long_row, terms, epilogue);
}

/// function(lanes) with their number as a constant.
template <class Function>
void with_lanes(int lanes, Function&& function) {
  switch (lanes) {
    case 1:
      return function(std::integral_constant<int, 1>{});
    case 2:
      return function(std::integral_constant<int, 2>{});
    case 4:
      return function(std::integral_constant<int, 4>{});
    case 8:
      return function(std::integral_constant<int, 8>{});
    case 16:
      return function(std::integral_constant<int, 16>{});
    default:
      return function(std::integral_constant<int, 32>{});
  }
}

/// Rows longer than this are cut into parts. \param whole_lanes of a product in one kernel, which takes every row whole
[[nodiscard]] offset_t longest_of_lanes(int lanes, int whole_lanes) {
  return lanes == whole_lanes ? offset_t{lanes} * csr_vector_batch * csr_vector_most_batches
                              : csr_vector_long_row(lanes);
}

template <class T>
class CsrVectorKernel final : public DotPartsKernel<T, DeviceKernel<T>> {
 public:
  /// \param whole_lanes of a product in one kernel; 0 where it takes several
  CsrVectorKernel(const CsrView<T>& a, const SpmvOptions& options, int lanes, int whole_lanes)
      : DotPartsKernel<T, DeviceKernel<T>>(options.device, a, options),
        lanes_(lanes),
        whole_lanes_(whole_lanes),
        long_rows_(
            find_long_rows(options.device, a.row_offsets, longest_of_lanes(lanes, whole_lanes), csr_vector_part)),
        sums_(long_rows_.parts(), Init::none, options.device),
        carries_(long_rows_.parts(), options.device) {
    if (whole_lanes_ == 0) return;
    of_block_ = Array<PlainSums<2>>(blocks_for(std::int64_t{a.rows} * whole_lanes_, csr_vector_whole_threads) + 1,
                                    Init::none, options.device);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const Context& context = Context::of(this->device());
    const DeviceGuard current(this->device());
    const UpdateEpilogue<T> epilogue{y.data(), alpha, beta};
    const std::scoped_lock lock(this->mutex_);
    with_terms(a, this->floats(), x, [&](const auto& terms) {
      with_lanes(lanes_, [&](auto lanes) {
        launch_rows<decltype(lanes)::value>(context, a, long_rows_.longer_than, terms, epilogue);
      });
      add_long_rows(context, a, terms, epilogue);
    });
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = long_rows_.bytes() + sums_.bytes() + carries_.bytes() + of_block_.bytes() + this->float_bytes();
  }

 private:
  /// Blocks of the product in one kernel, each with its part of the inner products.
  [[nodiscard]] std::int64_t parts() const { return of_block_.size() - 1; }

  [[nodiscard]] bool leaves_parts() const override { return whole_lanes_ > 0; }
  [[nodiscard]] ProductDots* total() const override {
    return reinterpret_cast<ProductDots*>(of_block_.data() + parts());
  }
  std::span<const ProductDots> launch_with_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                 std::span<const T> w) const override {
    const Context& context = Context::of(this->device());
    const DeviceGuard current(this->device());
    const WholeOutput<T> out{y.data(), w.data(), of_block_.data()};
    const Grid grid{static_cast<unsigned>(parts()), csr_vector_whole_threads};
    with_terms(a, this->floats(), x, [&](const auto& terms) {
      with_lanes(whole_lanes_, [&](auto lanes) {
        using Terms = std::remove_cvref_t<decltype(terms)>;
        launch("product of rows with inner products", context, grid,
               csr_vector_whole_kernel<decltype(lanes)::value, Terms, T>, a.rows, a.row_offsets.data(), terms, out);
      });
    });
    return {reinterpret_cast<const ProductDots*>(of_block_.data()), static_cast<std::size_t>(parts())};
  }

  template <class Terms>
  void add_long_rows(const Context& context, const CsrView<T>& a, const Terms& terms,
                     const UpdateEpilogue<T>& epilogue) const {
    const std::int64_t parts = long_rows_.parts();
    if (parts == 0) return;
    launch("product of long rows", context, Grid{blocks_for(parts, csr_vector_threads / warp_size), csr_vector_threads},
           csr_vector_parts_kernel<Terms, T>, parts, long_rows_.row.data(), long_rows_.begin.data(),
           a.row_offsets.data(), terms, sums_.data());
    carries_.join(context, RowArray{long_rows_.row.data()}, sums_.data(), a.rows, epilogue);
  }

  int lanes_;
  int whole_lanes_;  ///< of a product in one kernel; 0 where it takes several
  LongRows long_rows_;
  mutable Array<T> sums_;  ///< of each part
  mutable CarryTree<T> carries_;
  mutable Array<PlainSums<2>> of_block_;  ///< of the product in one kernel: one per block, then the total
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr_vector_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  if (on_device.rows == 0) return std::make_unique<CsrVectorKernel<T>>(on_device, options, 1, 0);
  const RowLengths lengths = row_lengths(options.device, on_device.row_offsets);
  const int lanes = csr_vector_lanes(on_device.rows, lengths.typical);
  const int whole_lanes = csr_vector_whole_lanes(on_device.rows, lengths.typical, lengths.longest);
  // Parts of long rows and their fix-up are launches of their own: more lanes for every row cost less.
  const bool spares_parts = whole_lanes > 0 && lengths.longest > csr_vector_long_row(lanes);
  return std::make_unique<CsrVectorKernel<T>>(on_device, options, spares_parts ? whole_lanes : lanes, whole_lanes);
}

template std::unique_ptr<SpmvKernel<float>> make_csr_vector_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr_vector_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
