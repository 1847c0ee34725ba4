/// \file
/// A program on cuSPARSE hands its matrix to Tessera where it lies: CSR with 32-bit offsets in memory of the GPU.
/// Columns and values are not copied; CG with AMG solves in the program's own stream. cuSPARSE then multiplies the
/// solution, to see for itself.
///
///     cusparse_csr [points per side]

#include <tessera/adopt_csr.hpp>
#include <tessera/amg.hpp>
#include <tessera/array.hpp>
#include <tessera/context.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw tessera::Error(cudaGetErrorString(code));
}
void check(cusparseStatus_t code) {
  if (code != CUSPARSE_STATUS_SUCCESS) throw tessera::Error(cusparseGetErrorString(code));
}

/// Memory of the GPU by cudaMalloc, with a copy of what the host has.
template <class T>
class DeviceVector {
 public:
  explicit DeviceVector(const std::vector<T>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, size_ * sizeof(T)));
    check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;
  ~DeviceVector() { cudaFree(data_); }
  [[nodiscard]] std::span<T> span() const { return {static_cast<T*>(data_), size_}; }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_); }

 private:
  std::size_t size_;
  void* data_ = nullptr;
};

/// The matrix of the program, with its stream.
class Program {
 public:
  explicit Program(const tessera::Csr<double>& a)
      : rows_(a.rows()),
        offsets_(std::vector<std::int32_t>(a.row_offsets().begin(), a.row_offsets().end())),
        columns_(std::vector<std::int32_t>(a.columns().begin(), a.columns().end())),
        values_(std::vector<double>(a.values().begin(), a.values().end())) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cusparseCreate(&handle_));
    check(cusparseSetStream(handle_, stream_));
    check(cusparseCreateCsr(&matrix_, rows_, rows_, values_.size(), offsets_.data(), columns_.data(), values_.data(),
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] std::span<const std::int32_t> offsets() const { return offsets_.span(); }
  [[nodiscard]] std::span<const std::int32_t> columns() const { return columns_.span(); }
  [[nodiscard]] std::span<const double> values() const { return values_.span(); }

  /// y = A x by cuSPARSE.
  void multiply(const DeviceVector<double>& x, const DeviceVector<double>& y) const {
    constexpr double one = 1.0;
    constexpr double zero = 0.0;
    cusparseDnVecDescr_t from = nullptr;
    cusparseDnVecDescr_t to = nullptr;
    check(cusparseCreateDnVec(&from, rows_, x.data(), CUDA_R_64F));
    check(cusparseCreateDnVec(&to, rows_, y.data(), CUDA_R_64F));
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, from, &zero, to, CUDA_R_64F,
                                  CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    const DeviceVector<char> buffer(std::vector<char>(bytes + 1));
    check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, from, &zero, to, CUDA_R_64F,
                       CUSPARSE_SPMV_ALG_DEFAULT, buffer.data()));
    check(cudaStreamSynchronize(stream_));
    check(cusparseDestroyDnVec(from));
    check(cusparseDestroyDnVec(to));
  }

 private:
  std::int64_t rows_;
  DeviceVector<std::int32_t> offsets_;
  DeviceVector<std::int32_t> columns_;
  DeviceVector<double> values_;
  cudaStream_t stream_ = nullptr;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
};

int run(std::int64_t points) {
  if (tessera::survey_cuda().devices.empty()) {
    std::cout << "no GPU here: nothing to show\n";
    return 0;
  }
  const Program program(tessera::poisson2d<double>(points, points));
  const std::int64_t n = points * points;
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  const DeviceVector<double> b(ones);
  const DeviceVector<double> x(std::vector<double>(ones.size()));

  const tessera::Context context(tessera::Device::cuda(0), {.stream = program.stream()});
  tessera::Csr<double> matrix =
      tessera::adopt_csr<double>(n, n, program.offsets(), program.columns(), program.values(), {.device = context});
  const bool is_in_place = matrix.view().columns.data() == program.columns().data() &&
                           matrix.view().values.data() == program.values().data();
  const tessera::SpmvPlan<double> A(std::move(matrix), {.device = context});
  const tessera::Amg<double> M(A.matrix(), {}, context);
  const tessera::SolveReport report = tessera::cg<double>(A, M, b.span(), x.span());

  const DeviceVector<double> product(ones);
  program.multiply(x, product);
  std::vector<double> found(ones.size());
  check(cudaMemcpy(found.data(), product.data(), found.size() * sizeof(double), cudaMemcpyDeviceToHost));
  double squares = 0.0;
  for (const double value : found) squares += (1.0 - value) * (1.0 - value);
  const double residual = std::sqrt(squares);
  std::cout << (is_in_place ? "adopted in place" : "copied") << "; " << to_string(report.status) << " after "
            << report.iterations << " iterations\n"
            << "||b - A x|| by cuSPARSE " << (residual <= 1.001 * report.target ? "meets" : "misses")
            << " the tolerance\n";
  return report.converged() && residual <= 1.001 * report.target ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t points = 200;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), points);
    if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || points < 1 || points > 10'000) {
      std::cerr << "usage: cusparse_csr [points per side, 1 to 10000]\n";
      return 2;
    }
  }
  try {
    return run(points);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
