/// \file
/// The baseline of GMRES: a loop as it is written by hand on cuSPARSE and cuBLAS. A prepared product into the next
/// column of the basis, classical Gram-Schmidt twice by four matrix-vector products, and one copy of a column of H to
/// the host per iteration, where the rotations are.
#pragma once

#include "bench/hand_written.hpp"
#include "bench/vendor.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::bench {

/// Directions of a cycle, of all contenders.
inline constexpr int gmres_restart = 30;

/// All memory is made with the object. A solve starts from x = 0. It has no guard against breakdowns.
class HandWrittenGmres {
 public:
  /// \param inverse_diagonal of Jacobi, from the right; empty: no preconditioner. It and the product live as long as
  /// this \throws NotSupported, OutOfMemory, CudaError
  HandWrittenGmres(const VendorProduct& product, std::span<const double> inverse_diagonal);

  /// \param b,x on the device \param stop its check_every is not used: every column of H comes to the host
  HandWrittenResult solve(std::span<const double> b, std::span<double> x, const HandWrittenStop& stop);

 private:
  static constexpr int m = gmres_restart;
  /// One copy to the host: Vᵀ w of both passes, and the norm of what is left.
  struct Column {
    double first[m];
    double second[m];
    double norm;
  };

  /// One cycle. \returns the residual norm by the recurrence
  double cycle(double first_norm, double target, std::int64_t most, std::span<double> x);
  void expand(int j);
  /// |γ| after a new column.
  double rotate(int j, const Column& column);
  void update_solution(int count, std::span<double> x);
  /// The first column of V, not yet divided by its norm. \returns the norm
  double residual(std::span<const double> b, std::span<double> x);
  void gemv(cublasOperation_t operation, int columns, const double* alpha, const double* in, const double* beta,
            double* out);
  [[nodiscard]] double* at(int scalar) noexcept { return constants_.data() + scalar; }

  const VendorProduct& product_;
  std::span<const double> inverse_diagonal_;
  Device device_;
  std::int64_t n_;
  const CuBlas& cublas_;
  cublasHandle_t handle_;
  Array<double> basis_;
  std::vector<VendorVector> v_;  // columns of the basis
  VendorVector z_;
  Array<double> constants_;  // 0, 1, -1, 1 / norm, unused
  Array<Column> column_;
  PinnedValue<Column> on_host_;
  Array<double> y_;

  std::array<double, m * m> r_{};
  std::array<double, m> cosine_{};
  std::array<double, m> sine_{};
  std::array<double, m> right_side_{};
  double gamma_ = 0.0;
  std::int64_t done_ = 0;
};

}  // namespace tessera::bench
