// csrilu02 is deprecated without a successor.
#define DISABLE_CUSPARSE_DEPRECATED
#include "bench/vendor_factors.hpp"

#include "bench/report.hpp"

#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera::bench {

namespace {

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseSpSVAlg_t algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
constexpr cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
constexpr double one = 1.0;

/// The functions, by the names of the library without its prefix.
struct FactorLibrary {
  decltype(&cusparseCreateMatDescr) create_description;
  decltype(&cusparseDestroyMatDescr) destroy_description;
  decltype(&cusparseCreateCsrilu02Info) create_info;
  decltype(&cusparseDestroyCsrilu02Info) destroy_info;
  decltype(&cusparseDcsrilu02_bufferSize) ilu_buffer_size;
  decltype(&cusparseDcsrilu02_analysis) ilu_analysis;
  decltype(&cusparseDcsrilu02) ilu;
  decltype(&cusparseXcsrilu02_zeroPivot) ilu_zero_pivot;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseSpMatSetAttribute) set_attribute;
  decltype(&cusparseSpSV_createDescr) create_solve;
  decltype(&cusparseSpSV_destroyDescr) destroy_solve;
  decltype(&cusparseSpSV_bufferSize) solve_buffer_size;
  decltype(&cusparseSpSV_analysis) solve_analysis;
  decltype(&cusparseSpSV_solve) solve;
};

FactorLibrary load() {
  const detail::SharedLibrary library("libcusparse.so.12", "a benchmark of incomplete factors");
  const auto find = [&]<class Function>(Function& function, const char* symbol) {
    function = library.function<Function>(symbol);
  };
  FactorLibrary result{};
  find(result.create_description, "cusparseCreateMatDescr");
  find(result.destroy_description, "cusparseDestroyMatDescr");
  find(result.create_info, "cusparseCreateCsrilu02Info");
  find(result.destroy_info, "cusparseDestroyCsrilu02Info");
  find(result.ilu_buffer_size, "cusparseDcsrilu02_bufferSize");
  find(result.ilu_analysis, "cusparseDcsrilu02_analysis");
  find(result.ilu, "cusparseDcsrilu02");
  find(result.ilu_zero_pivot, "cusparseXcsrilu02_zeroPivot");
  find(result.create_csr, "cusparseCreateCsr");
  find(result.set_attribute, "cusparseSpMatSetAttribute");
  find(result.create_solve, "cusparseSpSV_createDescr");
  find(result.destroy_solve, "cusparseSpSV_destroyDescr");
  find(result.solve_buffer_size, "cusparseSpSV_bufferSize");
  find(result.solve_analysis, "cusparseSpSV_analysis");
  find(result.solve, "cusparseSpSV_solve");
  return result;
}

const FactorLibrary& functions() {
  static const FactorLibrary loaded = load();
  return loaded;
}

void check(cusparseStatus_t status, const char* call) { cuda::CuSparse::library().check(status, call); }

struct DestroyDescription {
  void operator()(cusparseMatDescr_t each) const noexcept { static_cast<void>(functions().destroy_description(each)); }
};
struct DestroyInfo {
  void operator()(csrilu02Info_t each) const noexcept { static_cast<void>(functions().destroy_info(each)); }
};
struct DestroySolve {
  void operator()(cusparseSpSVDescr_t each) const noexcept { static_cast<void>(functions().destroy_solve(each)); }
};

/// One triangle of L and U, which lie in one matrix.
struct VendorTriangle {
  cuda::MatrixDescriptor matrix;
  std::unique_ptr<cusparseSpSVDescr, DestroySolve> solve;
  Array<std::byte> buffer;
};

}  // namespace

struct VendorFactors::Triangles {
  VendorTriangle lower;
  VendorTriangle upper;
  VendorVector between;
};

VendorFactors::VendorFactors(const CsrView<double>& on_device, std::span<const std::int32_t> row_offsets,
                             const Device& device)
    : device_(device), row_offsets_(row_offsets), values_(on_device.nnz(), Init::none, device) {
  const cuda::DeviceGuard current(device_);
  detail::copy_bytes(device_, values_.data(), device_, on_device.values.data(), values_.bytes());
  factorize(on_device);
  prepare_solves(on_device);
}

VendorFactors::~VendorFactors() = default;

std::uint64_t VendorFactors::bytes() const noexcept {
  return values_.bytes() + triangles_->lower.buffer.bytes() + triangles_->upper.buffer.bytes() +
         triangles_->between.values.bytes();
}

