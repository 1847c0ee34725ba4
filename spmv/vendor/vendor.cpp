/// \file
/// Kernels vendor-csr and vendor-coo: cusparseSpMV.
#include "spmv/vendor/vendor.hpp"

#include "core/cuda/context.hpp"
#include "core/cuda/vector_ops.hpp"
#include "spmv/vendor/cusparse.hpp"
#include "spmv/vendor/indices.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <mutex>

namespace tessera::cuda {

namespace {

enum class Format { csr, coo };

template <class T>
constexpr cudaDataType data_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

/// One handle serves all kernels of a GPU, and only one of them at a time.
std::mutex& handle_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Both vectors of a product.
template <class T>
struct Vectors {
  ConstVectorDescriptor x;
  VectorDescriptor y;

  Vectors(const CuSparse& cusparse, std::span<const T> from, std::span<T> to) {
    cusparseConstDnVecDescr_t source = nullptr;
    cusparse.check(
        cusparse.create_const_vector(&source, static_cast<std::int64_t>(from.size()), from.data(), data_type<T>),
        "describing x");
    x.reset(source);
    cusparseDnVecDescr_t target = nullptr;
    cusparse.check(cusparse.create_vector(&target, static_cast<std::int64_t>(to.size()), to.data(), data_type<T>),
                   "describing y");
    y.reset(target);
  }
};

template <class T>
class VendorKernel final : public SpmvKernel<T> {
 public:
  VendorKernel(Format format, const CsrView<T>& a, const SpmvOptions& options)
      : format_(format), device_(options.device), cusparse_(CuSparse::library()), handle_(cusparse_handle(device_)) {
    // Nothing to multiply: every product only scales y.
    if (a.nnz() == 0) return;
    make_indices(a);
    if (a.is_pattern()) {
      ones_ = Array<T>(a.nnz(), Init::none, device_);
      fill_ones(device_, ones_.span());
    }
    prepare(a, a.is_pattern() ? ones_.data() : a.values.data());
  }

  void apply(const CsrView<T>& /*a*/, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    if (matrix_ == nullptr) return scale(device_, beta, y);
    const DeviceGuard current(device_);
    const std::scoped_lock lock(handle_mutex());
    const Vectors<T> vectors(cusparse_, x, y);
    // A loop may be recording from another stream than the usual one.
    cusparse_.check(cusparse_.set_stream(handle_, Context::of(device_).stream()), "choosing the stream");
    cusparse_.check(cusparse_.spmv(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrix_.get(), vectors.x.get(),
                                   &beta, vectors.y.get(), data_type<T>, algorithm(), buffer_.data()),
                    "the product");
  }

  /// The product, then the sums in one pass.
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    apply(a, T{1}, x, T{0}, y);
    return dots<T>(device_, y, w);
  }

  /// What cuSPARSE prepared depends on the structure alone: only values in another place need it anew, which is where
  /// the first update of a plan puts them.
  void update_values(std::span<const T> values) override {
    if (matrix_ != nullptr && values.data() != planned_.values.data()) {
      planned_.values = values;
      prepare(planned_, values.data());
    }
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::not_guaranteed;
    info.bytes = offsets_.bytes() + row_of_.bytes() + ones_.bytes() + buffer_.bytes();
  }

 private:
  [[nodiscard]] cusparseSpMVAlg_t algorithm() const noexcept {
    return format_ == Format::csr ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_COO_ALG1;
  }

  void make_indices(const CsrView<T>& a) {
    if (a.nnz() > std::numeric_limits<std::int32_t>::max()) {
      throw NotSupported(fmt::format(
          "cuSPARSE takes offsets and columns of one width: {} nonzeros are too many for 32 bits", a.nnz()));
    }
    if (format_ == Format::coo) {
      row_of_ = Array<index_t>(a.nnz(), Init::none, device_);
      expand_rows(device_, a.row_offsets, row_of_.span());
    } else {
      offsets_ = Array<std::int32_t>(static_cast<std::int64_t>(a.row_offsets.size()), Init::none, device_);
      narrow_offsets(device_, a.row_offsets, offsets_.span());
    }
  }

  [[nodiscard]] MatrixDescriptor describe_matrix(const CsrView<T>& a, const T* values) const {
    cusparseConstSpMatDescr_t matrix = nullptr;
    if (format_ == Format::coo) {
      cusparse_.check(cusparse_.create_coo(&matrix, a.rows, a.cols, a.nnz(), row_of_.data(), a.columns.data(), values,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
                      "describing the matrix in COO");
    } else {
      cusparse_.check(
          cusparse_.create_csr(&matrix, a.rows, a.cols, a.nnz(), offsets_.data(), a.columns.data(), values,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
          "describing the matrix in CSR");
    }
    return MatrixDescriptor(matrix);
  }

  /// Describes the matrix with these values and lets cuSPARSE look at it.
  void prepare(const CsrView<T>& a, const T* values) {
    const DeviceGuard current(device_);
    const std::scoped_lock lock(handle_mutex());
    cusparse_.check(cusparse_.set_stream(handle_, Context::of(device_).stream()), "choosing the stream");
    MatrixDescriptor matrix = describe_matrix(a, values);
    const Array<T> x(a.cols, Init::zero, device_);
    Array<T> y(a.rows, Init::zero, device_);
    const Vectors<T> vectors(cusparse_, x.span(), y.span());
    const T one{1};
    const T zero{0};
    std::size_t bytes = 0;
    cusparse_.check(
        cusparse_.spmv_buffer_size(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix.get(), vectors.x.get(),
                                   &zero, vectors.y.get(), data_type<T>, algorithm(), &bytes),
        "asking for the size of the buffer");
    // The buffer belongs to the matrix that was prepared with it: both change together, or neither does.
    Array<std::byte> buffer(static_cast<std::int64_t>(bytes), Init::none, device_);
    cusparse_.check(
        cusparse_.spmv_preprocess(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix.get(), vectors.x.get(), &zero,
                                  vectors.y.get(), data_type<T>, algorithm(), buffer.data()),
        "preparing the product");
    planned_ = a;
    matrix_ = std::move(matrix);
    buffer_ = std::move(buffer);
  }

  Format format_;
  Device device_;
  const CuSparse& cusparse_;
  cusparseHandle_t handle_;
  Array<std::int32_t> offsets_;      ///< of CSR
  Array<index_t> row_of_;            ///< of COO
  Array<T> ones_;                    ///< values of a pattern matrix
  mutable Array<std::byte> buffer_;  ///< what cuSPARSE asked for
  CsrView<T> planned_;               ///< as cuSPARSE knows it; the arrays live as long as the plan
  MatrixDescriptor matrix_;          ///< none without nonzeros
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_vendor_csr_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<VendorKernel<T>>(Format::csr, on_device, options);
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_vendor_coo_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<VendorKernel<T>>(Format::coo, on_device, options);
}

template std::unique_ptr<SpmvKernel<float>> make_vendor_csr_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_vendor_csr_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<float>> make_vendor_coo_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_vendor_coo_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
