/// \file
/// All that solve one system: Tessera's solvers with each kernel, and the loops written by hand.
#pragma once

#include "bench/hand_written_krylov.hpp"
#include "bench/krylov_system.hpp"
#include "bench/solver_bench_settings.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

/// The loop that all are held against, and the same that looks at its residual only now and then.
inline constexpr std::string_view hand_written_name = "hand-written";
inline constexpr std::string_view sparing_name = "hand-written/8";
inline constexpr int sparing_checks = 8;

/// Those of a device that were asked for: `auto` and merbit first, since the last ones may find no time left.
[[nodiscard]] std::vector<SpmvAlgorithm> wanted_kernels(const SolverBenchSettings& settings, const Device& device);

enum class KrylovMethod { cg, bicgstab };

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
  std::int64_t mends = 0;  ///< restarts and replacements, which cost products of their own
  std::string ending;
};

struct KrylovContender {
  std::string name;
  double setup_ms = 0.0;  ///< kernel and preconditioner, the matrix on the GPU
  std::string refusal;    ///< empty: it may run
  /// From x = 0. \param tolerance of ‖r‖ / ‖b‖; 0 is never reached
  std::function<KrylovOutcome(std::int64_t max_iterations, double tolerance)> solve;
};

/// Kernels and preconditioners of one system, set up once for all tasks. Set-ups are medians of three.
class KrylovContenders {
 public:
  KrylovContenders(KrylovSystem& system, const SolverBenchSettings& settings);

  [[nodiscard]] KrylovSystem& system() noexcept { return system_; }
  [[nodiscard]] bool has_jacobi() const noexcept { return jacobi_ != nullptr; }
  /// The loops written by hand first, then wanted_kernels(); those refused as well. They live as long as
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
  [[nodiscard]] KrylovContender with_kernel(const KrylovTask& task, const Kernel& kernel);

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
