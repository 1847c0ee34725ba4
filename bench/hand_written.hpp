/// \file
/// The baselines: CG, BiCGSTAB and PageRank as they are written by hand on cuSPARSE and cuBLAS. A prepared product,
/// scalars that stay on the GPU; own kernels only for scalars, for Jacobi and for the update of the ranks. The Krylov
/// loops have no guard against breakdowns and trust the residual of the recurrence.
#pragma once

#include "bench/hand_written_kernels.hpp"
#include "bench/vendor.hpp"
#include "tessera/pagerank.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::bench {

struct HandWrittenStop {
  std::int64_t max_iterations = 0;
  double tolerance = 0.0;  ///< of ‖r‖ / ‖b‖, by the recurrence
  int check_every = 1;     ///< iterations from one residual brought to the host to the next
};

struct HandWrittenResult {
  std::int64_t iterations = 0;
  double residual = 0.0;  ///< ‖r‖ / ‖b‖ by the recurrence; NaN after a breakdown
};

/// out = M v, in the stream of the device.
using HandWrittenPreconditioner = std::function<void(const VendorVector& v, VendorVector& out)>;

/// Vectors are made with the object: a solve allocates nothing. It starts from x = 0.
class HandWrittenKrylov {
 public:
  /// \param inverse_diagonal of Jacobi; empty: no preconditioner. It and the product live as long as this
  /// \throws NotSupported, OutOfMemory, CudaError
  HandWrittenKrylov(const VendorProduct& product, std::span<const double> inverse_diagonal);
  /// \param preconditioner empty: none
  HandWrittenKrylov(const VendorProduct& product, HandWrittenPreconditioner preconditioner);

  /// \param b,x on the device
  HandWrittenResult cg(std::span<const double> b, std::span<double> x, const HandWrittenStop& stop);
  /// Preconditioned from the right.
  HandWrittenResult bicgstab(std::span<const double> b, std::span<double> x, const HandWrittenStop& stop);

 private:
  /// Their places in scalars_.
  enum Scalar { one, rho, next_rho, below, quotient, alpha, minus_alpha, omega, minus_omega, beta, residual, count };

  void begin(std::span<const double> b, std::span<double> x);
  void cg_iteration(double* x);
  void bicgstab_iteration(double* x);
  template <class Iteration>
  HandWrittenResult iterate(const HandWrittenStop& stop, Iteration iteration);

  [[nodiscard]] double* at(Scalar scalar) noexcept { return scalars_.data() + scalar; }
  void dot(const double* v, const double* w, Scalar result);
  void add(Scalar factor, const double* v, double* w);  ///< w += factor v
  void scale(Scalar factor, double* v);
  void copy(const double* from, double* to);
  /// M v: `out` after it was written, or v itself without a preconditioner.
  [[nodiscard]] VendorVector& precondition(VendorVector& v, VendorVector& out);
  /// ‖r‖² of the recurrence, which waits for the GPU.
  [[nodiscard]] double bring_residual();

  const VendorProduct& product_;
  HandWrittenPreconditioner preconditioner_;
  Device device_;
  std::int64_t n_;
  const CuBlas& cublas_;
  cublasHandle_t handle_;
  Array<double> scalars_;
  PinnedValue<double> on_host_;
  VendorVector r_;  // s, in BiCGSTAB's second half
  VendorVector p_;
  VendorVector z_;  // M r, M p
  VendorVector q_;  // A p, A M p
  VendorVector s_hat_;
  VendorVector t_;
  Array<double> shadow_;
  double b_squared_ = 0.0;
};

/// cuSPARSE's product with the weighted transition matrix, then one own pass that updates the ranks and sums. The rank
/// of vertices without out-links goes to all vertices alike.
class HandWrittenPageRank {
 public:
  /// Copies the graph to the GPU, makes the values 1 / out-degree there and prepares the product.
  /// \param transition without weights \throws NotSupported, OutOfMemory, CudaError
  HandWrittenPageRank(const TransitionMatrix<double>& transition, const Device& device);

  /// Steps from uniform ranks. \param check_every steps from one change brought to the host to the next
  /// \returns milliseconds from the first step to the last change on the host
  double run(double damping, std::int64_t iterations, int check_every);

  /// \returns the ranks, on the host
  [[nodiscard]] std::vector<double> ranks() const;

  [[nodiscard]] double upload_ms() const noexcept { return upload_ms_; }
  /// Values, narrow offsets and cuSPARSE's preparation; median of three.
  [[nodiscard]] double setup_ms() const noexcept { return setup_ms_; }

 private:
  void set_up();
  void start();

  Device device_;
  std::int64_t n_;
  double upload_ms_ = 0.0;
  double setup_ms_ = 0.0;
  std::unique_ptr<const Csr<double>> in_links_;
  Array<double> out_inverse_;
  Array<std::int32_t> offsets_;
  Array<double> values_;
  std::unique_ptr<const VendorProduct> product_;
  VendorVector ranks_;
  VendorVector next_;
  Array<RankStepSums> partial_;
  Array<RankStepSums> sums_;
  PinnedValue<RankStepSums> on_host_;
};

}  // namespace tessera::bench
