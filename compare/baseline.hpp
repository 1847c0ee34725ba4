/// \file
/// An earlier comparison to hold this one against.
#pragma once

#include "compare/rows.hpp"

#include <map>
#include <string>

namespace tessera::compare {

/// What was measured where: times of one subject say nothing of those of another.
struct MeasuredOn {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::string value;      ///< "fp64", "fp32", "pattern"
  std::string precision;  ///< "fp64", "fp32"
  std::string cpu;
  std::string gpu;  ///< empty: the host's threads were measured
  int threads = 0;
};

struct Baseline {
  std::string path;
  MeasuredOn measured_on;
  std::map<std::string, TimingSummary> cases;  ///< by case_name()
};

/// "product merbit warm", "solve cg merbit"; "solve cg merbit amg" where preconditioners are compared.
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
void check_baseline(const Baseline& baseline, const MeasuredOn& here, support::Warnings& warnings);

/// Puts the change into every row that the baseline knows, lists in outcome.slower what is clearly slower (the whole
/// interval above 1 + allowed), and warns of cases that the baseline does not have.
/// \param allowed 0.05: slower by 5 %; infinity: any
void hold_against_baseline(const Baseline& baseline, double allowed, Outcome& outcome);

}  // namespace tessera::compare
