/// \file
/// A matrix-free operator with a kernel of its own, as a program that uses the library would write it.
#pragma once

#include "tessera/linear_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::testing {

/// y = A u of the 5-point stencil on nx x ny points, u = 0 around them: 4 u - its neighbours, as poisson2d() has it.
/// All on the GPU, in `stream`. \returns whether the kernel could be launched
bool launch_poisson_stencil(std::int64_t nx, std::int64_t ny, const double* u, double* y, CUstream_st* stream);

/// The stencil as an operator that goes into a loop on the GPU.
class PoissonStencil : public LinearOperator<double> {
 public:
  PoissonStencil(std::int64_t nx, std::int64_t ny, const Device& device) : nx_(nx), ny_(ny), device_(device) {}
  [[nodiscard]] std::int64_t rows() const override { return nx_ * ny_; }
  [[nodiscard]] std::int64_t cols() const override { return nx_ * ny_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool can_enqueue() const override { return true; }
  /// Calls of do_enqueue().
  [[nodiscard]] int calls() const noexcept { return calls_; }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    apply_by_enqueue(alpha, x, beta, y);
  }
  void do_enqueue(std::span<const double> x, std::span<double> y, CUstream_st* stream) const override {
    ++calls_;
    launch_poisson_stencil(nx_, ny_, x.data(), y.data(), stream);
  }

 private:
  std::int64_t nx_;
  std::int64_t ny_;
  Device device_;
  mutable int calls_ = 0;
};

}  // namespace tessera::testing
