/// \file
/// cuSPARSE, loaded at run time.
#include "spmv/vendor/cusparse.hpp"

#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <memory>

namespace tessera::cuda {

namespace {

/// The interface that this was compiled for: cuSPARSE 12 comes with CUDA 12 and 13.
constexpr const char* library_name = "libcusparse.so.12";

CuSparse load() {
  const detail::SharedLibrary library(library_name, "a vendor kernel");
  const auto find = [&]<class Function>(Function& function, const char* symbol) {
    function = library.function<Function>(symbol);
  };
  CuSparse result{};
  find(result.get_error_name, "cusparseGetErrorName");
  find(result.create, "cusparseCreate");
  find(result.destroy, "cusparseDestroy");
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

/// A handle whose work goes into the stream of a context. The device must be current.
class CuSparseHandle {
 public:
  explicit CuSparseHandle(const Context& context) {
    const CuSparse& cusparse = CuSparse::library();
    cusparse.check(cusparse.create(&handle_), "starting");
    cusparse.check(cusparse.set_stream(handle_, context.stream()), "choosing the stream");
  }
  CuSparseHandle(const CuSparseHandle&) = delete;
  CuSparseHandle& operator=(const CuSparseHandle&) = delete;
  ~CuSparseHandle() { static_cast<void>(CuSparse::library().destroy(handle_)); }

  [[nodiscard]] cusparseHandle_t get() const noexcept { return handle_; }

 private:
  cusparseHandle_t handle_ = nullptr;
};

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
  const Context& context = Context::of(device);
  return context
      .companion<CuSparseHandle>([&] {
        const DeviceGuard current(device);
        return std::make_unique<CuSparseHandle>(context);
      })
      .get();
}

}  // namespace tessera::cuda
