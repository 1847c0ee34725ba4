/// \file
/// What came of the runs of a benchmark, and the file that has one line of JSON per run (schema solve.bench/1).
#pragma once

#include "bench_plan.hpp"
#include "isolated_run.hpp"

#include "report_json.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tessera::cli {

/// One run. Numbers that are not known are NaN, or 0 where they are whole.
struct BenchRecord {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string matrix;    ///< as BenchMatrix has it
  std::string identity;  ///< likewise
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  BenchConfiguration configuration;
  std::string options;  ///< as shared_options() has them
  std::int64_t repetition = 1;
  std::string version;  ///< of Tessera
  std::string commit;
  std::string cpu;
  std::string started;            ///< UTC
  double limit_seconds = 0.0;     ///< infinity: none
  std::uint64_t limit_bytes = 0;  ///< 0: none
  /// That of the solver, or time_limit, memory_limit, refused (exit codes 2 and 7), bad_input (5), out_of_memory (6),
  /// crashed.
  std::string status;
  bool solved = false;  ///< converged, and of a square matrix ||b - A x|| <= target with both as reported
  std::string reason;   ///< why it ended, or what was wrong
  BenchConfiguration chosen{"", "", ""};  ///< what auto took; empty where no solver ran
  std::string device;                     ///< "host", or the name of the GPU; empty where no solver ran
  std::int64_t iterations = 0;
  std::int64_t products = 0;
  double residual = unknown;  ///< ||b - A x|| / ||b||, computed
  double read_ms = unknown;
  double setup_ms = unknown;  ///< plan, preconditioner, transfers, and rungs of the ladder that were left
  double solve_ms = unknown;
  double wall_ms = 0.0;  ///< of the process
  double cpu_ms = 0.0;
  std::uint64_t peak_bytes = 0;

  /// The same for runs that need not be made twice: matrix, configuration, repetition, version and machine.
  [[nodiscard]] std::string key() const;
};

/// A run that ended. \param planned matrix, configuration, limits and the like
[[nodiscard]] BenchRecord record_of(BenchRecord planned, const IsolatedRun& run);

/// The document that the process of a run wrote; null where it wrote none.
[[nodiscard]] Json document_of(const IsolatedRun& run);

[[nodiscard]] Json record_json(const BenchRecord& record);

/// The records of a text of lines. A last line without an end is left out.
/// \throws ParseError with the line that is no record
[[nodiscard]] std::vector<BenchRecord> read_records(const std::string& file, const std::string& text);

/// Lines that are added to a file, each whole or not at all.
class BenchResults {
 public:
  /// Opens or makes the file, and locks it. A last line that was cut off goes to FILE.cut.
  /// \throws IoError also where another process has it; ParseError for a file of something else
  explicit BenchResults(const std::string& path);
  ~BenchResults();
  BenchResults(const BenchResults&) = delete;
  BenchResults& operator=(const BenchResults&) = delete;

  /// Those that the file had.
  [[nodiscard]] const std::vector<BenchRecord>& records() const noexcept { return records_; }
  /// Whether a line had been cut off.
  [[nodiscard]] bool was_cut() const noexcept { return was_cut_; }
  /// On the disk when this returns. \throws IoError
  void append(const BenchRecord& record) const;

 private:
  void repair(std::string& text);

  std::string path_;
  int descriptor_ = -1;
  bool was_cut_ = false;
  std::vector<BenchRecord> records_;
};

}  // namespace tessera::cli
