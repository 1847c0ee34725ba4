#include "spmv/merge/merge.hpp"

#include "spmv/common/stateless_kernel.hpp"

namespace tessera {

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<StatelessKernel<T>>(options.device, classify_gathers(a), Determinism::gpu_to_gpu,
                                              host::merge_apply<T>, host::merge_apply_and_dot<T>);
}

template std::unique_ptr<SpmvKernel<float>> make_merge_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merge_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
