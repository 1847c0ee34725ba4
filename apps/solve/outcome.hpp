/// \file
/// The results of a finished command, without the vector: the input of summary and JSON.
#pragma once

#include "errors.hpp"
#include "ranking.hpp"
#include "settings.hpp"

#include "petsc/engine/engine.hpp"
#include "support/error_gate.hpp"
#include "support/warning.hpp"
#include "tessera/accuracy.hpp"
#include "tessera/amg.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/ladder.hpp"
#include "tessera/least_squares.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/report.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

using support::Warning;
using support::Warnings;

/// The call of the program.
struct Invocation {
  std::vector<std::string> arguments;  ///< the program's name included
  std::string started;                 ///< UTC
};

struct MemoryUse {
  std::uint64_t matrix = 0;
  std::uint64_t plan = 0;
  std::uint64_t vectors = 0;  ///< estimate: right-hand side, solution and work vectors of the method
  std::uint64_t precond = 0;
};

/// Use of a cache file.
struct CacheUse {
  std::string path;
  bool from_cache = false;       ///< the text was not parsed
  bool written = false;          ///< the cache is new
  std::string note;              ///< why it was not used or not written
  bool worth_a_warning = false;  ///< there was one that could not be used, or none could be written
};

/// Incomplete factors: what was asked for and what came out.
struct FactorOutcome {
  IncompleteFactorOptions options;
  IncompleteFactorInfo info;
};

/// A polynomial with what it was asked to be.
struct PolynomialOutcome {
  PolynomialOptions options;
  PolynomialInfo info;
};

/// The preconditioner of a run as it was set up.
struct PrecondOutcome {
  std::string name = "none";  ///< with parameters: "ilut:1e-3:20"
  std::string reason;         ///< empty when the user chose
  PreconditionerInfo info{.name = "none", .is_symmetric = true};
  std::optional<AmgInfo> hierarchy;
  std::optional<int> shared_levels;  ///< of a hierarchy on several devices
  std::optional<PolynomialOutcome> polynomial;
  std::optional<FactorOutcome> factors;
  std::optional<DirectInfo> direct;  ///< of method direct
  std::optional<support::InverseOutcome> approximate_inverse;
};

/// Distance from an exact solution that is known.
struct KnownError {
  double largest = 0.0;   ///< max |x - x_exact|
  double relative = 0.0;  ///< ||x - x_exact|| / ||x_exact||
};

/// The numbering of the unknowns that a solve worked in.
struct OrderingFacts {
  std::string name = "natural";
  std::string reason;                ///< why; empty where the user named it
  std::optional<std::int64_t> halo;  ///< elements that all devices together get from others for a product; of several
  std::int64_t natural_halo = 0;     ///< the same in the numbering of the file
  double ms = 0.0;                   ///< of all of this; part of the time of the plan
  std::uint64_t bytes = 0;           ///< of the permutation and P A Pᵀ on the host; 0 for the natural one
};

/// Common results of all commands that read or generate a matrix.
struct CommonOutcome {
  std::string problem;  ///< file or model problem
  bool from_file = false;
  std::optional<CacheUse> cache;
  bool transposed = false;  ///< --transpose: `matrix` describes the transpose
  MatrixStatistics matrix;
  std::optional<SpyGrid> density;  ///< for a report
  offset_t duplicates = 0;
  std::optional<RoundedInteger> first_rounded;
  bool pattern = false;
  Precision precision = Precision::fp64;
  Device device;                          ///< of products and iterations
  std::string device_reason;              ///< empty when the user chose
  std::vector<DevicePart> parts;          ///< of several devices
  std::optional<OrderingFacts> ordering;  ///< of a solve on several devices, or where one was named
  bool has_peer_access = false;           ///< of these
  int threads = 0;                        ///< of the host
  bool kernel_chosen_by_user = false;
  PlanInfo plan;
  MemoryUse memory;
  double inspect_ms = 0.0;  ///< statistics of the matrix
  double write_ms = 0.0;    ///< of the vector, once it is written
  Warnings warnings;
};

/// A run that climbed the ladder. The report of the rung whose x is returned is RunOutcome::report.
struct LadderOutcome {
  LadderReport ladder;
  double ms = 0.0;       ///< all rungs with their set-up
  double rest_ms = 0.0;  ///< of that, what neither set-up and solve of the rung with x nor transfers account for
};

/// A run of lsmr or cgls. RunOutcome::report has the history.
struct LeastSquaresOutcome {
  double damping = 0.0;
  LeastSquaresReport report;
};

/// One of several right-hand sides.
struct ColumnOutcome {
  std::string method;
  std::string precond;
  SolveReport report;
};

/// A run in mixed precision.
struct MixedOutcome {
  bool is_exact = false;  ///< fp32 holds every value of A
  int exponent = 0;       ///< of the power of two that brought A into the range of fp32
  PlanInfo plan;          ///< in fp32
  std::int64_t single_iterations = 0;
  std::int64_t double_iterations = 0;
  std::int64_t double_products = 0;
  std::string fallback;  ///< why fp64 took over; empty where it did not
};

struct RunOutcome : CommonOutcome {
  std::string method;
  std::string method_reason;  ///< empty when the user chose
  PrecondOutcome precond;
  std::string rhs;
  bool rhs_replaced = false;  ///< ones were in the null space of A, and no right-hand side was named
  std::string x0;
  double relative_tolerance = 0.0;
  double absolute_tolerance = 0.0;
  ResidualBase base = ResidualBase::b;
  SolveReport report;  ///< of several right-hand sides that of the worst
  /// Empty for one right-hand side. What is said of the method and M is true of the worst of them.
  std::vector<ColumnOutcome> columns;
  std::size_t worst_column = 0;
  std::optional<KnownError> error;
  ErrorGate error_gate = ErrorGate::off;
  support::Accuracy accuracy;
  std::optional<LadderOutcome> ladder;
  std::optional<LeastSquaresOutcome> least_squares;
  std::optional<MixedOutcome> mixed;
  std::optional<petsc::EngineInfo> engine;  ///< of a run by PETSc
  std::string next_command;                 ///< to type after a run that did not converge; may be empty
  double advice_ms = 0.0;                   ///< of finding it
  std::optional<BreakEven> break_even;
};

/// One of several distributions of jumps.
struct RankVector {
  std::string personalization;  ///< as it was typed
  PageRankReport report;
};

/// The report of several vectors is that of the worst one.
struct PageRankOutcome : CommonOutcome {
  PageRankOptions options;
  bool personalized = false;
  bool sum_to_vertices = false;
  double scale = 1.0;  ///< ranks are multiplied by this before they are shown and written
  Status status = Status::max_iterations;
  std::string reason;
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;
  double change = 0.0;
  double sum = 0.0;  ///< of the ranks as written
  index_t dangling_count = 0;
  offset_t edges = 0;
  std::vector<HistoryEntry> history;
  Timings timings;
  VertexNames names;
  std::vector<Ranking> rankings;    ///< one per vector
  std::vector<RankVector> vectors;  ///< empty for one vector
  std::size_t worst_vector = 0;
};

}  // namespace tessera::cli
