/// \file
/// The whole comparison of SpMV kernels on one matrix, without reading options or writing results: each kernel is
/// checked against long double, then set-ups, products and whole solves are timed in turn.
#pragma once

#include "compare/candidate.hpp"
#include "compare/rows.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"

#include "tessera/csr.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::compare {

struct TimingSettings {
  int warmup = 2;
  std::int64_t rounds = 0;  ///< 0: until the times are quiet
  double min_seconds = 0.5;
  double noise = 0.01;
  bool cold = false;  ///< products with emptied caches too
};

struct Settings {
  Device device;  ///< that is measured
  Device host;    ///< where matrices are inspected and converted
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t seed = 42;
  std::vector<Solver> solvers;
  std::int64_t applies = 1000;
  SortKey sort = SortKey::total;
  TimingSettings timing;
  std::vector<support::PrecondRequest> preconds{support::PrecondRequest{}};  ///< of linear systems; at least one
  SolverOptions solver;
  PageRankOptions pagerank;
  std::optional<std::string> baseline;            ///< file
  std::optional<double> fail_if_slower;           ///< 0.05: 5 %
  std::function<void(const std::string&)> phase;  ///< told what begins; may be empty
  std::function<bool()> stop;                     ///< asked often; true ends the comparison early; may be empty
};

/// Right-hand side and initial guess.
template <class T>
struct SystemVectors {
  std::vector<T> b;
  std::vector<T> x0;
};

/// The matrix and what belongs to it.
template <class T>
struct Subject {
  std::shared_ptr<const Csr<T>> matrix;  ///< on the host, in the numbering that is measured
  MatrixStatistics facts;
  std::string name;                             ///< for messages
  std::function<SystemVectors<T>()> vectors{};  ///< called when a system is solved; may throw
  std::shared_ptr<const Csr<T>> source{};       ///< A of the file, where `matrix` is P A Pᵀ; else null
  std::span<const index_t> order{};             ///< with it: the row of A that is row k of `matrix`

  [[nodiscard]] std::uint64_t matrix_bytes() const {
    return matrix->bytes() + (source ? source->bytes() + order.size_bytes() : 0);
  }
};

/// Checks, times and sorts. \param candidates the reference among them, if there shall be one
/// \throws DimensionError when solvers are asked for and the matrix is not square; InvalidMatrix when the baseline is
///         of another matrix; what vectors and preconditioner throw; OutOfMemory
template <class T>
[[nodiscard]] Outcome compare_kernels(const Settings& settings, const Subject<T>& subject,
                                      const std::vector<Candidate<T>>& candidates);

/// Of y = A x.
struct ProductSizes {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::size_t element = 0;        ///< bytes of an element of x
  std::uint64_t least_bytes = 0;  ///< that the product moves at least
};

/// What compare_products() holds beside matrix and plans: x, outputs, the oracle, the yardstick and what evicts the
/// caches.
[[nodiscard]] std::uint64_t product_workspace_bytes(const Settings& settings, const ProductSizes& sizes,
                                                    std::size_t candidates);

/// Vectors of the solver that needs the most, with the right-hand side and the guess that all share.
[[nodiscard]] std::uint64_t solver_vectors(const Settings& settings, std::int64_t rows);

/// Fills outcome.products, in the order of the candidates, and the yardsticks. A candidate that throws or gives a wrong
/// result gets a row with the reason and no times. Ends early when asked to stop.
template <class T>
void compare_products(const Settings& settings, const Subject<T>& subject, const std::vector<Candidate<T>>& candidates,
                      Outcome& outcome);

/// What the solves of one matrix share.
template <class T>
struct SolveInputs {
  std::shared_ptr<const Csr<T>> matrix;     ///< on the host
  std::shared_ptr<const Csr<T>> on_device;  ///< the same, or a copy
  std::string name;
  Device device;
  MatrixStatistics facts;
  std::vector<support::PrecondRequest> preconds;  ///< none of them automatic
  SolverOptions solver;
  SystemVectors<T> vectors;
  PageRankOptions pagerank;
  std::shared_ptr<const TransitionMatrix<T>> transition;  ///< made once; the same for all kernels
};

/// Makes the vectors that the chosen solvers need (none: nothing), and says in the outcome which preconditioners they
/// get.
/// \throws DimensionError for a matrix that is not square; what vectors, preconditioner and transition matrix throw;
///         OutOfMemory
template <class T>
[[nodiscard]] SolveInputs<T> solve_inputs(const Settings& settings, const Subject<T>& subject, Outcome& outcome);

/// Fills outcome.solves: each solver of the settings with each candidate, and each of linear systems with each
/// preconditioner. A kernel that failed among outcome.products
/// (which come first, in the order of the candidates) gets a row that says so and is not run. A solve that claims to
/// have converged and whose residual says otherwise fails.
template <class T>
void compare_solves(const Settings& settings, const SolveInputs<T>& inputs, const std::vector<Candidate<T>>& candidates,
                    Outcome& outcome);

/// The protocol with which `timing` times; rounds go on while noisy, for 10 times min_seconds at most.
[[nodiscard]] TimingOptions timing_options(const Settings& settings, int min_rounds, int max_rounds);

[[nodiscard]] inline bool stopped(const Settings& settings) { return settings.stop && settings.stop(); }
inline void begin_phase(const Settings& settings, const std::string& text) {
  if (settings.phase) settings.phase(text);
}

}  // namespace tessera::compare
