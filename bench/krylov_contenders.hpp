/// \file
/// A system on a GPU and all that solve it: Tessera's solvers with each kernel, and the hand-written loops. Solutions
/// are judged on the host.
#pragma once

#include "bench/hand_written.hpp"
#include "bench/hand_written_gmres.hpp"
#include "bench/solver_problems.hpp"
#include "tessera/csr.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// The loop that all are held against, and the same with a check of the residual in every eighth iteration only.
inline constexpr std::string_view hand_written_name = "hand-written";
inline constexpr std::string_view batched_name = "hand-written/8";
inline constexpr int batched_checks = 8;

/// Those of a device that were asked for: `auto` and merbit first, since the last ones may find no time left.
[[nodiscard]] std::vector<SpmvAlgorithm> wanted_kernels(const SolverBenchSettings& settings, const Device& device);

enum class KrylovMethod { cg, bicgstab, gmres, idr };

[[nodiscard]] std::string to_string(KrylovMethod method);

struct KrylovTask {
  KrylovMethod method = KrylovMethod::cg;
  bool jacobi = false;

  [[nodiscard]] std::string name() const { return to_string(method) + (jacobi ? "+jacobi" : ""); }
};

/// What a solve said of itself.
struct KrylovOutcome {
  std::int64_t iterations = 0;
  double residual = 0.0;   ///< ‖b - A x‖ / ‖b‖ as the solver has it
  std::int64_t mends = 0;  ///< restarts and replacements, which cost products of their own; not the cycles of GMRES
  std::string ending;
};

struct KrylovContender {
  std::string name;
  double setup_ms = 0.0;  ///< kernel and preconditioner, the matrix on the GPU
  std::string refusal;    ///< empty: it may run
  /// From x = 0. \param tolerance of ‖r‖ / ‖b‖; 0 is never reached
  std::function<KrylovOutcome(std::int64_t max_iterations, double tolerance)> solve;
  double partition_ms = 0.0;  ///< cutting the matrix into the parts of one kernel, which every solver does anew; or 0
};

/// Kernels and preconditioners of one system, set up once for all tasks. Set-ups are medians of three.
class KrylovContenders {
 public:
  KrylovContenders(KrylovSystem& system, const SolverBenchSettings& settings);

  [[nodiscard]] KrylovSystem& system() noexcept { return system_; }
  [[nodiscard]] bool has_jacobi() const noexcept { return jacobi_ != nullptr; }
  /// The loops written by hand first (none of IDR), then wanted_kernels(); those refused as well. They live as long as
  /// this.
  [[nodiscard]] std::vector<KrylovContender> of(const KrylovTask& task);

 private:
  struct Kernel {
    std::string name;
    double setup_ms = 0.0;
    std::string refusal;
    std::unique_ptr<SpmvPlan<double>> plan;
  };

  void prepare_jacobi();
  void prepare_hand_written();
  void prepare_kernel(SpmvAlgorithm algorithm);
  [[nodiscard]] std::vector<KrylovContender> hand_written(const KrylovTask& task);
  [[nodiscard]] KrylovContender hand_written_gmres(const KrylovTask& task);
  [[nodiscard]] KrylovContender with_kernel(const KrylovTask& task, const Kernel& kernel);
  [[nodiscard]] double partition_ms(const KrylovTask& task, const Kernel& kernel) const;

  KrylovSystem& system_;
  std::unique_ptr<JacobiPreconditioner<double>> jacobi_;  ///< none where a diagonal entry is missing or 0
  double jacobi_ms_ = 0.0;
  std::vector<Kernel> kernels_;
  Array<std::int32_t> offsets_;
  std::unique_ptr<VendorProduct> product_;
  double product_ms_ = 0.0;
  Array<double> inverse_diagonal_;
  double inverse_diagonal_ms_ = 0.0;
  std::string hand_written_refusal_;
};

}  // namespace tessera::bench
