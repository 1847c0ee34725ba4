/// \file
/// cuSPARSE's product as a program of its own prepares it: CSR, algorithm 1, cusparseSpMV_preprocess, descriptors of
/// matrix and vectors made once.
#pragma once

#include "spmv/vendor/cusparse.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::bench {

/// A vector on a GPU as cuSPARSE and cuBLAS take it.
struct VendorVector {
  Array<double> values;
  cuda::VectorDescriptor descriptor;

  VendorVector(std::int64_t size, const Device& device);
  [[nodiscard]] double* data() noexcept { return values.data(); }
};

/// Row offsets in 32 bits, as cuSPARSE takes them and programs that use it have them.
/// \throws NotSupported from 2^31 nonzeros on
[[nodiscard]] Array<std::int32_t> narrow_row_offsets(const CsrView<double>& on_device, const Device& device);

class VendorProduct {
 public:
  /// \param on_device lives as long as this, as do all arrays; its own row offsets and values are not read
  /// \param row_offsets from narrow_row_offsets() \param values of the nonzeros
  /// \throws NotSupported, CudaError
  VendorProduct(const CsrView<double>& on_device, std::span<const std::int32_t> row_offsets,
                std::span<const double> values, const Device& device);

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }

  /// y = A x, in the stream of the device.
  void multiply(const VendorVector& x, VendorVector& y) const;

 private:
  void prepare();

  Device device_;
  std::int64_t rows_;
  const cuda::CuSparse& cusparse_;
  cusparseHandle_t handle_;
  cuda::MatrixDescriptor matrix_;
  mutable Array<std::byte> buffer_;
};

}  // namespace tessera::bench
