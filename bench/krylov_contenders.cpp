#include "bench/krylov_contenders.hpp"

#include "bench/hand_written_kernels.hpp"
#include "bench/report.hpp"
#include "bench/zoo.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "solvers/persistent_kernel.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::bench {

namespace {

double row_product(const CsrView<double>& a, std::size_t row, const double* x) {
  double sum = 0.0;
  for (auto k = static_cast<std::size_t>(a.row_offsets[row]); k < static_cast<std::size_t>(a.row_offsets[row + 1]);
       ++k) {
    sum += a.values[k] * x[a.columns[k]];
  }
  return sum;
}

double norm(const std::vector<double>& v) {
  const double squares =
      host::parallel_sum<double>(Device{}, static_cast<std::int64_t>(v.size()), [&v](host::Range range) {
        double sum = 0.0;
        for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
          sum += v[i] * v[i];
        }
        return sum;
      });
  return std::sqrt(squares);
}

}  // namespace

KrylovSystem::KrylovSystem(std::string name, Csr<double> matrix, std::vector<double> b, const Device& device)
    : name_(std::move(name)),
      device_(device),
      host_(std::move(matrix)),
      host_b_(std::move(b)),
      b_norm_(norm(host_b_)),
      b_(Array<double>::copy_of(host_b_, device)),
      x_(host_.rows(), Init::zero, device) {
  if (host_.rows() != host_.cols()) {
    throw DimensionError(fmt::format("{}: the matrix is {} x {}, not square", name_, host_.rows(), host_.cols()));
  }
  const MatrixStatistics facts = statistics(host_.view());
  may_be_positive_definite_ =
      facts.symmetry == Symmetry::numerical && facts.full_diagonal() && facts.diagonal_negative == 0;
  const Stopwatch watch;
  matrix_ = std::make_shared<const Csr<double>>(host_.to(device));
  synchronize(device);
  upload_ms_ = watch.milliseconds();
}

double KrylovSystem::true_residual() const {
  std::vector<double> x(host_b_.size());
  detail::copy_bytes(Device{}, x.data(), device_, x_.data(), x_.bytes());
  if (norm(x) == 0.0) return std::numeric_limits<double>::quiet_NaN();
  const CsrView<double> a = host_.view();
  const double squares = host::parallel_sum<double>(Device{}, a.rows, [&](host::Range range) {
    double sum = 0.0;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      const double left = host_b_[i] - row_product(a, i, x.data());
      sum += left * left;
    }
    return sum;
  });
  const double residual = std::sqrt(squares) / b_norm_;
  return std::isfinite(residual) ? residual : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> scattered_right_side(index_t n) {
  std::vector<double> b = input_vector<double>(n);
  for (double& value : b) value -= 0.5;
  return b;
}

std::vector<double> row_sums(const Csr<double>& matrix) {
  const std::vector<double> ones(static_cast<std::size_t>(matrix.cols()), 1.0);
  std::vector<double> sums(static_cast<std::size_t>(matrix.rows()));
  const CsrView<double> a = matrix.view();
  host::parallel_for(Device{}, matrix.rows(), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      sums[i] = row_product(a, i, ones.data());
    }
  });
  return sums;
}

namespace {

/// Median time of making something, the work on the GPU included. \param make leaves what it made behind
template <class Make>
double setup_ms(const Device& device, Make make) {
  constexpr int setups = 3;
  std::vector<double> times;
  for (int i = 0; i < setups; ++i) {
    const Stopwatch watch;
    make();
    synchronize(device);
    times.push_back(watch.milliseconds());
  }
  return summarise(times).median;
}

KrylovOutcome outcome_of(const SolveReport& report, KrylovMethod method) {
  const std::int64_t replacements = method == KrylovMethod::gmres ? 0 : report.replacements;
  return {report.iterations, report.true_residual / report.b_norm, report.restarts + replacements,
          std::string(to_string(report.status))};
}

KrylovOutcome outcome_of(const HandWrittenResult& result, double tolerance) {
  std::string ending = result.residual <= tolerance ? "converged" : "max_iterations";
  if (!std::isfinite(result.residual)) ending = "not_finite";
  return {result.iterations, result.residual, 0, std::move(ending)};
}

/// The limits are the caller's alone: what else ends a solve early is out of reach while iterations are timed.
SolverOptions options_of(std::int64_t max_iterations, double tolerance) {
  SolverOptions options;
  options.max_iterations = max_iterations;
  options.relative_tolerance = tolerance;
  options.restart = gmres_restart;
  if (tolerance == 0.0) options.divergence_tolerance = 1e300;
  return options;
}

}  // namespace

