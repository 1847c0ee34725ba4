#include "summary_text.hpp"

#include "accuracy_report.hpp"
#include "columns_report.hpp"
#include "engine.hpp"
#include "group_run.hpp"
#include "ladder_report.hpp"
#include "least_squares.hpp"
#include "precond_report.hpp"
#include "system_ordering.hpp"

#include "support/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

namespace tessera::cli {

std::string time_text(double milliseconds) {
  constexpr double one_second = 1000.0;
  if (milliseconds >= 10 * one_second) return fmt::format("{:.1f} s", milliseconds / one_second);
  if (milliseconds >= one_second) return fmt::format("{:.2f} s", milliseconds / one_second);
  return milliseconds >= 1.0 ? fmt::format("{:.1f} ms", milliseconds) : fmt::format("{:.2f} ms", milliseconds);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units{"KiB", "MiB", "GiB", "TiB"};
  constexpr double step = 1024.0;
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / step;
  std::size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string line(std::string_view key, std::string_view text) { return fmt::format("{:<11} {}\n", key, text); }

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string shown_problem(const CommonOutcome& outcome, std::size_t width) {
  if (!outcome.from_file) return outcome.problem;
  if (outcome.problem == "-") return "standard input";
  const std::string base = std::filesystem::path(outcome.problem).filename().string();
  return width == 0 || base.empty() ? outcome.problem : base;
}

std::string cache_text(const CommonOutcome& outcome) {
  if (!outcome.cache) return {};
  if (outcome.cache->from_cache) return ", read from cache " + outcome.cache->path;
  return outcome.cache->written ? ", cache written: " + outcome.cache->path : std::string();
}

namespace {

[[nodiscard]] std::string_view name_of(Symmetry symmetry) {
  switch (symmetry) {
    case Symmetry::numerical:
      return "symmetric";
    case Symmetry::skew:
      return "skew-symmetric";
    case Symmetry::structural:
      return "positions symmetric, values not";
    case Symmetry::none:
      break;
  }
  return "not symmetric";
}

/// Repeated entries are one where there are no values to sum.
[[nodiscard]] std::string duplicates_text(const CommonOutcome& outcome) {
  if (outcome.duplicates == 0) return {};
  return fmt::format(", {} duplicates {}", outcome.duplicates, outcome.pattern ? "merged" : "summed");
}

[[nodiscard]] std::string matrix_text(const CommonOutcome& outcome, std::size_t width) {
  const MatrixStatistics& m = outcome.matrix;
  std::string text = fmt::format("{}{}: {} x {}, {} nonzeros ({}{}), {:.1f} per row", shown_problem(outcome, width),
                                 outcome.transposed ? ", transposed" : "", m.rows, m.cols, m.nnz, name_of(m.symmetry),
                                 outcome.pattern ? ", pattern" : "", m.mean_row_nnz);
  return text + duplicates_text(outcome) + cache_text(outcome);
}

[[nodiscard]] std::string kernel_text(const CommonOutcome& outcome, bool chosen_by_user) {
  std::string text = fmt::format("{}, set-up {}", to_string(outcome.plan.algorithm), time_text(outcome.plan.build_ms));
  if (chosen_by_user) return text;
  const bool is_measured = outcome.plan.reason.starts_with(to_string(SpmvAlgorithm::measured));
  return text + fmt::format(" ({}{})", is_measured ? "" : "auto: ", outcome.plan.reason);
}

[[nodiscard]] std::string chosen(const std::string& reason) {
  return reason.empty() ? std::string() : fmt::format(" (auto: {})", reason);
}

/// Where a GPU did the work, which one, and what bringing the data there and back took; and what made `auto` choose.
[[nodiscard]] std::string device_line(const CommonOutcome& outcome, const Timings& timings) {
  const std::string why = chosen(outcome.device_reason);
  if (outcome.device.is_host()) return why.empty() ? std::string() : line("device", outcome.device.name() + why);
  return line("device", fmt::format("{}, upload {}, download {}{}", support::device_text(outcome.device, Device{}),
                                    time_text(timings.upload_ms), time_text(timings.download_ms), why));
}

[[nodiscard]] std::string plan_lines(const CommonOutcome& outcome) {
  const PlanInfo& plan = outcome.plan;
  std::string text =
      fmt::format("{} of descriptors and copies, determinism {}", size_text(plan.bytes), to_string(plan.determinism));
  if (plan.tiles > 0) {
    text += fmt::format(", {} tiles", plan.tiles);
    if (plan.sigma > 0) text += fmt::format(", sigma {}, {}-bit descriptors", plan.sigma, plan.descriptor_bits);
  }
  if (const auto& stream = plan.stream; stream && stream->bytes_per_product > 0) {
    text +=
        fmt::format(", {} of {} slices on the GPU, {} over the bus per product (predicted {})", stream->resident_slices,
                    stream->slices, size_text(stream->bytes_per_product), time_text(stream->predicted_ms));
  }
  return line("plan", text);
}

/// \param reference the kernel without set-up
[[nodiscard]] std::string break_even_line(const BreakEven& even, std::string_view reference) {
  const std::string after = even.applications ? fmt::format("pays after {} products", *even.applications)
                                              : std::string("never pays on this matrix");
  return line("break-even", fmt::format("{} ({} per product, {} {})", after, time_text(even.apply_ms), reference,
                                        time_text(even.reference_ms)));
}

[[nodiscard]] std::string_view reference_of(const CommonOutcome& outcome) {
  if (outcome.device.is_host()) return "csr";
  return outcome.plan.stream ? "csr on the host" : "csr-vector";
}

[[nodiscard]] std::string method_text(const RunOutcome& outcome) {
  std::string text = outcome.method + chosen(outcome.method_reason);
  if (outcome.precond.direct)
    return text + fmt::format(", factors {}", to_string(outcome.precond.direct->prediction.method));
  text += fmt::format(", precond {}{}", outcome.precond.name, chosen(outcome.precond.reason));
  if (outcome.least_squares && outcome.least_squares->damping > 0.0) {
    text += fmt::format(", damp {:g}", outcome.least_squares->damping);
  }
  return text;
}

/// "breakdown (indefinite)", "interrupted by Ctrl-C", "stagnated".
[[nodiscard]] std::string ending_name(const SolveReport& report) {
  if (report.status == Status::interrupted) {
    return report.reason.substr(0, std::min(report.reason.find(" after "), report.reason.find(';')));
  }
  if (report.status != Status::breakdown) return std::string(to_string(report.status));
  return fmt::format("breakdown ({})", to_string(report.breakdown));
}

/// The reason without what its neighbours say: the residual, which has a line of its own, and the counts.
[[nodiscard]] std::string cause_of(const SolveReport& report) {
  if (report.converged() || report.status == Status::interrupted) return {};
  std::string cause = report.reason.substr(0, report.reason.find("; ||b - A x||"));
  if (cause.starts_with("||b - A x||")) return {};
  const std::size_t counts = cause.find(" restarts: ");
  if (cause.starts_with("breakdown (") && counts != std::string::npos) cause.erase(0, cause.find(": ", counts) + 2);
  return cause;
}

/// What was done in which precision.
[[nodiscard]] std::string mixed_line(const RunOutcome& outcome) {
  if (!outcome.mixed) return {};
  const MixedOutcome& mixed = *outcome.mixed;
  std::string text = fmt::format("{} in fp32 ({}, values {}), {} in fp64",
                                 counted(mixed.single_iterations, "iteration"), to_string(mixed.plan.algorithm),
                                 mixed.is_exact ? "exact" : "rounded", counted(mixed.double_products, "product"));
  if (mixed.exponent != 0) text += fmt::format(", A scaled by 2^{}", -mixed.exponent);
  if (!mixed.fallback.empty()) {
    text += fmt::format(", then {} in fp64: {}", counted(mixed.double_iterations, "iteration"),
                        mixed.fallback.substr(0, mixed.fallback.find("; ||b - A x||")));
  }
  return line("mixed", text);
}

[[nodiscard]] std::string status_text(const RunOutcome& outcome) {
  const SolveReport& report = outcome.report;
  std::string text = fmt::format("{} after {}, {}, {}", ending_name(report), counted(report.iterations, "iteration"),
                                 counted(report.spmv_count, "product"), counted(report.restarts, "restart"));
  const std::string cause = cause_of(report);
  if (!cause.empty() && std::isfinite(report.true_residual)) text += ": " + cause;
  if (const std::string stable = backward_stable_text(outcome); !stable.empty()) text += "; " + stable;
  return text;
}

[[nodiscard]] std::string residual_text(const RunOutcome& outcome) {
  const SolveReport& report = outcome.report;
  if (!std::isfinite(report.true_residual)) return "not computed: " + report.reason;
  const double relative =
      outcome.relative_tolerance * (outcome.base == ResidualBase::b ? report.b_norm : report.r0_norm);
  const std::string_view rule = relative >= outcome.absolute_tolerance
                                    ? (outcome.base == ResidualBase::b ? "rtol * ||b||" : "rtol * ||r0||")
                                    : "atol";
  return fmt::format("||b - A x|| = {:.2e} {} {:.2e} = {}   (recurrence {:.2e})", report.true_residual,
                     report.true_residual <= report.target ? "<=" : ">", report.target, rule,
                     report.recurrence_residual);
}

[[nodiscard]] std::string times_text(const RunOutcome& outcome) {
  const Timings& timings = outcome.report.timings;
  std::string text = fmt::format("{} {}, inspect {}, plan {}, ", outcome.from_file ? "read" : "generate",
                                 time_text(timings.read_ms), time_text(outcome.inspect_ms), time_text(timings.plan_ms));
  if (outcome.ladder) text += fmt::format("rest of the ladder {}, ", time_text(outcome.ladder->rest_ms));
  return text + fmt::format("preconditioner {}, solve {}, accuracy {}; total {}", time_text(timings.preconditioner_ms),
                            time_text(timings.solve_ms), time_text(outcome.accuracy.ms), time_text(total_ms(outcome)));
}

[[nodiscard]] std::string definition_text(const PageRankOutcome& outcome) {
  return fmt::format("damping {}, dangling {} ({} dangling), teleport {}, in {}", outcome.options.damping,
                     to_string(outcome.options.dangling), outcome.dangling_count,
                     outcome.personalized ? "personalized" : "uniform",
                     outcome.precision == Precision::fp64 ? "fp64" : "fp32");
}

/// "vectors     3 distributions of jumps, 3 converged; of the worst, vector 2:"
[[nodiscard]] std::string vectors_line(const PageRankOutcome& outcome) {
  if (outcome.vectors.empty()) return {};
  const auto converged = std::count_if(outcome.vectors.begin(), outcome.vectors.end(),
                                       [](const RankVector& vector) { return vector.report.converged(); });
  return line("vectors", fmt::format("{} distributions of jumps, {} converged; of the worst, vector {}:",
                                     outcome.vectors.size(), converged, outcome.worst_vector + 1));
}

}  // namespace

std::string graph_line(const CommonOutcome& outcome, offset_t edges, std::size_t width) {
  return line("graph",
              fmt::format("{}{}: {} vertices, {} edges ({}){}", shown_problem(outcome, width),
                          outcome.transposed ? ", reversed" : "", outcome.matrix.rows, edges,
                          outcome.pattern ? "unweighted" : "weighted", duplicates_text(outcome) + cache_text(outcome)));
}

std::string kernel_lines(const CommonOutcome& outcome, const Timings& timings, const OutputSettings& settings) {
  return line("kernel", kernel_text(outcome, outcome.kernel_chosen_by_user)) +
         (outcome.parts.empty() ? ordering_line(outcome) + device_line(outcome, timings) : parts_lines(outcome)) +
         (settings.plan_info ? plan_lines(outcome) : "");
}

std::string ending_text(Status status, const std::string& reason, std::int64_t iterations,
                        const std::string& inequality) {
  const bool interrupted = status == Status::interrupted;
  std::string text = fmt::format(
      "{} after {}", interrupted ? reason.substr(0, reason.find(" after ")) : std::string(to_string(status)),
      counted(iterations, "iteration"));
  // A line of its own tells the inequality.
  if (status != Status::converged && !interrupted) text += ": " + reason.substr(0, reason.find("; " + inequality));
  return text;
}

std::string run_summary(const RunOutcome& outcome, const OutputSettings& settings) {
  const Timings& timings = outcome.report.timings;
  std::string text = line("matrix", matrix_text(outcome, settings.width));
  text += line("method", method_text(outcome));
  text += outcome.engine ? engine_line(*outcome.engine)
                         : line("kernel", kernel_text(outcome, outcome.kernel_chosen_by_user));
  text += outcome.parts.empty() ? ordering_line(outcome) + device_line(outcome, timings) : parts_lines(outcome);
  text += mixed_line(outcome);
  if (settings.plan_info) text += plan_lines(outcome);
  if (outcome.break_even) text += break_even_line(*outcome.break_even, reference_of(outcome));
  text += columns_line(outcome);
  if (outcome.least_squares) {
    text += least_squares_lines(outcome);
  } else {
    text += line("status", status_text(outcome));
    text += line("residual", residual_text(outcome));
    text += accuracy_lines(outcome);
  }
  text += line("time", times_text(outcome));
  return text + ladder_lines(outcome) + precond_lines(outcome.precond, settings.width) +
         columns_table(outcome, settings.width);
}

std::string pagerank_summary(const PageRankOutcome& outcome, const OutputSettings& settings) {
  std::string text = graph_line(outcome, outcome.edges, settings.width);
  text += line("pagerank", definition_text(outcome));
  text += kernel_lines(outcome, outcome.timings, settings);
  text += vectors_line(outcome);
  text += line("status", ending_text(outcome.status, outcome.reason, outcome.iterations, "||x' - x||"));
  if (outcome.iterations > 0) {
    text += line("change",
                 fmt::format("||x' - x||_{} = {:.2e} {} {:.2e}", to_string(outcome.options.norm), outcome.change,
                             outcome.change <= outcome.options.tolerance ? "<=" : ">", outcome.options.tolerance));
  }
  text += line("sum", fmt::format("{:.15g} over {} ranks{}", outcome.sum, outcome.matrix.rows,
                                  outcome.sum_to_vertices ? "   (scaled to the number of vertices)" : ""));
  text += line("time", fmt::format("{} {}, plan {}, solve {}", outcome.from_file ? "read" : "generate",
                                   time_text(outcome.timings.read_ms), time_text(outcome.timings.plan_ms),
                                   time_text(outcome.timings.solve_ms)));
  constexpr std::size_t shown = 10;
  return text + ranking_tables(outcome.rankings, outcome.names, "rank", shown);
}

}  // namespace tessera::cli
