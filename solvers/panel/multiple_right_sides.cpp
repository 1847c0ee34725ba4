/// Iterative methods for several right-hand sides.
#include "tessera/multiple_right_sides.hpp"

#include "core/cuda/memory.hpp"
#include "core/device/operands.hpp"
#include "solvers/panel/bicgstab_panel.hpp"
#include "solvers/panel/cg_panel.hpp"
#include "solvers/panel/gmres_panel.hpp"
#include "solvers/panel/panel_solve.hpp"
#include "solvers/registry.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace tessera {

namespace {

/// Columns that a product takes at a time; a panel has a multiple of them, where there are more panels than one.
constexpr std::int64_t columns_of_product = 8;

template <class T>
void check_views(const LinearOperator<T>& a, const MultiVectorView<const T>& b, const MultiVectorView<T>& x) {
  const std::int64_t n = a.rows();
  if (b.rows() != n) throw DimensionError(fmt::format("A is {0} x {0}: B must have {0} rows, has {1}", n, b.rows()));
  if (x.rows() != n) throw DimensionError(fmt::format("A is {0} x {0}: X must have {0} rows, has {1}", n, x.rows()));
  if (x.columns() != b.columns()) {
    throw DimensionError(fmt::format("B has {} columns: X must have as many, has {}", b.columns(), x.columns()));
  }
  const Device device = a.device();
  const auto is_there = [&](const T* elements) {
    return device.is_host() || elements == nullptr || cuda::is_reachable(device, elements);
  };
  const char* const elsewhere = !is_there(b.data()) ? "B" : !is_there(x.data()) ? "X" : nullptr;
  if (elsewhere != nullptr) {
    throw InvalidArgument(fmt::format("A is on {0}: {1} must lie there as well", device.name(), elsewhere));
  }
  if (detail::overlap<T>(b.elements(), x.elements())) throw InvalidArgument("B and X must not overlap");
}

/// The options of what is solved after some time.
SolverOptions with_time_left(const SolverOptions& options, const Stopwatch& watch) {
  SolverOptions result = options;
  result.time_limit_seconds = std::max(0.0, options.time_limit_seconds - watch.seconds());
  return result;
}

/// Columns of the first panel of so many. Panels are about equal.
std::int64_t panel_width(std::int64_t columns, std::int64_t most) {
  const std::int64_t panels = (columns + most - 1) / most;
  const std::int64_t even = (columns + panels - 1) / panels;
  if (panels == 1) return even;
  const std::int64_t rounded = (even + columns_of_product - 1) / columns_of_product * columns_of_product;
  return std::min(rounded, most);
}

/// Of the memory that is free now, so that no panel takes what a column alone would have. 0: unknown.
std::uint64_t free_bytes(const Device& device) {
  return device.is_host() ? available_host_memory_bytes() : cuda::available_bytes(device);
}

template <class T>
std::int64_t most_columns(IterativeMethod method, const detail::KrylovProblem<T>& problem) {
  const std::int64_t n = problem.a.rows();
  const std::int64_t most = columns_together(method, n, problem.options, problem.preconditioner.is_fused);
  if (method != IterativeMethod::gmres || most == 1 || n == 0) return most;
  const std::uint64_t available = free_bytes(problem.device());
  if (available == 0) return most;
  const std::uint64_t of_column = vectors_of(method_info(method), n, problem.options, problem.preconditioner.is_fused) *
                                  static_cast<std::uint64_t>(n) * sizeof(T);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(available / 2 / of_column), 1, most);
}

