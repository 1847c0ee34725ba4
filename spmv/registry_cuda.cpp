/// \file
/// The kernels of the CUDA backend.
#include "spmv/blocked/blocked.hpp"
#include "spmv/csr5/csr5.hpp"
#include "spmv/csr_vector/csr_vector.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merge/merge.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/registry.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/streamed/streamed.hpp"
#include "spmv/tiles/tiles.hpp"
#include "spmv/vendor/vendor.hpp"

namespace tessera::detail {

SpmvBackend cuda_backend(SpmvAlgorithm algorithm) {
  switch (algorithm) {
    case SpmvAlgorithm::blocked:
      return {Determinism::run_to_run, cuda::make_blocked_kernel<float>, cuda::make_blocked_kernel<double>};
    case SpmvAlgorithm::csr5:
      return {Determinism::run_to_run, cuda::make_csr5_kernel<float>, cuda::make_csr5_kernel<double>};
    case SpmvAlgorithm::csr_vector:
      return {Determinism::run_to_run, cuda::make_csr_vector_kernel<float>, cuda::make_csr_vector_kernel<double>};
    case SpmvAlgorithm::merbit:
      return {Determinism::run_to_run, cuda::make_merbit_kernel<float>, cuda::make_merbit_kernel<double>};
    case SpmvAlgorithm::merge:
      return {Determinism::run_to_run, cuda::make_merge_kernel<float>, cuda::make_merge_kernel<double>};
    case SpmvAlgorithm::patterns:
      return {Determinism::run_to_run, cuda::make_patterns_kernel<float>, cuda::make_patterns_kernel<double>};
    case SpmvAlgorithm::sell:
      return {Determinism::run_to_run, cuda::make_sell_kernel<float>, cuda::make_sell_kernel<double>};
    case SpmvAlgorithm::streamed:
      return {Determinism::run_to_run, cuda::make_streamed_kernel<float>, cuda::make_streamed_kernel<double>};
    case SpmvAlgorithm::tiles:
      return {Determinism::run_to_run, cuda::make_tiles_kernel<float>, cuda::make_tiles_kernel<double>};
    case SpmvAlgorithm::vendor_coo:
      return {Determinism::not_guaranteed, cuda::make_vendor_coo_kernel<float>, cuda::make_vendor_coo_kernel<double>};
    case SpmvAlgorithm::vendor_csr:
      return {Determinism::not_guaranteed, cuda::make_vendor_csr_kernel<float>, cuda::make_vendor_csr_kernel<double>};
    default:
      return {};
  }
}

}  // namespace tessera::detail
