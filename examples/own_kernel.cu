/// \file
/// Solves -Δu = 1 on the unit square, u = 0 on its boundary, on a GPU and without a matrix: A is a kernel of this
/// program. It is recorded into the loop that the GPU runs by itself, so no iteration waits for the host; then the same
/// operator is called by the host, to compare.
///
///     own_kernel [points per side]

#include <tessera/array.hpp>
#include <tessera/error.hpp>
#include <tessera/linear_operator.hpp>
#include <tessera/solvers.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

/// y = A u: the 5-point stencil times h², one thread per point.
__global__ void stencil_kernel(std::int64_t n, const double* u, double* y) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= n * n) return;
  const std::int64_t i = k % n;
  double sum = 4.0 * u[k];
  if (i > 0) sum -= u[k - 1];
  if (i + 1 < n) sum -= u[k + 1];
  if (k >= n) sum -= u[k - n];
  if (k + n < n * n) sum -= u[k + n];
  y[k] = sum;
}

/// The kernel as an operator. Its vectors lie on the GPU.
class Laplacian final : public tessera::LinearOperator<double> {
 public:
  Laplacian(std::int64_t n, const tessera::Device& device) : n_(n), device_(device) {}
  [[nodiscard]] std::int64_t rows() const override { return n_ * n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_ * n_; }
  [[nodiscard]] tessera::Device device() const override { return device_; }
  [[nodiscard]] bool can_enqueue() const override { return true; }

 protected:
  void do_enqueue(std::span<const double> u, std::span<double> y, cudaStream_t stream) const override {
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((n_ * n_ + threads - 1) / threads);
    stencil_kernel<<<blocks, threads, 0, stream>>>(n_, u.data(), y.data());
  }
  void do_apply(double alpha, std::span<const double> u, double beta, std::span<double> y) const override {
    apply_by_enqueue(alpha, u, beta, y);
  }

 private:
  std::int64_t n_;
  tessera::Device device_;
};

/// A u = 1. \returns u
tessera::Array<double> solve(const char* name, const tessera::LinearOperator<double>& A) {
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const auto b = tessera::Array<double>::copy_of(ones, A.device());
  tessera::Array<double> u(A.rows(), tessera::Init::zero, A.device());
  const tessera::SolveReport report = tessera::cg(A, b, u);
  std::cout << name << ": " << to_string(report.status) << " after " << report.iterations << " iterations\n";
  if (!report.converged()) throw tessera::Error(report.reason);
  return u.to(tessera::Device::host());
}

void compare(std::int64_t n) {
  if (tessera::survey_cuda().devices.empty()) {
    std::cout << "no GPU here: nothing to show\n";
    return;
  }
  const tessera::Device gpu = tessera::Device::cuda(0);
  const Laplacian A(n, gpu);
  const tessera::Array<double> u = solve("by the GPU alone", A);
  // A function without a stream is called by the host, once per product.
  const tessera::FunctionOperator<double> called(
      A.rows(), A.cols(), [&](std::span<const double> v, std::span<double> y) { A.apply(v, y); }, gpu);
  const tessera::Array<double> v = solve("driven by the host", called);
  double difference = 0.0;
  for (std::int64_t k = 0; k < u.size(); ++k) difference = std::fmax(difference, std::fabs(u[k] - v[k]));
  std::cout << "largest difference: " << difference << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = 200;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || n < 1 || n > 10'000) {
      std::cerr << "usage: own_kernel [points per side, 1 to 10000]\n";
      return 2;
    }
  }
  try {
    compare(n);
    return 0;
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
