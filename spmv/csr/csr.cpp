#include "spmv/csr/csr.hpp"

#include "spmv/common/stateless_kernel.hpp"

namespace tessera {

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<StatelessKernel<T>>(options.device, classify_gathers(a), Determinism::gpu_to_gpu,
                                              host::csr_apply<T>, host::csr_apply_and_dot<T>);
}

template std::unique_ptr<SpmvKernel<float>> make_csr_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