/// \param most columns of a panel
template <class T, class Method>
std::vector<SolveReport> solve_in_panels(const LinearOperator<T>& A, const LinearOperator<T>& M,
                                         const MultiVectorView<const T>& b, const MultiVectorView<T>& x,
                                         const SolverOptions& options, std::int64_t most) {
  const Stopwatch watch;
  std::vector<SolveReport> reports;
  bool interrupted = false;
  for (std::int64_t first = 0; first < b.columns();) {
    const std::int64_t width = panel_width(b.columns() - first, most);
    detail::PanelSolve<T, Method> panel(A, M, with_time_left(options, watch), b.columns(first, width),
                                        x.columns(first, width));
    auto of_panel = panel.run(interrupted);
    std::move(of_panel.begin(), of_panel.end(), std::back_inserter(reports));
    first += width;
  }
  return reports;
}

/// Bytes of a matrix per row from which columns gain by a shared product: besides the matrix a panel moves some 70
/// bytes more per row and column than a solve of its own (H200, 27 points).
constexpr std::uint64_t least_row_bytes_of_panel = 32;

/// Whether products read so little of the matrix that there is nothing to share, as by row templates.
template <class T>
bool reads_little(const LinearOperator<T>& a) {
  const auto* const plan = dynamic_cast<const SpmvPlan<T>*>(&a);
  if (plan == nullptr || plan->device().is_host()) return false;
  if (plan->info().algorithm != SpmvAlgorithm::patterns) return false;
  PlanInfo kernel;
  PlanInternals::kernel(*plan).describe(kernel);
  return kernel.bytes < least_row_bytes_of_panel * static_cast<std::uint64_t>(plan->rows());
}

/// Column by column, by one method, in vectors of its own.
template <class T>
class ColumnByColumn {
 public:
  ColumnByColumn(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                 const SolverOptions& options)
      : wanted_(options),
        options_(options),
        problem_(detail::KrylovArguments<T>(A, M, options_)),
        method_(detail::method_entry(method).make<T>(problem_)),
        b_(A.rows(), Init::none, A.device()),
        x_(A.rows(), Init::none, A.device()) {
    if (!options.observer) return;
    options_.observer = [this](const IterationInfo& info) {
      interrupted_ = interrupted_ || wanted_.observer(info) == Control::stop;
      return interrupted_ ? Control::stop : Control::proceed;
    };
  }
  ColumnByColumn(const ColumnByColumn&) = delete;
  ColumnByColumn& operator=(const ColumnByColumn&) = delete;
  ~ColumnByColumn() = default;

  [[nodiscard]] SolveReport solve(const MultiVectorView<const T>& b, const MultiVectorView<T>& x, std::int64_t j) {
    const Device device = problem_.device();
    detail::copy_column<T>(device, b, j, b_.span());
    detail::copy_column<T>(device, x, j, x_.span());
    options_.time_limit_seconds = with_time_left(wanted_, watch_).time_limit_seconds;
    problem_.take(b_.span(), x_.span());
    try {
      SolveReport report = method_->solve();
      detail::copy_to_column<T>(device, x_.span(), x, j);
      return report;
    } catch (...) {
      detail::copy_to_column<T>(device, x_.span(), x, j);
      throw;
    }
  }

 private:
  const SolverOptions& wanted_;
  SolverOptions options_;  ///< of the present column
  detail::KrylovProblem<T> problem_;
  std::unique_ptr<detail::KrylovMethod<T>> method_;
  Array<T> b_;
  Array<T> x_;
  bool interrupted_ = false;
  Stopwatch watch_;
};

}  // namespace

int columns_together(IterativeMethod method, std::int64_t n, const SolverOptions& options, bool simple) {
  if (!shares_products(method)) return 1;
  if (method != IterativeMethod::gmres) return most_panel_columns;
  const auto of_column = static_cast<std::int64_t>(vectors_of(method_info(method), n, options, simple));
  return static_cast<int>(std::clamp<std::int64_t>(most_panel_vectors / of_column, 1, most_panel_columns));
}

