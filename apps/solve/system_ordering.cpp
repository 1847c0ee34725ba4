/// \file
/// --ordering: work in another numbering of the unknowns or vertices.
#include "system_ordering.hpp"

#include "errors.hpp"
#include "option_values.hpp"
#include "summary_text.hpp"

#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::cli {

template <class T>
void OrderedSystem<T>::gather_columns(MultiVector<T>& block) const {
  if (order.empty()) return;
  for (std::int64_t j = 0; j < block.columns; ++j) {
    const std::span<T> column = block.view().column(j);
    const std::vector<T> moved = gathered(column);
    std::copy(moved.begin(), moved.end(), column.begin());
  }
}

template <class T>
void OrderedSystem<T>::scatter_columns(MultiVector<T>& block) const {
  if (order.empty()) return;
  for (std::int64_t j = 0; j < block.columns; ++j) {
    const std::span<T> column = block.view().column(j);
    const std::vector<T> moved = scattered({column.begin(), column.end()});
    std::copy(moved.begin(), moved.end(), column.begin());
  }
}

template <class T>
void OrderedSystem<T>::reorder(const CsrView<T>& matrix, Ordering kind) {
  order = ordering(matrix, kind);
  reordered = std::make_shared<const Csr<T>>(permuted(matrix, order));
  facts.name = to_string(kind);
}

template struct OrderedSystem<float>;
template struct OrderedSystem<double>;

namespace {

[[nodiscard]] bool is_tied_to_file(const PrecondSettings& precond) {
  return precond.amg.block_size > 1 || precond.generated_coordinates || !precond.coordinates_file.empty() ||
         !precond.near_nullspace_file.empty();
}

/// Reverse Cuthill-McKee: Aᵀ with its cursors, then beside the pattern of A + Aᵀ, then that beside the search.
[[nodiscard]] std::uint64_t cuthill_mckee_bytes(std::int64_t rows, offset_t nnz) {
  constexpr std::size_t no_values = 0;
  const std::uint64_t transposed = detail::csr_bytes(rows, nnz, no_values);
  const std::uint64_t joined = detail::csr_bytes(rows, 2 * nnz, no_values);
  const auto n = static_cast<std::uint64_t>(rows);
  // Marks, the order, and the vertices of a level structure in a vector that grows.
  constexpr std::uint64_t growth = 3;
  const std::uint64_t search = n * (1 + (1 + growth) * sizeof(index_t));
  const std::uint64_t transposing = transposed + n * sizeof(offset_t) + (n + 1) * sizeof(offset_t);
  return std::max({transposing, joined + transposed, joined + search});
}

/// Degree-based grouping: counts of the columns per thread, then the permutation twice.
[[nodiscard]] std::uint64_t degree_bytes(const MatrixStatistics& facts, std::uint64_t threads) {
  const auto columns = static_cast<std::uint64_t>(facts.cols);
  const std::uint64_t parts =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(facts.nnz) / (columns + 1), 1, threads);
  return (std::max<std::uint64_t>(parts, 1) + 2) * columns * sizeof(index_t);
}

}  // namespace

bool names_metis(const Options& options) { return options.text("ordering") == "metis"; }

std::optional<Ordering> ordering_setting(const Options& options) {
  constexpr Choices<std::optional<Ordering>, 5> choices{{{"auto", std::nullopt},
                                                         {"natural", Ordering::natural},
                                                         {"rcm", Ordering::rcm},
                                                         {"degree", Ordering::degree},
                                                         {"metis", std::nullopt}}};
  const std::optional<Ordering> named = choice_option(options, "ordering", choices);
  if (!names_metis(options)) return named;
  throw UsageError("--ordering metis cuts the rows into the parts of several devices", "--device cuda:0,1");
}

std::optional<Ordering> named_ordering(const Options& options) {
  constexpr Choices<Ordering, 3> choices{
      {{"natural", Ordering::natural}, {"rcm", Ordering::rcm}, {"degree", Ordering::degree}}};
  if (!options.given("ordering")) return std::nullopt;
  return choice_option(options, "ordering", choices);
}

void require_free_numbering(const PrecondSettings& precond, std::string_view ordering) {
  if (!is_tied_to_file(precond)) return;
  throw UsageError(fmt::format("--ordering {} separates the rows that blocks, coordinates and near-nullspaces belong "
                               "to",
                               ordering),
                   "--ordering natural");
}

std::optional<Ordering> ordering_beside(const Options& options, const PrecondSettings& precond) {
  const std::optional<Ordering> named = ordering_setting(options);
  if (!is_tied_to_file(precond)) return named;
  if (named.value_or(Ordering::natural) != Ordering::natural) require_free_numbering(precond, to_string(*named));
  return Ordering::natural;
}

void require_square_ordering(Ordering kind, bool is_least_squares) {
  if (kind == Ordering::natural || !is_least_squares) return;
  throw UsageError(
      fmt::format("--ordering {} numbers rows and columns alike, so it is of square systems alone", to_string(kind)),
      "--ordering natural");
}

