/// \file
/// cuSPARSE, loaded at run time.
#include "spmv/vendor/cusparse.hpp"

#include "core/cuda/context.hpp"
#include "core/cuda/shared_library.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace tessera::cuda {

namespace {

/// The interface that this was compiled for: cuSPARSE 12 comes with CUDA 12 and 13.
constexpr const char* library_name = "libcusparse.so.12";

CuSparse load() {
  const SharedLibrary library(library_name, "a vendor kernel");
  const auto find = [&]<class Function>(Function& function, const char* symbol) {
    function = library.function<Function>(symbol);
  };
  CuSparse result{};
  find(result.get_error_name, "cusparseGetErrorName");
  find(result.create, "cusparseCreate");
  find(result.set_stream, "cusparseSetStream");
  find(result.create_csr, "cusparseCreateConstCsr");
  find(result.create_coo, "cusparseCreateConstCoo");
  find(result.destroy_matrix, "cusparseDestroySpMat");
  find(result.create_const_vector, "cusparseCreateConstDnVec");
  find(result.create_vector, "cusparseCreateDnVec");
  find(result.destroy_vector, "cusparseDestroyDnVec");
  find(result.spmv_buffer_size, "cusparseSpMV_bufferSize");
  find(result.spmv_preprocess, "cusparseSpMV_preprocess");
  find(result.spmv, "cusparseSpMV");
  return result;
}

}  // namespace

const CuSparse& CuSparse::library() {
  static const CuSparse loaded = load();
  return loaded;
}

void CuSparse::check(cusparseStatus_t status, std::string_view call) const {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  if (status == CUSPARSE_STATUS_NOT_SUPPORTED) {
    throw NotSupported(fmt::format("cuSPARSE: {}: {}", call, get_error_name(status)));
  }
  throw CudaError(static_cast<int>(status), fmt::format("cuSPARSE: {} failed: {}", call, get_error_name(status)));
}

cusparseHandle_t cusparse_handle(const Device& device) {
  static std::mutex mutex;
  static std::map<int, cusparseHandle_t> handles;
  const std::scoped_lock lock(mutex);
  const auto known = handles.find(device.ordinal());
  if (known != handles.end()) return known->second;
  const CuSparse& cusparse = CuSparse::library();
  const DeviceGuard current(device);
  cusparseHandle_t handle = nullptr;
  cusparse.check(cusparse.create(&handle), "starting");
  cusparse.check(cusparse.set_stream(handle, Context::of(device).stream()), "choosing the stream");
  handles.emplace(device.ordinal(), handle);
  return handle;
}

}  // namespace tessera::cuda
