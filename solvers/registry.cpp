/// \file
/// The table of iterative methods, and their names.
#include "solvers/registry.hpp"

#include "tessera/error.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

using enum IterativeMethod;
using enum MatrixClass;

constexpr std::array<std::string_view, 2> of_bicgstab{"shadow", "seed"};
constexpr std::array<std::string_view, 2> of_gmres{"restart", "side"};
constexpr std::array<std::string_view, 1> of_idr{"seed"};
constexpr std::array<std::string_view, 2> of_chebyshev{"spectrum_low", "spectrum_high"};

// Products with A, products with M, vectors kept and vectors moved, each per iteration where that applies.
constexpr auto table = std::to_array<MethodEntry>({
    {{cg, "cg", "conjugate gradients, for symmetric positive definite matrices", positive_definite, 1, 1, 8, 12},
     make_cg<float>,
     make_cg<double>},
    {{bicgstab, "bicgstab", "stabilised bi-conjugate gradients, for any square matrix", square, 2, 2, 12, 20, false,
      of_bicgstab},
     make_bicgstab<float>,
     make_bicgstab<double>},
    {{gmres, "gmres", "restarted GMRES, for any square matrix", square, 1, 1, 8, 6, true, of_gmres},
     make_gmres<float>,
     make_gmres<double>},
    {{idr, "idr", "IDR(4), short recurrences for any square matrix", square, 1, 1, 22, 30, false, of_idr},
     make_idr<float>,
     make_idr<double>},
    {{minres, "minres", "MINRES, for symmetric matrices, indefinite or singular ones too", symmetric, 1, 1, 11, 16},
     make_minres<float>,
     make_minres<double>},
    {{chebyshev, "chebyshev",
      "Chebyshev iteration by bounds of the eigenvalues, for symmetric positive definite matrices", positive_definite,
      1, 1, 8, 10, false, of_chebyshev},
     make_chebyshev<float>,
     make_chebyshev<double>},
    {{richardson, "richardson", "x = x + M (b - A x): the preconditioner by itself, such as amg", square, 1, 1, 8, 12},
     make_richardson<float>,
     make_richardson<double>},
});

}  // namespace

const MethodEntry& detail::method_entry(IterativeMethod method) {
  const auto* const found =
      std::find_if(table.begin(), table.end(), [&](const MethodEntry& entry) { return entry.info.method == method; });
  if (found != table.end()) return *found;
  throw InvalidArgument(fmt::format("there is no iterative method {}", static_cast<int>(method)));
}

std::span<const MethodInfo> iterative_methods() {
  static const std::vector<MethodInfo> all = [] {
    std::vector<MethodInfo> result;
    result.reserve(table.size());
    for (const MethodEntry& entry : table) result.push_back(entry.info);
    return result;
  }();
  return all;
}

bool MethodInfo::owns(std::string_view option) const {
  return std::find(own_options.begin(), own_options.end(), option) != own_options.end();
}

const MethodInfo& method_info(IterativeMethod method) { return method_entry(method).info; }

std::string_view to_string(IterativeMethod method) { return method_info(method).name; }

IterativeMethod parse_iterative_method(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MethodEntry& entry : table) {
    if (entry.info.name == name) return entry.info.method;
    names.push_back(entry.info.name);
  }
  throw InvalidArgument(fmt::format("unknown iterative method '{}': known are {}{}", name, fmt::join(names, ", "),
                                    nearest_hint(name, names)));
}

std::string_view to_string(MatrixClass matrix) {
  switch (matrix) {
    case square:
      return "square";
    case symmetric:
      return "symmetric";
    case positive_definite:
      return "symmetric positive definite";
    case rectangular:
      return "rectangular";
  }
  throw InvalidArgument(fmt::format("no class of matrices has the number {}", static_cast<int>(matrix)));
}

std::uint64_t vectors_of(const MethodInfo& method, std::int64_t n, const SolverOptions& options, bool simple) {
  const auto vectors = static_cast<std::uint64_t>(method.vectors);
  if (!method.restarts) return vectors;
  const auto directions = static_cast<std::uint64_t>(std::min<std::int64_t>(options.restart, n));
  const bool keeps_one = simple || options.side == PreconditionerSide::left;
  return vectors + (keeps_one ? directions + 1 : 2 * directions + 1);
}

double moved_by(const MethodInfo& method, const SolverOptions& options) {
  // Half of the directions in the mean, each read by two projections and two combinations.
  return method.moved + (method.restarts ? 2.0 * options.restart : 0.0);
}

template <class T>
SolveReport solve(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                  std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                  const SolverOptions& options) {
  const MethodEntry& entry = method_entry(method);
  const KrylovProblem<T> problem({A, M, b, x, options});
  return entry.make<T>(problem)->solve();
}

template SolveReport solve(IterativeMethod, const LinearOperator<float>&, const LinearOperator<float>&,
                           std::span<const float>, std::span<float>, const SolverOptions&);
template SolveReport solve(IterativeMethod, const LinearOperator<double>&, const LinearOperator<double>&,
                           std::span<const double>, std::span<double>, const SolverOptions&);

}  // namespace tessera
