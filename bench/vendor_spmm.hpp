/// \file
/// cuSPARSE's product of a CSR matrix and a dense block of vectors (cusparseSpMM), prepared once.
#pragma once

#include "spmv/vendor/cusparse.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/multi_vector.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::bench {

struct DestroyDense {
  void operator()(cusparseConstDnMatDescr_t matrix) const noexcept;
};

/// Y = A X. Its manual advises algorithm 1 where the blocks are column-major, 2 where they are row-major; 3 balances
/// loads.
template <class T>
class VendorSpmm {
 public:
  /// \param a on the device; it, X and Y live as long as this \param algorithm 1, 2 or 3
  /// \throws NotSupported, CudaError
  VendorSpmm(const CsrView<T>& a, const MultiVectorView<const T>& x, const MultiVectorView<T>& y, const Device& device,
             int algorithm);

  /// In the stream of the device.
  void multiply() const;

 private:
  Array<std::int32_t> offsets_;
  cusparseHandle_t handle_;
  cusparseSpMMAlg_t algorithm_;
  cuda::MatrixDescriptor matrix_;
  std::unique_ptr<const cusparseDnMatDescr, DestroyDense> x_;
  std::unique_ptr<cusparseDnMatDescr, DestroyDense> y_;
  mutable Array<std::byte> buffer_;
};

}  // namespace tessera::bench
