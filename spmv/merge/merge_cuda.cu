/// \file
/// MERGE on a GPU: the kernel object.
#include "spmv/common/device_kernel.hpp"
#include "spmv/merge/merge.hpp"
#include "spmv/merge/merge_kernel.cuh"

#include <mutex>

namespace tessera::cuda {

namespace {

template <class T>
class MergeKernel final : public DeviceKernel<T> {
 public:
  MergeKernel(const CsrView<T>& a, const SpmvOptions& options)
      : DeviceKernel<T>(a, options), scratch_(a.row_offsets, a.nnz(), options.device) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const Context& context = Context::of(this->device());
    const DeviceGuard current(this->device());
    const UpdateEpilogue<T> epilogue{y.data(), alpha, beta};
    const std::scoped_lock lock(mutex_);
    with_terms(a, this->floats(), x,
               [&](const auto& terms) { scratch_.multiply(context, a.row_offsets.data(), terms, epilogue); });
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = scratch_.bytes() + this->float_bytes();
  }

 private:
  mutable std::mutex mutex_;  ///< of scratch_, from the first launch of a product to its last
  mutable MergeScratch<T> scratch_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<MergeKernel<T>>(on_device, options);
}

template std::unique_ptr<SpmvKernel<float>> make_merge_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merge_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
