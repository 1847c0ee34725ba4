#include "bench/vendor_product.hpp"

#include "core/cuda/context.hpp"
#include "spmv/vendor/indices.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <limits>

namespace tessera::bench {

namespace {

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_CSR_ALG1;
constexpr double one = 1.0;
constexpr double zero = 0.0;

}  // namespace

VendorVector::VendorVector(std::int64_t size, const Device& device) : values(size, Init::zero, device) {
  if (size == 0) return;
  const cuda::CuSparse& cusparse = cuda::CuSparse::library();
  cusparseDnVecDescr_t vector = nullptr;
  cusparse.check(cusparse.create_vector(&vector, size, values.data(), CUDA_R_64F), "describing a vector");
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

}  // namespace tessera::bench
