/// \file
/// An earlier comparison to hold this one against.
#pragma once

#include "compare/compare_outcome.hpp"

#include <map>
#include <string>

namespace tessera::cli {

/// What is kept of one case of an earlier document.
struct BaselineCase {
  TimingSummary times;
};

struct Baseline {
  std::string path;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::string value;  ///< "fp64", "fp32", "pattern"
  std::string precision;
  std::string cpu;
  std::string gpu;  ///< empty: the host's threads were measured
  int threads = 0;
  std::map<std::string, BaselineCase> cases;  ///< by case_name()
};

/// "product merbit warm", "solve cg merbit".
[[nodiscard]] std::string case_name(const KernelRow& row, bool cold);
[[nodiscard]] std::string case_name(const SolveRow& row);

/// \throws IoError for a file that cannot be read; ParseError for text that is no JSON, InvalidMatrix for a document
///         that is no comparison
[[nodiscard]] Baseline read_baseline(const std::string& path);

/// new / old with a 95 % interval from medians, quartiles and counts alone: the standard error of a median is taken as
/// 0.93 IQR / sqrt(n) (McGill, Tukey and Larsen, Variations of box plots, The American Statistician 32(1), 1978).
/// \returns nothing when a median is zero
[[nodiscard]] std::optional<TimingRatio> change_of(const TimingSummary& old_times, const TimingSummary& new_times);

/// \throws InvalidMatrix when the baseline is of another matrix or type. Warns when it is of another machine.
/// \param cpu name of this machine's processor \param gpu name of the GPU that is measured; empty: the host is
void check_baseline(const Baseline& baseline, const std::string& cpu, const std::string& gpu, CompareOutcome& outcome);

/// Puts the change into every row that the baseline knows, lists in outcome.slower what lost clearly (the whole
/// interval above 1 + allowed), and warns of cases that the baseline does not have.
/// \param allowed 0.05: a loss of 5 %; infinity: any
void hold_against_baseline(const Baseline& baseline, double allowed, CompareOutcome& outcome);

}  // namespace tessera::cli
