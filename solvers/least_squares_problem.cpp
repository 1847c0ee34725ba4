/// Arguments of least squares methods and their checks.
#include "core/cuda/memory.hpp"
#include "core/device/operands.hpp"
#include "core/fused_adapter.hpp"
#include "solvers/least_squares.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace tessera::detail {

namespace {

void require(bool condition, std::string_view name, double value, std::string_view range) {
  if (!condition) throw InvalidArgument(fmt::format("{} must be {}, got {}", name, range, value));
}

void check_options(const LeastSquaresOptions& options) {
  const auto is_tolerance = [](double value) { return value >= 0.0 && std::isfinite(value); };
  require(is_tolerance(options.relative_tolerance), "relative_tolerance", options.relative_tolerance,
          "finite and >= 0");
  require(is_tolerance(options.residual_tolerance), "residual_tolerance", options.residual_tolerance,
          "finite and >= 0");
  require(is_tolerance(options.damping), "damping", options.damping, "finite and >= 0");
  require(options.condition_limit > 1.0, "condition_limit", options.condition_limit, "> 1");
  require(options.time_limit_seconds >= 0.0, "time_limit_seconds", options.time_limit_seconds, ">= 0");
  if (options.max_iterations < 0) {
    throw InvalidArgument(fmt::format("max_iterations must be >= 0, got {}", options.max_iterations));
  }
  if (options.stagnation_window < 0) {
    throw InvalidArgument(fmt::format("stagnation_window must be >= 0, got {}", options.stagnation_window));
  }
}

template <class T>
void check_scaling(const FusedOperator<T>& a, const FusedOperator<T>& d) {
  if (d.rows() != a.cols() || d.cols() != a.cols()) {
    throw DimensionError(fmt::format("A is {} x {}: the preconditioner must be {} x {}, is {} x {}", a.rows(), a.cols(),
                                     a.cols(), a.cols(), d.rows(), d.cols()));
  }
  if (!d.is_identity() && !d.diagonal()) {
    throw NotSupported("least squares take a diagonal preconditioner: ColumnNormPreconditioner, or none");
  }
  if (d.device().shares_context_with(a.device())) return;
  throw InvalidArgument(fmt::format("the preconditioner must lie on {} as A{}", a.device().name(),
                                    d.device() == a.device() ? ", in the same context" : ", lies elsewhere"));
}

template <class T>
void check_vector(const FusedOperator<T>& a, const char* name, std::span<const T> vector, std::int64_t elements) {
  if (static_cast<std::int64_t>(vector.size()) != elements) {
    throw DimensionError(fmt::format("A is {} x {}: {} must have {} elements, has {}", a.rows(), a.cols(), name,
                                     elements, vector.size()));
  }
  if (a.device().is_host() || vector.data() == nullptr || cuda::is_reachable(a.device(), vector.data())) return;
  throw InvalidArgument(fmt::format("A is on {0}: {1} must lie there as well", a.device().name(), name));
}

}  // namespace

template <class T>
LeastSquaresProblem<T>::LeastSquaresProblem(const LinearOperator<T>& A, const LinearOperator<T>& D,
                                            std::span<const T> right_side, std::span<T> guess,
                                            const LeastSquaresOptions& given)
    : a(fused_operator(A)),
      transposed(tessera::transposed(A)),
      diagonal(nullptr),
      b(right_side),
      x(guess),
      options(given) {
  const auto d = fused_operator(D);
  check_scaling(*a, *d);
  check_options(options);
  check_vector<T>(*a, "b", b, a->rows());
  check_vector<T>(*a, "x", std::span<const T>(x), a->cols());
  if (overlap<T>(b, x)) throw InvalidArgument("b and x must not overlap");
  if (d->is_identity()) return;
  diagonal = d->diagonal()->data();
  counts_preconditioner = true;
}

template struct LeastSquaresProblem<float>;
template struct LeastSquaresProblem<double>;

}  // namespace tessera::detail
