/// \file
/// A system of equations on a GPU, with its solution judged on the host.
#pragma once

#include "tessera/csr.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {

class KrylovSystem {
 public:
  /// \param b as long as the matrix, not 0 \throws DimensionError for a matrix that is not square, OutOfMemory
  KrylovSystem(std::string name, Csr<double> matrix, std::vector<double> b, const Device& device);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] const Csr<double>& host() const noexcept { return host_; }
  [[nodiscard]] const std::shared_ptr<const Csr<double>>& matrix() const noexcept { return matrix_; }
  [[nodiscard]] std::span<const double> b() const noexcept { return b_.span(); }
  /// Where solvers leave their solutions.
  [[nodiscard]] std::span<double> x() noexcept { return x_.span(); }
  [[nodiscard]] double upload_ms() const noexcept { return upload_ms_; }
  /// Equal to its transpose, with a positive diagonal.
  [[nodiscard]] bool may_be_positive_definite() const noexcept { return may_be_positive_definite_; }

  /// ‖b - A x‖ / ‖b‖ of what x() holds, in double on the host; NaN when it is not finite or x is 0.
  [[nodiscard]] double true_residual() const;

 private:
  std::string name_;
  Device device_;
  Csr<double> host_;
  std::vector<double> host_b_;
  double b_norm_ = 0.0;
  bool may_be_positive_definite_ = false;
  std::shared_ptr<const Csr<double>> matrix_;
  Array<double> b_;
  Array<double> x_;
  double upload_ms_ = 0.0;
};

/// n numbers in [-1/2, 1/2).
[[nodiscard]] std::vector<double> scattered_right_side(index_t n);

/// A times ones.
[[nodiscard]] std::vector<double> row_sums(const Csr<double>& matrix);

}  // namespace tessera::bench