std::vector<SpmvAlgorithm> wanted_kernels(const SolverBenchSettings& settings, const Device& device) {
  std::vector<SpmvAlgorithm> order{SpmvAlgorithm::automatic};
  const auto known = spmv_algorithms(device);
  order.insert(order.end(), known.begin(), known.end());
  std::stable_partition(order.begin(), order.end(), [](SpmvAlgorithm algorithm) {
    return algorithm == SpmvAlgorithm::automatic || algorithm == SpmvAlgorithm::merbit;
  });
  std::erase_if(order, [&settings](SpmvAlgorithm algorithm) {
    return !is_wanted(settings.kernels, std::string(to_string(algorithm)));
  });
  return order;
}

std::string to_string(KrylovMethod method) {
  switch (method) {
    case KrylovMethod::cg:
      return "cg";
    case KrylovMethod::bicgstab:
      return "bicgstab";
    case KrylovMethod::gmres:
      return "gmres";
    case KrylovMethod::idr:
      return "idr";
  }
  return "";
}

KrylovContenders::KrylovContenders(KrylovSystem& system, const SolverBenchSettings& settings) : system_(system) {
  prepare_jacobi();
  prepare_hand_written();
  for (const SpmvAlgorithm algorithm : wanted_kernels(settings, system.device())) prepare_kernel(algorithm);
}

void KrylovContenders::prepare_jacobi() {
  try {
    jacobi_ms_ = setup_ms(system_.device(), [this] {
      jacobi_ = std::make_unique<JacobiPreconditioner<double>>(system_.matrix()->view(), system_.device());
    });
  } catch (const InvalidMatrix&) {
    jacobi_.reset();
  }
}

void KrylovContenders::prepare_hand_written() {
  const Device& device = system_.device();
  const CsrView<double> a = system_.matrix()->view();
  try {
    static_cast<void>(cublas_handle(device));
    offsets_ = narrow_row_offsets(a, device);
    product_ms_ =
        setup_ms(device, [&] { product_ = std::make_unique<VendorProduct>(a, offsets_.span(), a.values, device); });
    if (!has_jacobi()) return;
    inverse_diagonal_ms_ = setup_ms(device, [&] {
      inverse_diagonal_ = Array<double>(a.rows, Init::none, device);
      invert_diagonal(device, a, inverse_diagonal_.data());
    });
  } catch (const NotSupported& error) {
    hand_written_refusal_ = error.what();
  }
}

void KrylovContenders::prepare_kernel(SpmvAlgorithm algorithm) {
  Kernel kernel;
  kernel.name = to_string(algorithm);
  SpmvOptions options;
  options.algorithm = algorithm;
  options.device = system_.device();
  try {
    kernel.setup_ms = setup_ms(system_.device(), [&] {
      kernel.plan.reset();
      kernel.plan = std::make_unique<SpmvPlan<double>>(system_.matrix(), options);
    });
  } catch (const NotSupported& error) {
    kernel.refusal = error.what();
  }
  kernels_.push_back(std::move(kernel));
}

std::vector<KrylovContender> KrylovContenders::of(const KrylovTask& task) {
  std::vector<KrylovContender> list = hand_written(task);
  for (const Kernel& kernel : kernels_) list.push_back(with_kernel(task, kernel));
  return list;
}

