/// \file
/// Tables of benchmarks, and their performance profiles (Dolan & Moré).
#pragma once

#include "bench_command.hpp"
#include "bench_results.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Per solver the ratios of its cost to the least cost of any solver, over the problems that it solved.
class PerformanceProfile {
 public:
  /// \param costs per problem one per solver, > 0; infinity where it did not solve the problem
  explicit PerformanceProfile(const std::vector<std::vector<double>>& costs);

  /// ρ(τ), the share of all problems, also those that no solver solved, on which the ratio is at most `tau`.
  [[nodiscard]] double share(std::size_t solver, double tau) const;
  /// The largest ratio of a solved problem; 1 where there is none.
  [[nodiscard]] double largest_ratio() const;
  [[nodiscard]] std::size_t solvers() const noexcept { return ratios_.size(); }

 private:
  std::size_t problems_ = 0;
  std::vector<std::vector<double>> ratios_;  ///< per solver, ascending
};

/// ρ over τ on a logarithmic axis, in lines of text; solvers are A, B, ... (a letter hides those behind it).
[[nodiscard]] std::string profile_figure(const PerformanceProfile& profile);

/// All repetitions of one matrix with one configuration.
struct BenchCell {
  BenchRecord record;   ///< that of the median cost; of an unsolved one among several
  bool solved = false;  ///< in every repetition
  double cost = 0.0;    ///< median; infinity unless solved
  std::size_t runs = 0;
};

/// Matrices by configurations.
struct BenchTable {
  BenchMeasure measure = BenchMeasure::time;
  std::vector<std::string> configurations;
  struct Row {
    std::string matrix;
    std::vector<std::optional<BenchCell>> cells;  ///< one per configuration; nothing: not run
  };
  std::vector<Row> rows;

  /// Rows that have all their cells.
  [[nodiscard]] PerformanceProfile profile() const;
  [[nodiscard]] std::size_t incomplete_rows() const;
};

/// In the order of the records; of two with one key the later counts. Options, version and processor stand in the names
/// of configurations where they differ.
[[nodiscard]] BenchTable bench_table(const std::vector<BenchRecord>& records, BenchMeasure measure);

/// \param width of a line of TableFormat::text; 0: no limit
[[nodiscard]] std::string table_text(const BenchTable& table, TableFormat format, std::size_t width);

}  // namespace tessera::cli