OrderingBytes predicted_ordering_bytes(Ordering kind, const MatrixStatistics& facts, std::size_t value_bytes,
                                       int threads) {
  if (kind == Ordering::natural) return {};
  const auto rows = static_cast<std::uint64_t>(facts.rows);
  const auto workers = static_cast<std::uint64_t>(threads);
  const std::uint64_t permutation = rows * sizeof(index_t);
  const std::uint64_t held = permutation + detail::csr_bytes(facts.rows, facts.nnz, value_bytes);
  const std::uint64_t finding =
      kind == Ordering::degree ? degree_bytes(facts, workers) : cuthill_mckee_bytes(facts.rows, facts.nnz);
  // Forming P A Pᵀ: the inverse permutation, and per thread a row whose entries are sorted, in a vector that grows.
  constexpr std::uint64_t growth = 3;
  const std::uint64_t row = static_cast<std::uint64_t>(facts.max_row_nnz) * sizeof(std::pair<index_t, std::size_t>);
  const std::uint64_t forming = held + permutation + growth * workers * row;
  return {held, std::max(finding, forming) - held};
}

template <class T>
OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind) {
  OrderedSystem<T> result;
  if (kind == Ordering::natural) return result;
  const Stopwatch timer;
  result.reorder(matrix.view(), kind);
  result.facts.ms = timer.milliseconds();
  result.facts.bytes = result.bytes();
  return result;
}

void require_memory_of_ordering(const OrderingBytes& bytes, const OrderingBudget& budget, const std::string& what) {
  support::require_memory(budget.limit_bytes, budget.held_bytes,
                          bytes.held + std::max(bytes.passing, budget.later_bytes), what + " in another numbering");
}

template <class T>
OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind, const MatrixStatistics& facts,
                              const OrderingBudget& budget) {
  if (kind == Ordering::natural) return {};
  const std::size_t value_bytes = matrix.is_pattern() ? 0 : sizeof(T);
  require_memory_of_ordering(predicted_ordering_bytes(kind, facts, value_bytes, Device{}.threads()), budget,
                             "the matrix");
  return order_system(matrix, kind);
}

template OrderedSystem<float> order_system(const Csr<float>&, Ordering);
template OrderedSystem<double> order_system(const Csr<double>&, Ordering);
template OrderedSystem<float> order_system(const Csr<float>&, Ordering, const MatrixStatistics&, const OrderingBudget&);
template OrderedSystem<double> order_system(const Csr<double>&, Ordering, const MatrixStatistics&,
                                            const OrderingBudget&);

template <class T>
std::vector<index_t> reorder_graph(Ordering kind, TransitionMatrix<T>& transition, OrderingFacts& facts) {
  if (kind == Ordering::natural) return {};
  const Stopwatch timer;
  std::vector<index_t> order = ordering(transition.in_links()->view(), kind);
  transition = transition.permuted(order);
  facts.name = to_string(kind);
  facts.ms = timer.milliseconds();
  facts.bytes = order.size() * sizeof(index_t);
  return order;
}

template std::vector<index_t> reorder_graph(Ordering, TransitionMatrix<float>&, OrderingFacts&);
template std::vector<index_t> reorder_graph(Ordering, TransitionMatrix<double>&, OrderingFacts&);

template <class T>
OrderingBytes predicted_graph_ordering_bytes(Ordering kind, const MatrixStatistics& facts, offset_t most_in_links,
                                             bool weighted, int threads) {
  if (kind == Ordering::natural) return {};
  MatrixStatistics transposed = facts;
  transposed.max_row_nnz = most_in_links;
  const OrderingBytes of_in_links = predicted_ordering_bytes(kind, transposed, weighted ? sizeof(T) : 0, threads);
  const auto vertices = static_cast<std::uint64_t>(facts.rows);
  const std::uint64_t permutation = vertices * sizeof(index_t);
  const std::uint64_t out_links = vertices * (sizeof(T) + 2 * sizeof(index_t));  // weights, degrees, dangling vertices
  return {permutation, of_in_links.held - permutation + of_in_links.passing + out_links};
}

template OrderingBytes predicted_graph_ordering_bytes<float>(Ordering, const MatrixStatistics&, offset_t, bool, int);
template OrderingBytes predicted_graph_ordering_bytes<double>(Ordering, const MatrixStatistics&, offset_t, bool, int);

std::string ordering_line(const CommonOutcome& outcome) {
  if (!outcome.ordering) return {};
  const OrderingFacts& facts = *outcome.ordering;
  std::string why;
  if (facts.halo) {
    why = facts.reason.empty() ? fmt::format(" (halo {})", counted(*facts.halo, "element"))
                               : fmt::format(" (auto: {})", facts.reason);
  }
  return line("ordering", fmt::format("{}{}, {}", facts.name, why, time_text(facts.ms)));
}

Json ordering_json(const OrderingFacts& facts) {
  Json json{{"name", facts.name}, {"reason", facts.reason}, {"ms", facts.ms}, {"bytes", facts.bytes}};
  if (facts.halo) {
    json["halo"] = *facts.halo;
    json["natural_halo"] = facts.natural_halo;
  }
  return json;
}

}  // namespace tessera::cli
