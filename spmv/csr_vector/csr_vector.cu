#include "core/cuda/launch.cuh"
#include "spmv/csr_vector/csr_vector.hpp"
#include "spmv/csr_vector/long_rows.hpp"
#include "spmv/csr_vector/policy.hpp"
#include "spmv/cuda/carries.cuh"
#include "spmv/cuda/device_kernel.hpp"
#include "spmv/cuda/terms.cuh"

#include <mutex>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;

/// Adds the sums of the first of `Lanes` neighbours and the others; the first returns the total.
template <int Lanes, class T>
__device__ T sum_over_lanes(T sum) {
  for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(full_warp, sum, distance, Lanes);
  }
  return sum;
}

/// Lanes threads a row. Long rows get no term yet.
template <int Lanes, class Terms, class T>
__global__ void __launch_bounds__(threads)
    rows_kernel(index_t rows, const offset_t* row_offsets, offset_t long_row, Terms terms, Update<T> update) {
  // Without a sign, the last block's rows beyond 2^31 have numbers, too.
  const unsigned row = blockIdx.x * (threads / Lanes) + threadIdx.x / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const bool exists = row < static_cast<unsigned>(rows);
  offset_t begin = 0;
  int length = 0;
  if (exists) {
    begin = __ldg(row_offsets + row);
    const offset_t whole = __ldg(row_offsets + row + 1) - begin;
    length = whole > long_row ? 0 : static_cast<int>(whole);
  }
  // Neighbouring rows share lines, and so do the loads of a batch.
  const T sum = sum_over_lanes<Lanes>(
      strided_sum<csr_vector_batch, Lanes, NextUse::soon>(terms.from(begin + lane), length - lane));
  if (lane == 0 && exists) update.store(static_cast<index_t>(row), sum);
}

/// A warp a part of a long row.
template <class Terms, class T>
__global__ void __launch_bounds__(threads)
    parts_kernel(std::int64_t parts, const index_t* part_row, const offset_t* part_begin, const offset_t* row_offsets,
                 Terms terms, T* sums) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (part >= parts) return;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const offset_t begin = part_begin[part];
  const offset_t rest = row_offsets[part_row[part] + 1] - begin;
  const int length = static_cast<int>(rest < csr_vector_part ? rest : csr_vector_part);
  const T sum = sum_over_lanes<warp_size>(
      strided_sum<csr_vector_part_batch, warp_size, NextUse::never>(terms.from(begin + lane), length - lane));
  if (lane == 0) sums[part] = sum;
}

template <int Lanes, class Terms, class T>
void launch_rows(const Context& context, const CsrView<T>& a, offset_t long_row, const Terms& terms,
                 const Update<T>& update) {
  launch("product of rows", context, Grid{blocks_for(std::int64_t{a.rows} * Lanes, threads), threads},
         rows_kernel<Lanes, Terms, T>, a.rows, a.row_offsets.data(), long_row, terms, update);
}

template <class Terms, class T>
void launch_rows(int lanes, const Context& context, const CsrView<T>& a, offset_t long_row, const Terms& terms,
                 const Update<T>& update) {
  switch (lanes) {
    case 1:
      return launch_rows<1>(context, a, long_row, terms, update);
    case 2:
      return launch_rows<2>(context, a, long_row, terms, update);
    case 4:
      return launch_rows<4>(context, a, long_row, terms, update);
    case 8:
      return launch_rows<8>(context, a, long_row, terms, update);
    case 16:
      return launch_rows<16>(context, a, long_row, terms, update);
    default:
      return launch_rows<32>(context, a, long_row, terms, update);
  }
}

template <class T>
class CsrVectorKernel final : public DeviceKernel<T> {
 public:
  CsrVectorKernel(const CsrView<T>& a, const SpmvOptions& options, int lanes)
      : DeviceKernel<T>(a, options),
        lanes_(lanes),
        long_rows_(find_long_rows(options.device, a.row_offsets, csr_vector_long_row(lanes))),
        sums_(long_rows_.parts(), Init::none, options.device),
        carries_(long_rows_.parts(), options.device) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const Context& context = Context::of(this->device());
    const CurrentDevice current(this->device());
    const Update<T> update{y.data(), alpha, beta};
    const std::scoped_lock lock(mutex_);
    with_terms(a, this->floats(), x, [&](const auto& terms) {
      launch_rows(lanes_, context, a, long_rows_.longer_than, terms, update);
      add_long_rows(context, a, terms, update);
    });
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = long_rows_.bytes() + sums_.bytes() + carries_.bytes() + this->float_bytes();
  }

 private:
  template <class Terms>
  void add_long_rows(const Context& context, const CsrView<T>& a, const Terms& terms, const Update<T>& update) const {
    const std::int64_t parts = long_rows_.parts();
    if (parts == 0) return;
    launch("product of long rows", context, Grid{blocks_for(parts, threads / warp_size), threads},
           parts_kernel<Terms, T>, parts, long_rows_.row.data(), long_rows_.begin.data(), a.row_offsets.data(), terms,
           sums_.data());
    carries_.join(context, RowArray{long_rows_.row.data()}, sums_.data(), a.rows, update);
  }

  int lanes_;
  LongRows long_rows_;
  mutable std::mutex mutex_;  ///< of sums_ and carries_, from the first launch of a product to its last
  mutable Array<T> sums_;     ///< of each part
  mutable CarryTree<T> carries_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr_vector_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  const int lanes = on_device.rows == 0
                        ? 1
                        : csr_vector_lanes(on_device.rows, typical_nonzeros(options.device, on_device.row_offsets));
  return std::make_unique<CsrVectorKernel<T>>(on_device, options, lanes);
}

template std::unique_ptr<SpmvKernel<float>> make_csr_vector_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr_vector_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
