/// \file
/// Results of `solve inspect` and their rendering as text and JSON.
#pragma once

#include "ladder_run.hpp"
#include "outcome.hpp"
#include "predicted_report.hpp"
#include "report_json.hpp"

#include "spmv/common/layout_outlook.hpp"
#include "support/amg_prediction.hpp"
#include "tessera/ladder.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"
#include "tessera/tile_matrix.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct InspectSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  SpmvAlgorithm kernel = SpmvAlgorithm::automatic;
  std::string calibration_note;  ///< as CalibrationFile::note()
  int spy_cells = 0;             ///< height of the spy plot of a square matrix; 0: no plot
};

/// What the set-up of one kernel costs on this matrix.
struct KernelCost {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  std::optional<PlanInfo> plan;  ///< nothing when it could not be made
  std::string problem;           ///< why not
  bool refused = false;          ///< the matrix is not for it, or a library is missing; else memory is
};

/// What to do with the matrix.
struct Advice {
  std::string method;         ///< "cg", "bicgstab", "pagerank"; empty when nothing fits
  std::string method_reason;  ///< why, or why nothing fits
  std::string precond;        ///< empty where the method takes none
  std::string precond_reason;
  std::string command;  ///< a line to type; empty when nothing fits
};

/// Algebraic multigrid on a matrix with a positive diagonal.
struct AmgOutlook {
  support::AmgPrediction prediction;
  bool auto_tries = false;  ///< whether it is a rung of the ladder
};

struct InspectOutcome : CommonOutcome {
  std::optional<MatrixMarketHeader> header;  ///< of a file
  MatrixDetails details;
  std::optional<ComponentCounts> components;         ///< of a square matrix
  std::optional<ComponentCounts> strong_components;  ///< of a square matrix
  TileEstimate tiles;                                ///< of all tile rows
  std::optional<SpyGrid> spy;
  std::vector<KernelCost> kernels;
  std::vector<detail::LayoutOutlook> layouts;    ///< of patterns, sell and tiles on a GPU
  std::optional<KernelPredictions> predictions;  ///< of a product on a GPU; nothing on the host
  std::string calibration_note;                  ///< why a file of calibrations was passed over; else empty
  std::optional<AmgOutlook> amg;                 ///< nothing where it does not apply
  std::optional<BudgetedFacts> ladder;           ///< nothing where there is nothing to solve
  Advice advice;
  double read_ms = 0.0;
};

/// How the values of a square matrix mirror each other.
enum class ValueSymmetry { exact, rounding, skew, none };

/// Largest |a_ij - a_ji| / max |a_ij| that counts as `rounding`: 2^-40, in single precision 2^-18.
[[nodiscard]] double symmetry_tolerance(Precision precision);
[[nodiscard]] ValueSymmetry value_symmetry(const InspectOutcome& outcome);

/// A pattern, or values that are all 1, without a full diagonal: nothing that one solves.
[[nodiscard]] bool looks_like_graph(const InspectOutcome& outcome);

/// Method and preconditioner with reasons, and the line to type.
[[nodiscard]] Advice advise(const InspectOutcome& outcome);
/// What will go wrong, W001 and W101 on.
[[nodiscard]] Warnings inspect_warnings(const InspectOutcome& outcome);

/// The report for people: at most 60 lines with the usual spy plot. \param width of the terminal, 0 for none
[[nodiscard]] std::string inspect_text(const InspectOutcome& outcome, std::size_t width = 0);
/// Lines for the layouts; empty without any.
[[nodiscard]] std::string layouts_text(const std::vector<detail::LayoutOutlook>& layouts);
/// The plot as lines of text, each indented by `margin` blanks.
[[nodiscard]] std::string spy_text(const SpyGrid& grid, std::size_t margin);
/// Bars for the row lengths, each line indented by `margin` blanks; the longest has `longest` characters.
[[nodiscard]] std::string histogram_text(const std::vector<index_t>& histogram, std::size_t margin,
                                         std::size_t longest = 40);

[[nodiscard]] Json inspect_json(const InspectOutcome& outcome, const Options& options, const Invocation& invocation,
                                ExitCode code);

}  // namespace tessera::cli
