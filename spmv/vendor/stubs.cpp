/// \file
/// Stands in for the vendor kernels where cuSPARSE's header was not there to build them.
#include "spmv/vendor/vendor.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse() { throw NotSupported("this build has no vendor kernels: cusparse.h was not found"); }

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_vendor_csr_kernel(const CsrView<T>& /*on_device*/, const SpmvOptions& /*options*/) {
  refuse();
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_vendor_coo_kernel(const CsrView<T>& /*on_device*/, const SpmvOptions& /*options*/) {
  refuse();
}

template std::unique_ptr<SpmvKernel<float>> make_vendor_csr_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_vendor_csr_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<float>> make_vendor_coo_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_vendor_coo_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
