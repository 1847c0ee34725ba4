// Choice and set-up of preconditioners.
#include "support/precond.hpp"

#include "support/amg_prediction.hpp"
#include "support/factor_precond.hpp"
#include "support/machine.hpp"

#include "core/borrowed_csr.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::support {

std::string to_string(Precond precond) {
  switch (precond) {
    case Precond::automatic:
      return "auto";
    case Precond::none:
      return "none";
    case Precond::jacobi:
      return "jacobi";
    case Precond::amg:
      return "amg";
    case Precond::polynomial:
      return "polynomial";
    case Precond::factors:
      return "factors";
    case Precond::direct:
      return "direct";
    case Precond::fsai:
      return "fsai";
    case Precond::spai:
      return "spai";
  }
  return "auto";
}

std::string name_of(const PrecondRequest& request) {
  if (request.precond == Precond::fsai) return fsai_name(request.fsai);
  if (request.precond == Precond::spai) return spai_name(request.spai);
  if (request.precond == Precond::polynomial) return polynomial_name(request.polynomial);
  return request.precond == Precond::factors ? factor_name(request.factors) : to_string(request.precond);
}

InverseBytes inverse_bytes(const PrecondRequest& request, const MatrixStatistics& matrix, std::size_t element) {
  constexpr double offset = sizeof(offset_t);
  constexpr double entry_in_double = sizeof(double) + sizeof(index_t);
  const auto entry = static_cast<double>(element + sizeof(index_t));
  const auto rows = static_cast<double>(matrix.rows);
  const auto nnz = static_cast<double>(matrix.nnz);
  const auto bytes = [](double held, double passing) {
    return InverseBytes{static_cast<std::uint64_t>(held), static_cast<std::uint64_t>(passing)};
  };
  const double scaled = nnz * sizeof(double) + rows * sizeof(double);
  if (request.precond == Precond::spai) {
    const double entries = request.spai.level == 0 ? rows : nnz;
    return bytes(entries * entry + rows * offset, scaled + nnz * entry_in_double);
  }
  // The filter leaves about half of A, whose power is as dense as that of a mesh: (2 k + 1) / 3 times per step.
  const double power = request.fsai.power == 1 ? nnz : nnz * (2.0 * request.fsai.power + 1.0);
  const double limit = rows * static_cast<double>(request.fsai.max_row_entries);
  const double triangle = std::min((power + rows) / 2.0, limit);
  return bytes(2.0 * (triangle * entry + rows * offset) + rows * static_cast<double>(element),
               scaled + (nnz + power + 2.0 * triangle) * entry_in_double);
}

PrecondChoice choose_precond(Precond wanted, const MatrixStatistics& matrix, bool definite) {
  if (wanted != Precond::automatic) return {wanted, {}};
  if (definite && matrix.diagonal_negative > 0) {
    return {Precond::none, fmt::format("{} diagonal entries negative", matrix.diagonal_negative)};
  }
  if (matrix.full_diagonal()) return {Precond::jacobi, "full diagonal"};
  return {Precond::none,
          fmt::format("{} diagonal entries missing, {} zero", matrix.diagonal_missing, matrix.diagonal_zero)};
}

namespace {

template <class T, class M>
void take(std::unique_ptr<M> built, PreparedPrecond<T>& result) {
  result.info = built->info();
  result.inverse = std::move(built);
}

template <class T>
void build_jacobi(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  try {
    take(std::make_unique<JacobiPreconditioner<T>>(subject.matrix, subject.device), result);
  } catch (const InvalidMatrix& error) {
    if (wanted.precond == Precond::jacobi) {
      throw InvalidMatrix(
          fmt::format("{}: {}; hint: --precond none does without the diagonal", subject.name, error.what()));
    }
    result.choice = {Precond::none, error.what()};
  }
}

/// A hierarchy may be larger than the matrix, so the limit is asked before it is built.
template <class T>
[[nodiscard]] std::unique_ptr<Amg<T>> make_amg(const PrecondRequest& wanted, const PrecondSubject<T>& subject) {
  if (wanted.memory_limit_bytes > 0) {
    const AmgPrediction prediction = predict_amg(subject.facts, subject.facts.mean_row_nnz - 1.0, wanted.amg);
    require_memory(wanted.memory_limit_bytes, wanted.held_bytes, predicted_bytes(prediction, sizeof(T), wanted.amg),
                   "the hierarchy of amg (estimated)");
  }
  return std::make_unique<Amg<T>>(subject.matrix, wanted.amg, subject.device);
}

template <class T>
void build_amg(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  try {
    auto amg = make_amg(wanted, subject);
    result.hierarchy = amg->hierarchy();
    take(std::move(amg), result);
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}; hint: --precond jacobi or none", subject.name, error.what()));
  }
}

/// A plan that somebody else owns, or one of the subject's matrix.
template <class T>
[[nodiscard]] std::shared_ptr<const SpmvPlan<T>> plan_for(const PrecondSubject<T>& subject) {
  if (subject.plan != nullptr) return {std::shared_ptr<const void>(), subject.plan};
  return std::make_shared<const SpmvPlan<T>>(detail::borrow_csr(subject.matrix, subject.device),
                                             SpmvOptions{.device = subject.device});
}

