/// \file
/// Which preconditioner a system gets and why, and its set-up on the device of A.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/csr.hpp"
#include "tessera/direct.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::support {

enum class Precond {
  automatic,
  none,
  jacobi,
  amg,
  polynomial,  ///< in D⁻¹ A
  factors,     ///< incomplete factors, also of diagonal blocks
  direct,      ///< the factors of A itself, which Method::direct refines
  fsai,
  spai,
};

/// "auto", "none", "jacobi", "amg", "polynomial", "factors", "direct", "fsai", "spai".
[[nodiscard]] std::string to_string(Precond precond);

struct PrecondChoice {
  Precond precond = Precond::none;  ///< never automatic
  std::string reason;               ///< empty when the user chose
};

/// By the matrix alone: Jacobi or none for `automatic`. \param definite M has to be positive definite, whatever A is
[[nodiscard]] PrecondChoice choose_precond(Precond wanted, const MatrixStatistics& matrix, bool definite = false);

/// What the user asks for.
struct PrecondRequest {
  Precond precond = Precond::automatic;
  bool definite = false;  ///< `automatic` has to be positive definite, whatever A is
  AmgOptions amg;
  PolynomialOptions polynomial;  ///< its limit on memory follows from those below
  IncompleteFactorOptions factors;
  DirectOptions direct;  ///< its limit on memory follows from those below
  FsaiOptions fsai;
  SpaiOptions spai;
  std::uint64_t memory_limit_bytes = 0;  ///< of the run; 0: what the machine has
  std::uint64_t held_bytes = 0;          ///< by matrix, plan and vectors
};

/// As the command line names it, with parameters: "jacobi", "poly:4", "ilut:1e-3:20", "bjacobi:8:ilu0", "fsai:2".
[[nodiscard]] std::string name_of(const PrecondRequest& request);

/// The matrix that is to be preconditioned.
template <class T>
struct PrecondSubject {
  const MatrixStatistics& facts;
  CsrView<T> matrix;  ///< on `device`
  Device device;
  std::string name;                   ///< for messages
  const SpmvPlan<T>* plan = nullptr;  ///< of the solver; a polynomial multiplies by it, else by one of its own. Both
                                      ///< plan and matrix outlive the preconditioner
};

/// FSAI or SPAI as it was set up.
struct InverseOutcome {
  std::string kind;  ///< "fsai", "spai"
  int level = 0;     ///< power of fsai
  double filter = 0.0;
  std::int64_t max_row_entries = 0;
  FsaiInfo info;  ///< of spai nothing was dropped
};

/// Memory of FSAI or SPAI, at most.
struct InverseBytes {
  std::uint64_t held = 0;     ///< by the operator
  std::uint64_t passing = 0;  ///< by its set-up, beside that
};
/// Rests on the limit on a row and, where the pattern is a power, on a guess of its entries.
/// \param element bytes of a value
[[nodiscard]] InverseBytes inverse_bytes(const PrecondRequest& request, const MatrixStatistics& matrix,
                                         std::size_t element);

template <class T>
struct PreparedPrecond {
  std::unique_ptr<FusedOperator<T>> inverse;
  PrecondChoice choice;
  PreconditionerInfo info{.name = "none", .is_symmetric = true};
  std::optional<AmgInfo> hierarchy;
  std::optional<PolynomialInfo> polynomial;
  std::optional<IncompleteFactorInfo> factors;
  std::optional<DirectInfo> direct;
  std::optional<InverseOutcome> approximate_inverse;
};

/// Chooses and builds. `automatic` takes Jacobi, and the identity where the diagonal has no finite inverse.
/// \throws InvalidMatrix naming the subject when the preconditioner that the user chose cannot be built; what the
///         constructors of Amg, PolynomialPreconditioner, IncompleteFactors and DirectFactors throw for their options;
///         BudgetExceeded; OutOfMemory
template <class T>
[[nodiscard]] PreparedPrecond<T> prepare_precond(const PrecondRequest& wanted, const PrecondSubject<T>& subject);

}  // namespace tessera::support
