/// \file
/// The part of cuSPARSE that the vendor kernels call, loaded when the first of them is made: programs link without it
/// and run on machines that have only the driver.
#pragma once

#include "tessera/device.hpp"

#include <cusparse.h>

#include <memory>
#include <string_view>

namespace tessera::cuda {

/// The functions, by the names of the library without its prefix.
struct CuSparse {
  decltype(&cusparseGetErrorName) get_error_name;
  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseCreateConstCsr) create_csr;
  decltype(&cusparseCreateConstCoo) create_coo;
  decltype(&cusparseDestroySpMat) destroy_matrix;
  decltype(&cusparseCreateConstDnVec) create_const_vector;
  decltype(&cusparseCreateDnVec) create_vector;
  decltype(&cusparseDestroyDnVec) destroy_vector;
  decltype(&cusparseSpMV_bufferSize) spmv_buffer_size;
  decltype(&cusparseSpMV_preprocess) spmv_preprocess;
  decltype(&cusparseSpMV) spmv;

  /// The library, which stays loaded. \throws NotSupported when it cannot be loaded, saying why
  [[nodiscard]] static const CuSparse& library();

  /// \param call what was attempted \throws NotSupported when the library says that it is, CudaError with the name of
  /// the status for any other that is not success
  void check(cusparseStatus_t status, std::string_view call) const;
};

/// The handle of a context, whose work goes into its stream. Made at its first use and kept: making one takes
/// milliseconds. Calls with one handle must not overlap. \throws NotSupported, CudaError
[[nodiscard]] cusparseHandle_t cusparse_handle(const Device& device);

/// A matrix as cuSPARSE sees it.
struct DestroyMatrix {
  void operator()(cusparseConstSpMatDescr_t matrix) const noexcept {
    static_cast<void>(CuSparse::library().destroy_matrix(matrix));
  }
};
using MatrixDescriptor = std::unique_ptr<const cusparseSpMatDescr, DestroyMatrix>;

/// A vector as cuSPARSE sees it.
struct DestroyVector {
  void operator()(cusparseConstDnVecDescr_t vector) const noexcept {
    static_cast<void>(CuSparse::library().destroy_vector(vector));
  }
};
using ConstVectorDescriptor = std::unique_ptr<const cusparseDnVecDescr, DestroyVector>;
using VectorDescriptor = std::unique_ptr<cusparseDnVecDescr, DestroyVector>;

}  // namespace tessera::cuda
