#include "bench/vendor_spgemm.hpp"

#include "bench/vendor.hpp"
#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace tessera::bench {

namespace {

/// What of the library only this program calls.
struct Functions {
  decltype(&cusparseSpGEMM_createDescr) create;
  decltype(&cusparseSpGEMM_destroyDescr) destroy;
  decltype(&cusparseSpGEMM_workEstimation) estimate;
  decltype(&cusparseSpGEMM_compute) compute;
  decltype(&cusparseSpGEMM_copy) copy;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseSpMatGetSize) get_size;
  decltype(&cusparseCsrSetPointers) set_pointers;

  static const Functions& library() {
    static const Functions loaded = [] {
      const detail::SharedLibrary library("libcusparse.so.12", "the vendor's SpGEMM");
      const auto find = [&]<class F>(F& function, const char* symbol) { function = library.function<F>(symbol); };
      Functions result{};
      find(result.create, "cusparseSpGEMM_createDescr");
      find(result.destroy, "cusparseSpGEMM_destroyDescr");
      find(result.estimate, "cusparseSpGEMM_workEstimation");
      find(result.compute, "cusparseSpGEMM_compute");
      find(result.copy, "cusparseSpGEMM_copy");
      find(result.create_csr, "cusparseCreateCsr");
      find(result.get_size, "cusparseSpMatGetSize");
      find(result.set_pointers, "cusparseCsrSetPointers");
      return result;
    }();
    return loaded;
  }
};

struct DestroyWork {
  void operator()(cusparseSpGEMMDescr_t work) const noexcept { static_cast<void>(Functions::library().destroy(work)); }
};
using WorkDescriptor = std::unique_ptr<cusparseSpGEMMDescr, DestroyWork>;

struct DestroySparse {
  void operator()(cusparseSpMatDescr_t matrix) const noexcept {
    static_cast<void>(cuda::CuSparse::library().destroy_matrix(matrix));
  }
};
using SparseDescriptor = std::unique_ptr<cusparseSpMatDescr, DestroySparse>;

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseSpGEMMAlg_t algorithm = CUSPARSE_SPGEMM_ALG1;
constexpr double one = 1.0;
constexpr double zero = 0.0;

SparseDescriptor describe(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int32_t* offsets,
                          index_t* columns, double* values) {
  cusparseSpMatDescr_t matrix = nullptr;
  cuda::CuSparse::library().check(
      Functions::library().create_csr(&matrix, rows, cols, nnz, offsets, columns, values, CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
      "describing a matrix");
  return SparseDescriptor(matrix);
}

/// The library takes factors as memory it could write to.
SparseDescriptor describe(const Csr<double>& matrix, Array<std::int32_t>& offsets) {
  return describe(matrix.rows(), matrix.cols(), matrix.nnz(), offsets.data(),
                  const_cast<index_t*>(matrix.columns().data()), const_cast<double*>(matrix.values().data()));
}

}  // namespace

VendorSpgemm::VendorSpgemm(const Csr<double>& a, const Csr<double>& b, const Device& device)
    : device_(device),
      a_(a),
      b_(b),
      a_offsets_(narrow_row_offsets(a.view(), device)),
      b_offsets_(narrow_row_offsets(b.view(), device)),
      handle_(cuda::cusparse_handle(device)) {
  static_cast<void>(Functions::library());
}

std::int64_t VendorSpgemm::multiply() {
  const cuda::DeviceGuard current(device_);
  const cuda::CuSparse& cusparse = cuda::CuSparse::library();
  const Functions& functions = Functions::library();
  const SparseDescriptor a = describe(a_, a_offsets_);
  const SparseDescriptor b = describe(b_, b_offsets_);
  Array<std::int32_t> c_offsets(std::int64_t{a_.rows()} + 1, Init::none, device_);
  const SparseDescriptor c = describe(a_.rows(), b_.cols(), 0, c_offsets.data(), nullptr, nullptr);
  cusparseSpGEMMDescr_t raw = nullptr;
  cusparse.check(functions.create(&raw), "describing a sparse product");
  const WorkDescriptor work(raw);
  const auto call = [&](auto function, std::size_t& bytes, void* buffer, const char* what) {
    cusparse.check(function(handle_, as_it_is, as_it_is, &one, a.get(), b.get(), &zero, c.get(), CUDA_R_64F, algorithm,
                            work.get(), &bytes, buffer),
                   what);
  };
  const auto take = [&](auto function, const char* what) {
    std::size_t bytes = 0;
    call(function, bytes, nullptr, what);
    Array<std::byte> buffer(static_cast<std::int64_t>(bytes), Init::none, device_);
    call(function, bytes, buffer.data(), what);
    return buffer;
  };
  const Array<std::byte> estimated = take(functions.estimate, "estimating a sparse product");
  const Array<std::byte> computed = take(functions.compute, "computing a sparse product");
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  cusparse.check(functions.get_size(c.get(), &rows, &cols, &nnz), "asking for the size of a sparse product");
  Array<index_t> columns(nnz, Init::none, device_);
  Array<double> values(nnz, Init::none, device_);
  cusparse.check(functions.set_pointers(c.get(), c_offsets.data(), columns.data(), values.data()),
                 "placing a sparse product");
  cusparse.check(functions.copy(handle_, as_it_is, as_it_is, &one, a.get(), b.get(), &zero, c.get(), CUDA_R_64F,
                                algorithm, work.get()),
                 "copying a sparse product");
  cuda::Context::of(device_).synchronize();
  peak_bytes_ = estimated.bytes() + computed.bytes() + c_offsets.bytes() + columns.bytes() + values.bytes();
  return nnz;
}

}  // namespace tessera::bench