template <class T>
void build_polynomial(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  PolynomialOptions options = wanted.polynomial;
  if (wanted.memory_limit_bytes > 0) {
    options.memory_limit_bytes = wanted.memory_limit_bytes - std::min(wanted.memory_limit_bytes - 1, wanted.held_bytes);
  }
  try {
    std::unique_ptr<PolynomialPreconditioner<T>> built;
    std::uint64_t plan_bytes = 0;
    if (options.explicit_matrix) {
      built = std::make_unique<PolynomialPreconditioner<T>>(subject.matrix, options, subject.device);
    } else {
      const auto plan = plan_for(subject);
      if (subject.plan == nullptr) plan_bytes = plan->info().bytes;
      built = std::make_unique<PolynomialPreconditioner<T>>(plan, options);
    }
    result.polynomial = built->polynomial();
    take(std::move(built), result);
    result.info.bytes += plan_bytes;
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}{}", subject.name, error.what(),
                                    subject.facts.full_diagonal() ? ""
                                                                  : "; hint: --precond none does without the "
                                                                    "diagonal"));
  }
}

template <class T>
void build_factors(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  auto factors = make_factors(wanted, subject);
  result.factors = factors->factors();
  take(std::move(factors), result);
}

template <class T>
void build_direct(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  auto factors = make_direct(wanted, subject);
  result.direct = factors->factors();
  take(std::move(factors), result);
}

/// Set-up by `make`, whose memory is asked for before; faults of the matrix get the subject and a hint.
template <class T, class Make>
void build_inverse(const PrecondRequest& wanted, const PrecondSubject<T>& subject, std::string_view hint,
                   PreparedPrecond<T>& result, const Make& make) {
  const std::string name = name_of(wanted);
  if (wanted.memory_limit_bytes > 0) {
    const InverseBytes bytes = inverse_bytes(wanted, subject.facts, sizeof(T));
    require_memory(wanted.memory_limit_bytes, wanted.held_bytes, bytes.held + bytes.passing,
                   "the set-up of " + name + " (estimated)");
  }
  try {
    take(make(), result);
  } catch (const InvalidMatrix& error) {
    const std::string shown = subject.facts.not_finite > 0 ? std::string() : fmt::format("; hint: {}", hint);
    throw InvalidMatrix(fmt::format("{}: {}: {}{}", subject.name, name, error.what(), shown));
  }
}

template <class T>
void build_fsai(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  build_inverse(wanted, subject, "--precond spai or ilutp takes matrices that are not symmetric positive definite",
                result, [&] {
                  auto fsai = std::make_unique<FsaiPreconditioner<T>>(subject.matrix, wanted.fsai, subject.device);
                  result.approximate_inverse = {"fsai", wanted.fsai.power, wanted.fsai.filter,
                                                wanted.fsai.max_row_entries, fsai->factor()};
                  return fsai;
                });
}

template <class T>
void build_spai(const PrecondRequest& wanted, const PrecondSubject<T>& subject, PreparedPrecond<T>& result) {
  build_inverse(wanted, subject, "--precond ilutp or none", result, [&] {
    auto spai = std::make_unique<SpaiPreconditioner<T>>(subject.matrix, wanted.spai, subject.device);
    const SpaiInfo& info = spai->inverse();
    result.approximate_inverse = {"spai",
                                  wanted.spai.level,
                                  0.0,
                                  wanted.spai.max_row_entries,
                                  {.pattern_nnz = info.nnz,
                                   .nnz = info.nnz,
                                   .fill = info.fill,
                                   .largest_row = info.largest_row,
                                   .pattern_ms = info.pattern_ms,
                                   .rows_ms = info.rows_ms,
                                   .plan_ms = info.plan_ms}};
    return spai;
  });
}

}  // namespace

template <class T>
PreparedPrecond<T> prepare_precond(const PrecondRequest& wanted, const PrecondSubject<T>& subject) {
  PreparedPrecond<T> result;
  result.choice = choose_precond(wanted.precond, subject.facts, wanted.definite);
  if (result.choice.precond == Precond::amg) build_amg(wanted, subject, result);
  if (result.choice.precond == Precond::jacobi) build_jacobi(wanted, subject, result);
  if (result.choice.precond == Precond::polynomial) build_polynomial(wanted, subject, result);
  if (result.choice.precond == Precond::factors) build_factors(wanted, subject, result);
  if (result.choice.precond == Precond::direct) build_direct(wanted, subject, result);
  if (result.choice.precond == Precond::fsai) build_fsai(wanted, subject, result);
  if (result.choice.precond == Precond::spai) build_spai(wanted, subject, result);
  if (!result.inverse) result.inverse = std::make_unique<IdentityOperator<T>>(subject.matrix.rows, subject.device);
  return result;
}

template PreparedPrecond<float> prepare_precond(const PrecondRequest&, const PrecondSubject<float>&);
template PreparedPrecond<double> prepare_precond(const PrecondRequest&, const PrecondSubject<double>&);

}  // namespace tessera::support
