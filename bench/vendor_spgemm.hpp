/// \file
/// cuSPARSE's product of two sparse matrices as a careful program runs it: CSR, algorithm 1, buffers and C from the
/// library's pool.
#pragma once

#include "spmv/vendor/cusparse.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera::bench {

class VendorSpgemm {
 public:
  /// \param a, b on the device; live as long as this \throws NotSupported when the library lacks it
  VendorSpgemm(const Csr<double>& a, const Csr<double>& b, const Device& device);

  /// C = A B, from the first call to the complete C; waits. \returns its number of entries
  std::int64_t multiply();
  /// Buffers and C, at most, of the last product.
  [[nodiscard]] std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }

 private:
  Device device_;
  const Csr<double>& a_;
  const Csr<double>& b_;
  Array<std::int32_t> a_offsets_;
  Array<std::int32_t> b_offsets_;
  cusparseHandle_t handle_;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace tessera::bench
