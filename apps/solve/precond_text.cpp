// The preconditioner in the summary of a run.
#include "precond_report.hpp"
#include "summary_text.hpp"
#include "text_table.hpp"

#include "tessera/iterative_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] std::vector<std::string> level_cells(const AmgInfo& info, std::size_t number) {
  const AmgLevelInfo& level = info.levels[number];
  constexpr double mebibyte = 1024.0 * 1024.0;
  const double per_row = level.rows > 0 ? static_cast<double>(level.nnz) / static_cast<double>(level.rows) : 0.0;
  const bool coarsest = number + 1 == info.levels.size();
  return {fmt::format("  {}", number),
          fmt::format("{}", level.rows),
          fmt::format("{}", level.nnz),
          fmt::format("{:.1f}", per_row),
          coarsest ? "-" : fmt::format("{:.0f} %", 100.0 * level.strong),
          coarsest ? "-" : fmt::format("{}", level.aggregates),
          coarsest ? "-" : fmt::format("{:.2f}", level.spectral_radius),
          level.layout,
          fmt::format("{:.2f}", static_cast<double>(level.bytes) / mebibyte)};
}

[[nodiscard]] std::string level_table(const AmgInfo& info, std::size_t width) {
  TextTable table;
  table.columns = {{"", "  level"},           {"", "rows"},      {"", "entries"},
                   {"per", "row", 3},         {"", "strong", 4}, {"aggre-", "gates"},
                   {"spectral", "radius", 5}, {"", "layout", 6}, {"", "MiB"}};
  for (std::size_t i = 0; i < info.levels.size(); ++i) table.rows.push_back(level_cells(info, i));
  return aligned_text(table, width);
}

/// "products 12.3 ms, aggregation 4.5 ms, ...", in the order of the work.
[[nodiscard]] std::string times_text(const AmgSetupTimes& times) {
  const std::array<std::pair<std::string_view, double>, 9> phases{{{"strength", times.strength},
                                                                   {"eigenvalues", times.eigenvalues},
                                                                   {"aggregation", times.aggregation},
                                                                   {"prolongator", times.prolongator},
                                                                   {"restriction", times.restriction},
                                                                   {"products", times.products},
                                                                   {"coarsest", times.coarsest},
                                                                   {"layout", times.layout},
                                                                   {"check", times.check}}};
  std::string text;
  for (const auto& [name, ms] : phases) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, time_text(ms));
  return text;
}

[[nodiscard]] std::string amg_lines(const AmgInfo& info, const PreconditionerInfo& precond, std::size_t width) {
  const std::string nodes = info.block_size > 1 ? fmt::format(", nodes of {} unknowns", info.block_size) : "";
  std::string text = line("amg", fmt::format("{}{}, {}, operator complexity {:.2f}, grid complexity {:.2f}, {}",
                                             counted(static_cast<std::int64_t>(info.levels.size()), "level"), nodes,
                                             size_text(precond.bytes), info.operator_complexity, info.grid_complexity,
                                             precond.is_symmetric ? "symmetric" : "not symmetric"));
  text += line("set-up", times_text(info.times));
  return text + level_table(info, width);
}

/// Of several devices: which levels are shared out.
[[nodiscard]] std::string sharing_line(const PrecondOutcome& precond) {
  if (!precond.shared_levels) return {};
  const auto levels = static_cast<int>(precond.hierarchy->levels.size());
  if (*precond.shared_levels == 0) return line("", "every device has the whole hierarchy: no level has rows enough");
  if (*precond.shared_levels == levels) return line("", "the rows of all levels are shared out");
  return line("", fmt::format("the rows of the finest {} shared out, every device has the other {}",
                              *precond.shared_levels == 1 ? std::string("level are")
                                                          : fmt::format("{} levels are", *precond.shared_levels),
                              levels - *precond.shared_levels));
}

[[nodiscard]] std::string polynomial_lines(const PolynomialOutcome& polynomial, const PreconditionerInfo& precond) {
  const auto& [options, info] = polynomial;
  const std::string products = options.explicit_matrix
                                   ? fmt::format("one matrix of {} entries, fill {:.2f}", info.explicit_nnz, info.fill)
                                   : fmt::format("{} with A per application", counted(info.products, "product"));
  const std::string weights = options.kind == PolynomialKind::neumann
                                  ? fmt::format("damping {:.3g}", info.damping)
                                  : fmt::format("interval [{:.3g}, {:.3g}]", info.interval_low, info.interval_high);
  std::string text = line("polynomial", fmt::format("{}, eigenvalues of D^-1 A up to {:.3g}, {}, {}, {}", products,
                                                    info.lambda_max, weights, size_text(precond.bytes),
                                                    precond.is_symmetric ? "symmetric" : "not symmetric"));
  std::string times = fmt::format("spectrum {}", time_text(info.spectrum_ms));
  if (options.explicit_matrix) {
    times += fmt::format(", products {}, drop {}", time_text(info.products_ms), time_text(info.drop_ms));
  }
  return text + line("set-up", fmt::format("{}, plan {}", times, time_text(info.plan_ms)));
}

[[nodiscard]] bool is_cholesky(FactorKind kind) { return kind == FactorKind::ic0 || kind == FactorKind::ict; }

