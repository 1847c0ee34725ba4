/// \file
/// --ordering: a solve in another numbering of the unknowns.
#include "system_ordering.hpp"

#include "errors.hpp"
#include "option_values.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"

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

template <class T>
OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind) {
  OrderedSystem<T> result;
  if (kind == Ordering::natural) return result;
  const Stopwatch timer;
  result.reorder(matrix.view(), kind);
  result.facts.ms = timer.milliseconds();
  return result;
}

template OrderedSystem<float> order_system(const Csr<float>&, Ordering);
template OrderedSystem<double> order_system(const Csr<double>&, Ordering);

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
  Json json{{"name", facts.name}, {"reason", facts.reason}, {"ms", facts.ms}};
  if (facts.halo) {
    json["halo"] = *facts.halo;
    json["natural_halo"] = facts.natural_halo;
  }
  return json;
}

}  // namespace tessera::cli
