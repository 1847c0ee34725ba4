#include "bench/vendor_spmm.hpp"

#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"
#include "spmv/vendor/indices.hpp"

namespace tessera::bench {

namespace {

/// What of the library only this program calls.
struct Functions {
  decltype(&cusparseCreateConstDnMat) create_const;
  decltype(&cusparseCreateDnMat) create;
  decltype(&cusparseDestroyDnMat) destroy;
  decltype(&cusparseSpMM_bufferSize) buffer_size;
  decltype(&cusparseSpMM_preprocess) preprocess;
  decltype(&cusparseSpMM) multiply;

  static const Functions& library() {
    static const Functions loaded = [] {
      const detail::SharedLibrary library("libcusparse.so.12", "the vendor's SpMM");
      const auto find = [&]<class F>(F& function, const char* symbol) { function = library.function<F>(symbol); };
      Functions result{};
      find(result.create_const, "cusparseCreateConstDnMat");
      find(result.create, "cusparseCreateDnMat");
      find(result.destroy, "cusparseDestroyDnMat");
      find(result.buffer_size, "cusparseSpMM_bufferSize");
      find(result.preprocess, "cusparseSpMM_preprocess");
      find(result.multiply, "cusparseSpMM");
      return result;
    }();
    return loaded;
  }
};

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
template <class T>
constexpr cudaDataType data_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
template <class T>
constexpr T one = 1;
template <class T>
constexpr T zero = 0;

cusparseOrder_t order_of(MultiVectorLayout layout) {
  return layout == MultiVectorLayout::column_major ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
}

}  // namespace

void DestroyDense::operator()(cusparseConstDnMatDescr_t matrix) const noexcept {
  static_cast<void>(Functions::library().destroy(matrix));
}

template <class T>
VendorSpmm<T>::VendorSpmm(const CsrView<T>& a, const MultiVectorView<const T>& x, const MultiVectorView<T>& y,
                          const Device& device, int algorithm)
    : offsets_(std::int64_t{a.rows} + 1, Init::none, device),
      handle_(cuda::cusparse_handle(device)),
      algorithm_(algorithm == 1   ? CUSPARSE_SPMM_CSR_ALG1
                 : algorithm == 2 ? CUSPARSE_SPMM_CSR_ALG2
                                  : CUSPARSE_SPMM_CSR_ALG3) {
  const cuda::DeviceGuard current(device);
  const cuda::CuSparse& cusparse = cuda::CuSparse::library();
  const Functions& functions = Functions::library();
  cuda::narrow_offsets(device, a.row_offsets, offsets_.span());
  cusparseConstSpMatDescr_t matrix = nullptr;
  cusparse.check(
      cusparse.create_csr(&matrix, a.rows, a.cols, a.nnz(), offsets_.data(), a.columns.data(), a.values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
      "describing the matrix");
  matrix_.reset(matrix);
  cusparseConstDnMatDescr_t source = nullptr;
  cusparse.check(functions.create_const(&source, x.rows(), x.columns(), x.leading_dimension(), x.data(), data_type<T>,
                                        order_of(x.layout())),
                 "describing X");
  x_.reset(source);
  cusparseDnMatDescr_t target = nullptr;
  cusparse.check(functions.create(&target, y.rows(), y.columns(), y.leading_dimension(), y.data(), data_type<T>,
                                  order_of(y.layout())),
                 "describing Y");
  y_.reset(target);
  std::size_t bytes = 0;
  cusparse.check(functions.buffer_size(handle_, as_it_is, as_it_is, &one<T>, matrix_.get(), x_.get(), &zero<T>,
                                       y_.get(), data_type<T>, algorithm_, &bytes),
                 "asking for the size of the buffer");
  buffer_ = Array<std::byte>(static_cast<std::int64_t>(bytes), Init::none, device);
  cusparse.check(functions.preprocess(handle_, as_it_is, as_it_is, &one<T>, matrix_.get(), x_.get(), &zero<T>, y_.get(),
                                      data_type<T>, algorithm_, buffer_.data()),
                 "preparing a product with several columns");
}

template <class T>
void VendorSpmm<T>::multiply() const {
  cuda::CuSparse::library().check(
      Functions::library().multiply(handle_, as_it_is, as_it_is, &one<T>, matrix_.get(), x_.get(), &zero<T>, y_.get(),
                                    data_type<T>, algorithm_, buffer_.data()),
      "the product with several columns");
}

template class VendorSpmm<float>;
template class VendorSpmm<double>;

}  // namespace tessera::bench