template <class T>
std::vector<SolveReport> solve_columns(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                                       MultiVectorView<const std::type_identity_t<T>> B,
                                       MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  const detail::KrylovProblem<T> problem(detail::KrylovArguments<T>(A, M, options));
  check_views<T>(A, B, X);
  if (method == IterativeMethod::gmres) detail::require_restart(options);
  const bool can_iterate = A.device().is_host() || (problem.is_enqueueable() && !reads_little(A));
  const std::int64_t most = most_columns(method, problem);
  if (can_iterate && method == IterativeMethod::cg) {
    detail::require_right_side(options, "cg");
    return solve_in_panels<T, detail::CgPanel<T>>(A, M, B, X, options, most);
  }
  if (can_iterate && method == IterativeMethod::bicgstab) {
    detail::require_right_side(options, "bicgstab");
    return solve_in_panels<T, detail::BicgstabPanel<T>>(A, M, B, X, options, most);
  }
  if (can_iterate && method == IterativeMethod::gmres && most > 1) {
    return solve_in_panels<T, detail::GmresPanel<T>>(A, M, B, X, options, most);
  }
  ColumnByColumn<T> solver(method, A, M, options);
  std::vector<SolveReport> reports;
  for (std::int64_t j = 0; j < B.columns(); ++j) reports.push_back(solver.solve(B, X, j));
  return reports;
}

template <class T>
std::vector<SolveReport> cg(const LinearOperator<T>& A, const LinearOperator<T>& M,
                            MultiVectorView<const std::type_identity_t<T>> B,
                            MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return solve_columns<T>(IterativeMethod::cg, A, M, B, X, options);
}

template <class T>
std::vector<SolveReport> cg(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                            MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return cg<T>(A, IdentityOperator<T>(A.rows(), A.device()), B, X, options);
}

template <class T>
std::vector<SolveReport> bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M,
                                  MultiVectorView<const std::type_identity_t<T>> B,
                                  MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return solve_columns<T>(IterativeMethod::bicgstab, A, M, B, X, options);
}

template <class T>
std::vector<SolveReport> bicgstab(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                                  MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return bicgstab<T>(A, IdentityOperator<T>(A.rows(), A.device()), B, X, options);
}

template <class T>
std::vector<SolveReport> gmres(const LinearOperator<T>& A, const LinearOperator<T>& M,
                               MultiVectorView<const std::type_identity_t<T>> B,
                               MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return solve_columns<T>(IterativeMethod::gmres, A, M, B, X, options);
}

template <class T>
std::vector<SolveReport> gmres(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                               MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options) {
  return gmres<T>(A, IdentityOperator<T>(A.rows(), A.device()), B, X, options);
}

#define TESSERA_INSTANTIATE(T)                                                                                         \
  template std::vector<SolveReport> solve_columns(IterativeMethod, const LinearOperator<T>&, const LinearOperator<T>&, \
                                                  MultiVectorView<const T>, MultiVectorView<T>, const SolverOptions&); \
  template std::vector<SolveReport> cg(const LinearOperator<T>&, const LinearOperator<T>&, MultiVectorView<const T>,   \
                                       MultiVectorView<T>, const SolverOptions&);                                      \
  template std::vector<SolveReport> cg(const LinearOperator<T>&, MultiVectorView<const T>, MultiVectorView<T>,         \
                                       const SolverOptions&);                                                          \
  template std::vector<SolveReport> bicgstab(const LinearOperator<T>&, const LinearOperator<T>&,                       \
                                             MultiVectorView<const T>, MultiVectorView<T>, const SolverOptions&);      \
  template std::vector<SolveReport> bicgstab(const LinearOperator<T>&, MultiVectorView<const T>, MultiVectorView<T>,   \
                                             const SolverOptions&);                                                    \
  template std::vector<SolveReport> gmres(const LinearOperator<T>&, const LinearOperator<T>&,                          \
                                          MultiVectorView<const T>, MultiVectorView<T>, const SolverOptions&);         \
  template std::vector<SolveReport> gmres(const LinearOperator<T>&, MultiVectorView<const T>, MultiVectorView<T>,      \
                                          const SolverOptions&);

TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
