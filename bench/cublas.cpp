#include "bench/cublas.hpp"

#include "core/cuda/context.hpp"
#include "core/cuda/shared_library.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>

namespace tessera::bench {

namespace {

/// These functions are the same in the libraries of CUDA 12 and 13.
cuda::SharedLibrary open_library() {
  constexpr const char* purpose = "a hand-written loop";
  const std::string own = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  const std::string other = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR == 12 ? 13 : 12);
  try {
    return {own, purpose};
  } catch (const NotSupported&) {
    return {other, purpose};
  }
}

CuBlas load() {
  const cuda::SharedLibrary library = open_library();
  const auto find = [&]<class Function>(Function& function, const char* symbol) {
    function = library.function<Function>(symbol);
  };
  CuBlas result{};
  find(result.get_status_name, "cublasGetStatusName");
  find(result.create, "cublasCreate_v2");
  find(result.set_stream, "cublasSetStream_v2");
  find(result.set_pointer_mode, "cublasSetPointerMode_v2");
  find(result.dot, "cublasDdot_v2");
  find(result.axpy, "cublasDaxpy_v2");
  find(result.scal, "cublasDscal_v2");
  find(result.copy, "cublasDcopy_v2");
  return result;
}

}  // namespace

const CuBlas& CuBlas::library() {
  static const CuBlas loaded = load();
  return loaded;
}

void CuBlas::check(cublasStatus_t status, std::string_view call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(static_cast<int>(status), fmt::format("cuBLAS: {} failed: {}", call, get_status_name(status)));
}

cublasHandle_t cublas_handle(const Device& device) {
  static std::mutex mutex;
  static std::map<int, cublasHandle_t> handles;
  const std::scoped_lock lock(mutex);
  const auto known = handles.find(device.ordinal());
  if (known != handles.end()) return known->second;
  const CuBlas& cublas = CuBlas::library();
  const cuda::DeviceGuard current(device);
  cublasHandle_t handle = nullptr;
  cublas.check(cublas.create(&handle), "starting");
  cublas.check(cublas.set_stream(handle, cuda::Context::of(device).stream()), "choosing the stream");
  cublas.check(cublas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "choosing where scalars lie");
  handles.emplace(device.ordinal(), handle);
  return handle;
}

}  // namespace tessera::bench