void VendorFactors::factorize(const CsrView<double>& on_device) {
  const FactorLibrary& library = functions();
  cusparseHandle_t handle = cuda::cusparse_handle(device_);
  cusparseMatDescr_t new_description = nullptr;
  check(library.create_description(&new_description), "describing the matrix");
  const std::unique_ptr<cusparseMatDescr, DestroyDescription> description(new_description);
  csrilu02Info_t new_info = nullptr;
  check(library.create_info(&new_info), "preparing ILU(0)");
  const std::unique_ptr<csrilu02Info, DestroyInfo> info(new_info);
  const int rows = on_device.rows;
  const auto nnz = static_cast<int>(on_device.nnz());
  const std::int32_t* const offsets = row_offsets_.data();
  const index_t* const columns = on_device.columns.data();
  Array<std::byte> buffer;
  times_.factor_analysis = timed(device_, [&] {
    int bytes = 0;
    check(library.ilu_buffer_size(handle, rows, nnz, description.get(), values_.data(), offsets, columns, info.get(),
                                  &bytes),
          "asking for the size of the buffer of ILU(0)");
    buffer = Array<std::byte>(bytes, Init::none, device_);
    check(library.ilu_analysis(handle, rows, nnz, description.get(), values_.data(), offsets, columns, info.get(),
                               policy, buffer.data()),
          "analysing for ILU(0)");
  });
  times_.factor = timed(device_, [&] {
    check(library.ilu(handle, rows, nnz, description.get(), values_.data(), offsets, columns, info.get(), policy,
                      buffer.data()),
          "ILU(0)");
  });
  int row = 0;
  if (library.ilu_zero_pivot(handle, info.get(), &row) == CUSPARSE_STATUS_ZERO_PIVOT) {
    throw InvalidMatrix(fmt::format("cuSPARSE: the pivot of row {} is zero", row));
  }
}

void VendorFactors::prepare_solves(const CsrView<double>& on_device) {
  const FactorLibrary& library = functions();
  cusparseHandle_t handle = cuda::cusparse_handle(device_);
  triangles_ = std::make_unique<Triangles>(Triangles{{}, {}, VendorVector(on_device.rows, device_)});
  const VendorVector x(on_device.rows, device_);
  const VendorVector y(on_device.rows, device_);
  const auto prepare = [&](VendorTriangle& triangle, cusparseFillMode_t fill, cusparseDiagType_t diagonal) {
    cusparseSpMatDescr_t matrix = nullptr;
    check(library.create_csr(&matrix, on_device.rows, on_device.rows, on_device.nnz(),
                             const_cast<std::int32_t*>(row_offsets_.data()),
                             const_cast<index_t*>(on_device.columns.data()), values_.data(), CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
          "describing a triangle");
    triangle.matrix.reset(matrix);
    check(library.set_attribute(matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)), "choosing a triangle");
    check(library.set_attribute(matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)),
          "choosing the diagonal of a triangle");
    cusparseSpSVDescr_t solve = nullptr;
    check(library.create_solve(&solve), "preparing a triangular solve");
    triangle.solve.reset(solve);
    std::size_t bytes = 0;
    check(library.solve_buffer_size(handle, as_it_is, &one, matrix, x.descriptor.get(), y.descriptor.get(), CUDA_R_64F,
                                    algorithm, solve, &bytes),
          "asking for the size of the buffer of a triangular solve");
    triangle.buffer = Array<std::byte>(static_cast<std::int64_t>(bytes), Init::none, device_);
    check(library.solve_analysis(handle, as_it_is, &one, matrix, x.descriptor.get(), y.descriptor.get(), CUDA_R_64F,
                                 algorithm, solve, triangle.buffer.data()),
          "analysing for a triangular solve");
  };
  times_.solve_analysis = timed(device_, [&] {
    prepare(triangles_->lower, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT);
    prepare(triangles_->upper, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT);
  });
}

void VendorFactors::solve(const VendorVector& r, VendorVector& z) const {
  const FactorLibrary& library = functions();
  cusparseHandle_t handle = cuda::cusparse_handle(device_);
  const auto solve = [&](const VendorTriangle& triangle, const VendorVector& from, VendorVector& to) {
    check(library.solve(handle, as_it_is, &one, triangle.matrix.get(), from.descriptor.get(), to.descriptor.get(),
                        CUDA_R_64F, algorithm, triangle.solve.get()),
          "a triangular solve");
  };
  solve(triangles_->lower, r, triangles_->between);
  solve(triangles_->upper, triangles_->between, z);
}

}  // namespace tessera::bench