[[nodiscard]] std::string factor_lines(const FactorOutcome& factors, std::uint64_t bytes) {
  const auto& [options, info] = factors;
  const bool cholesky = is_cholesky(options.kind);
  const std::string pivots =
      cholesky ? fmt::format("shift {:.2g}", info.shift) : counted(info.zero_pivots, "zero pivot");
  std::string text =
      line("factors", fmt::format("fill {:.2f}, {} in {}, {}, {} = {:.1e}", info.fill,
                                  cholesky ? fmt::format("{} entries", info.lower_nnz)
                                           : fmt::format("{} + {} entries", info.lower_nnz, info.upper_nnz),
                                  size_text(bytes), pivots, cholesky ? "||(L L')^-1 e||" : "||(L U)^-1 e||",
                                  info.condition_estimate));
  std::string solves = fmt::format("{} and {} levels", info.lower_levels, info.upper_levels);
  if (info.solve == TriangularSolve::sync_free) solves += ", solved sync-free";
  return text + line("set-up",
                     fmt::format("scaling {}{}, ordering {}, {}; prepare {}, factorize {}, analysis {}", info.scaling,
                                 info.permuted ? ", rows permuted" : "", to_string(info.ordering), solves,
                                 time_text(info.prepare_ms), time_text(info.factor_ms), time_text(info.analysis_ms)));
}

[[nodiscard]] std::string direct_lines(const DirectInfo& info, std::uint64_t bytes) {
  const DirectPrediction& prediction = info.prediction;
  std::string text = fmt::format("{} entries ({} predicted), {:.1e} flops, {}", info.factor_nnz, prediction.factor_nnz,
                                 prediction.flops, size_text(bytes));
  if (info.negative_pivots > 0) text += fmt::format(", {}", counted(info.negative_pivots, "negative pivot"));
  return line("factors", fmt::format("{}; prediction {}, factorize {}", text, time_text(prediction.ms),
                                     time_text(info.factor_ms)));
}

[[nodiscard]] std::string inverse_lines(const support::InverseOutcome& inverse, std::uint64_t bytes) {
  const FsaiInfo& info = inverse.info;
  const bool is_fsai = inverse.kind == "fsai";
  std::string text = fmt::format("{} entries, fill {:.2f}{}, longest row {}, {}", info.nnz, info.fill,
                                 is_fsai ? " of the triangle" : "", info.largest_row, size_text(bytes));
  if (is_fsai) text += fmt::format(", {} dropped", info.dropped);
  return line("inverse", fmt::format("{}; pattern {}, rows {}, plan {}", text, time_text(info.pattern_ms),
                                     time_text(info.rows_ms), time_text(info.plan_ms)));
}

void warn_about_factors(const PrecondOutcome& precond, Warnings& warnings) {
  constexpr double useless = 1e15;
  const auto& [options, info] = *precond.factors;
  if (info.zero_pivots > 0) {
    const std::string_view advice =
        options.kind == FactorKind::ilutp
            ? "the matrix may be singular"
            : "ilutp pivots, and --precond-opt matching=permute moves large entries to the diagonal";
    warnings.push_back(
        {"W013", fmt::format("{}: {} replaced; {}", precond.name, counted(info.zero_pivots, "zero pivot"), advice)});
  }
  if (!(info.condition_estimate <= useless)) {
    warnings.push_back({"W014", fmt::format("{}: the factors are nearly singular, ||(L U)^-1 e|| = {:.1e}; a smaller "
                                            "drop tolerance or another ordering may help",
                                            precond.name, info.condition_estimate)});
  }
}

}  // namespace

std::string precond_lines(const PrecondOutcome& precond, std::size_t width) {
  if (precond.hierarchy) return amg_lines(*precond.hierarchy, precond.info, width) + sharing_line(precond);
  if (precond.polynomial) return polynomial_lines(*precond.polynomial, precond.info);
  if (precond.factors) return factor_lines(*precond.factors, precond.info.bytes);
  if (precond.direct) return direct_lines(*precond.direct, precond.info.bytes);
  if (precond.approximate_inverse) return inverse_lines(*precond.approximate_inverse, precond.info.bytes);
  return {};
}

namespace {

[[nodiscard]] bool asks_for_symmetric_m(const std::string& method) {
  const auto methods = iterative_methods();
  return std::any_of(methods.begin(), methods.end(), [&](const MethodInfo& info) {
    return info.name == method &&
           (info.matrix == MatrixClass::symmetric || info.matrix == MatrixClass::positive_definite);
  });
}

}  // namespace

void warn_about_precond(const PrecondOutcome& precond, const std::string& method, Warnings& warnings) {
  if (precond.hierarchy && !precond.hierarchy->coarsens) {
    warnings.push_back({"W011", fmt::format("amg does not coarsen this matrix: {}; --precond jacobi costs less",
                                            precond.hierarchy->reason)});
  }
  if (!precond.info.is_symmetric && asks_for_symmetric_m(method)) {
    warnings.push_back(
        {"W012",
         fmt::format("{} is not symmetric here, which {} asks for; {}--method bicgstab takes any", precond.name, method,
                     precond.factors               ? "ic0 and ict are, "
                     : precond.approximate_inverse ? "fsai is, "
                                                   : "")});
  }
  if (precond.factors) warn_about_factors(precond, warnings);
}

}  // namespace tessera::cli
