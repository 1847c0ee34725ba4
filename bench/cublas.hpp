/// \file
/// The part of cuBLAS that the hand-written loops call, loaded when the first of them is made. All scalars, given and
/// returned, lie on the GPU.
#pragma once

#include "tessera/device.hpp"

#include <cublas_v2.h>

#include <string_view>

namespace tessera::bench {

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

  /// The library, which stays loaded. \throws NotSupported when it cannot be loaded, saying why
  [[nodiscard]] static const CuBlas& library();

  /// \param call what was attempted \throws CudaError with the name of a status that is not success
  void check(cublasStatus_t status, std::string_view call) const;
};

/// The handle of a GPU, whose work goes into that GPU's stream. Made at its first use and kept.
/// \throws NotSupported, CudaError
[[nodiscard]] cublasHandle_t cublas_handle(const Device& device);

}  // namespace tessera::bench