std::vector<KrylovContender> KrylovContenders::hand_written(const KrylovTask& task) {
  if (task.method == KrylovMethod::idr) return {};
  if (!hand_written_refusal_.empty()) return {{std::string(hand_written_name), 0.0, hand_written_refusal_, {}}};
  if (task.method == KrylovMethod::gmres) return {hand_written_gmres(task)};
  std::shared_ptr<HandWrittenKrylov> loop;
  const std::span<const double> inverse = std::as_const(inverse_diagonal_).span();
  const double vectors_ms = setup_ms(system_.device(), [&] {
    loop = std::make_shared<HandWrittenKrylov>(*product_, task.jacobi ? inverse : std::span<const double>{});
  });
  const double setup = product_ms_ + vectors_ms + (task.jacobi ? inverse_diagonal_ms_ : 0.0);
  const auto contender = [&](std::string_view name, int check_every) {
    const auto solve = [this, loop, task, check_every](std::int64_t max_iterations, double tolerance) {
      const HandWrittenStop stop{max_iterations, tolerance, check_every};
      const HandWrittenResult result = task.method == KrylovMethod::cg ? loop->cg(system_.b(), system_.x(), stop)
                                                                       : loop->bicgstab(system_.b(), system_.x(), stop);
      return outcome_of(result, tolerance);
    };
    return KrylovContender{std::string(name), setup, {}, solve};
  };
  return {contender(hand_written_name, 1), contender(batched_name, batched_checks)};
}

KrylovContender KrylovContenders::hand_written_gmres(const KrylovTask& task) {
  std::shared_ptr<HandWrittenGmres> loop;
  const std::span<const double> inverse = std::as_const(inverse_diagonal_).span();
  const double vectors_ms = setup_ms(system_.device(), [&] {
    loop.reset();
    loop = std::make_shared<HandWrittenGmres>(*product_, task.jacobi ? inverse : std::span<const double>{});
  });
  const double setup = product_ms_ + vectors_ms + (task.jacobi ? inverse_diagonal_ms_ : 0.0);
  return {std::string(hand_written_name), setup, {}, [this, loop](std::int64_t max_iterations, double tolerance) {
            return outcome_of(loop->solve(system_.b(), system_.x(), {max_iterations, tolerance}), tolerance);
          }};
}

KrylovContender KrylovContenders::with_kernel(const KrylovTask& task, const Kernel& kernel) {
  const auto solve = [this, task, plan = kernel.plan.get()](std::int64_t max_iterations, double tolerance) {
    const SolverOptions options = options_of(max_iterations, tolerance);
    const std::span<const double> b = system_.b();
    const std::span<double> x = system_.x();
    detail::zero_bytes(system_.device(), x.data(), x.size_bytes());
    const IdentityOperator<double> identity(plan->rows(), system_.device());
    const LinearOperator<double>& m = task.jacobi ? static_cast<const LinearOperator<double>&>(*jacobi_) : identity;
    const auto report = [&] {
      if (task.method == KrylovMethod::cg) return cg<double>(*plan, m, b, x, options);
      if (task.method == KrylovMethod::gmres) return gmres<double>(*plan, m, b, x, options);
      if (task.method == KrylovMethod::idr) return idr<double>(*plan, m, b, x, options);
      return bicgstab<double>(*plan, m, b, x, options);
    };
    return outcome_of(report(), task.method);
  };
  return {kernel.name, kernel.setup_ms + (task.jacobi ? jacobi_ms_ : 0.0), kernel.refusal, solve,
          partition_ms(task, kernel)};
}

double KrylovContenders::partition_ms(const KrylovTask& task, const Kernel& kernel) const {
  const bool has_kernel = task.method == KrylovMethod::cg || task.method == KrylovMethod::bicgstab;
  if (!has_kernel || kernel.name != to_string(SpmvAlgorithm::automatic)) return 0.0;
  const auto loop = task.method == KrylovMethod::cg ? cuda::PersistentLoop::cg : cuda::PersistentLoop::bicgstab;
  std::unique_ptr<cuda::PersistentMatrix<double>> parts;
  const double each = setup_ms(system_.device(), [&] {
    parts.reset();
    parts = cuda::make_persistent_matrix(system_.device(), system_.matrix()->view(), loop);
  });
  return parts ? each : 0.0;
}

}  // namespace tessera::bench
