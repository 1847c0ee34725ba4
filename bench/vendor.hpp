/// \file
/// The vendor's libraries as hand-written programs use them: cuSPARSE's product (CSR, algorithm 1,
/// cusparseSpMV_preprocess, descriptors made once), and the part of cuBLAS that Krylov loops call, loaded when the
/// first of them is made, with all scalars on the GPU.
#pragma once

#include "core/cuda/check.hpp"
#include "spmv/vendor/cusparse.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tessera::bench {

/// A vector on a GPU as cuSPARSE and cuBLAS take it.
struct VendorVector {
  Array<double> values;
  cuda::VectorDescriptor descriptor;

  VendorVector(std::int64_t size, const Device& device);
  explicit VendorVector(Array<double> elements);
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

/// The functions, by the names of the library without its prefix.
struct CuBlas {
  decltype(&cublasGetStatusName) get_status_name;
  decltype(&cublasCreate) create;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetPointerMode) set_pointer_mode;
  decltype(&cublasDdot) dot;
  decltype(&cublasDaxpy) axpy;
  decltype(&cublasDscal) scal;
  decltype(&cublasDcopy) copy;
  decltype(&cublasDnrm2) nrm2;
  decltype(&cublasDgemv) gemv;

  /// The library, which stays loaded. \throws NotSupported when it cannot be loaded, saying why
  [[nodiscard]] static const CuBlas& library();

  /// \param call what was attempted \throws CudaError with the name of a status that is not success
  void check(cublasStatus_t status, std::string_view call) const;
};

/// The handle of a GPU, whose work goes into that GPU's stream. Made at its first use and kept.
/// \throws NotSupported, CudaError
[[nodiscard]] cublasHandle_t cublas_handle(const Device& device);

template <class T>
class PinnedValue {
 public:
  /// \throws CudaError
  PinnedValue() {
    void* memory = nullptr;
    cuda::check(cudaMallocHost(&memory, sizeof(T)), "allocating page-locked memory");
    value_.reset(static_cast<T*>(memory));
  }

  /// Copies a value from the device and waits for all work before it. \throws CudaError
  const T& bring(const T* on_device, cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(value_.get(), on_device, sizeof(T), cudaMemcpyDeviceToHost, stream),
                "bringing a value to the host");
    cuda::check(cudaStreamSynchronize(stream), "waiting for a value");
    return *value_;
  }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { static_cast<void>(cudaFreeHost(memory)); }
  };
  std::unique_ptr<T, Free> value_;
};

}  // namespace tessera::bench
