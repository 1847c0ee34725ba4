/// \file
/// An operator whose products the host waits for, so that the host drives the loops of solvers.
#pragma once

#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::testing {

/// Forwards to an operator of the library, which could be enqueued, as an operator of a user, which cannot.
class Waiting final : public FusedOperator<double> {
 public:
  explicit Waiting(const FusedOperator<double>& a) : a_(a) {}
  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] Device device() const override { return a_.device(); }
  [[nodiscard]] bool has_transpose() const override { return a_.has_transpose(); }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    a_.apply(alpha, x, beta, y);
  }
  void do_apply_transposed(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    a_.apply_transposed(alpha, x, beta, y);
  }
  ProductDots do_apply_and_dot(std::span<const double> x, std::span<double> y,
                               std::span<const double> w) const override {
    return a_.apply_and_dot(x, y, w);
  }
  double do_residual(int exponent, std::span<const double> b, std::span<const double> x,
                     std::span<double> r) const override {
    return a_.residual(exponent, b, x, r);
  }

 private:
  const FusedOperator<double>& a_;
};

}  // namespace tessera::testing
