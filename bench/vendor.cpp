#include "bench/vendor.hpp"

#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"
#include "spmv/vendor/indices.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tessera::bench {

namespace {

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_CSR_ALG1;
constexpr double one = 1.0;
constexpr double zero = 0.0;

}  // namespace

VendorVector::VendorVector(std::int64_t size, const Device& device)
    : VendorVector(Array<double>(size, Init::zero, device)) {}

VendorVector::VendorVector(Array<double> elements) : values(std::move(elements)) {
  if (values.empty()) return;
  const cuda::CuSparse& cusparse = cuda::CuSparse::library();
  cusparseDnVecDescr_t vector = nullptr;
  cusparse.check(cusparse.create_vector(&vector, values.size(), values.data(), CUDA_R_64F), "describing a vector");
  descriptor.reset(vector);
}

Array<std::int32_t> narrow_row_offsets(const CsrView<double>& on_device, const Device& device) {
  if (on_device.nnz() > std::numeric_limits<std::int32_t>::max()) {
    throw NotSupported(fmt::format("cuSPARSE: {} nonzeros are too many for 32 bits", on_device.nnz()));
  }
  Array<std::int32_t> narrow(std::int64_t{on_device.rows} + 1, Init::none, device);
  cuda::narrow_offsets(device, on_device.row_offsets, narrow.span());
  return narrow;
}

VendorProduct::VendorProduct(const CsrView<double>& on_device, std::span<const std::int32_t> row_offsets,
                             std::span<const double> values, const Device& device)
    : device_(device),
      rows_(on_device.rows),
      cusparse_(cuda::CuSparse::library()),
      handle_(cuda::cusparse_handle(device)) {
  const cuda::DeviceGuard current(device_);
  cusparseConstSpMatDescr_t matrix = nullptr;
  cusparse_.check(cusparse_.create_csr(&matrix, on_device.rows, on_device.cols, on_device.nnz(), row_offsets.data(),
                                       on_device.columns.data(), values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
                  "describing the matrix");
  matrix_.reset(matrix);
  prepare();
}

void VendorProduct::prepare() {
  const VendorVector x(rows_, device_);
  const VendorVector y(rows_, device_);
  std::size_t bytes = 0;
  cusparse_.check(cusparse_.spmv_buffer_size(handle_, as_it_is, &one, matrix_.get(), x.descriptor.get(), &zero,
                                             y.descriptor.get(), CUDA_R_64F, algorithm, &bytes),
                  "asking for the size of the buffer");
  buffer_ = Array<std::byte>(static_cast<std::int64_t>(bytes), Init::none, device_);
  cusparse_.check(cusparse_.spmv_preprocess(handle_, as_it_is, &one, matrix_.get(), x.descriptor.get(), &zero,
                                            y.descriptor.get(), CUDA_R_64F, algorithm, buffer_.data()),
                  "preparing the product");
}

void VendorProduct::multiply(const VendorVector& x, VendorVector& y) const {
  cusparse_.check(cusparse_.spmv(handle_, as_it_is, &one, matrix_.get(), x.descriptor.get(), &zero, y.descriptor.get(),
                                 CUDA_R_64F, algorithm, buffer_.data()),
                  "the product");
}

namespace {

/// These functions are the same in the libraries of CUDA 12 and 13.
detail::SharedLibrary open_library() {
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
  const detail::SharedLibrary library = open_library();
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
  find(result.nrm2, "cublasDnrm2_v2");
  find(result.gemv, "cublasDgemv_v2");
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

namespace {

/// A handle whose work goes into the stream of a context; never destroyed. The device must be current.
struct CuBlasHandle {
  cublasHandle_t handle = nullptr;

  explicit CuBlasHandle(const cuda::Context& context) {
    const CuBlas& cublas = CuBlas::library();
    cublas.check(cublas.create(&handle), "starting");
    cublas.check(cublas.set_stream(handle, context.stream()), "choosing the stream");
    cublas.check(cublas.set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "choosing where scalars lie");
  }
};

}  // namespace

cublasHandle_t cublas_handle(const Device& device) {
  const cuda::Context& context = cuda::Context::of(device);
  return context
      .companion<CuBlasHandle>([&] {
        const cuda::DeviceGuard current(device);
        return std::make_unique<CuBlasHandle>(context);
      })
      .handle;
}

}  // namespace tessera::bench
