/// \file
/// The numbering in which several devices share out the rows of a system.
#include "group_ordering.hpp"

#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "tessera/ordering.hpp"
#include "tessera/several_devices.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] std::int64_t halo_of(const CsrView<T>& matrix, int devices) {
  return Partition::by_nonzeros(matrix, devices).halo(matrix);
}

/// Whether rcm is worth a trial where none was named, with the reason where not.
[[nodiscard]] bool is_worth_a_trial(const MatrixStatistics& matrix, OrderingFacts& facts) {
  facts.reason = fmt::format("halo {} for {} rows", counted(facts.natural_halo, "element"), matrix.rows);
  if (!is_large_halo(matrix, facts.natural_halo)) return false;
  if (are_separable(matrix)) return true;
  facts.reason += ", and rows too long for a numbering to separate";
  return false;
}

/// Takes the ordering, unless it was only tried and does not halve the halo.
template <class T>
void try_ordering(const CsrView<T>& matrix, int devices, Ordering kind, bool is_trial, OrderedSystem<T>& system) {
  OrderedSystem<T> trial;
  trial.facts = system.facts;
  trial.reorder(matrix, kind);
  const std::int64_t halo = halo_of(trial.reordered->view(), devices);
  const std::int64_t natural_halo = system.facts.natural_halo;
  if (is_trial && 2 * halo >= natural_halo) {
    system.facts.reason += fmt::format(", by {} {}", to_string(kind), halo);
    return;
  }
  if (is_trial) trial.facts.reason = fmt::format("halo {} instead of {}", counted(halo, "element"), natural_halo);
  trial.facts.halo = halo;
  system = std::move(trial);
}

}  // namespace

bool is_large_halo(const MatrixStatistics& matrix, std::int64_t halo) {
  constexpr std::int64_t rows_per_element = 20;
  return halo > matrix.rows / rows_per_element;
}

bool are_separable(const MatrixStatistics& matrix) {
  constexpr double long_row = 100.0;
  return static_cast<double>(matrix.max_row_nnz) <= long_row * matrix.mean_row_nnz;
}

template <class T>
OrderedSystem<T> order_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                 std::optional<Ordering> named) {
  OrderedSystem<T> result;
  if (!matrix.is_square()) {
    result.facts.halo = 0;
    return result;  // what shares it out refuses it
  }
  const Stopwatch timer;
  result.facts.natural_halo = halo_of(matrix, devices);
  result.facts.halo = result.facts.natural_halo;
  const bool is_wanted = named ? *named != Ordering::natural : is_worth_a_trial(facts, result.facts);
  if (is_wanted) try_ordering(matrix, devices, named.value_or(Ordering::rcm), !named, result);
  result.facts.ms = timer.milliseconds();
  return result;
}

template OrderedSystem<float> order_for_group(const CsrView<float>&, const MatrixStatistics&, int,
                                              std::optional<Ordering>);
template OrderedSystem<double> order_for_group(const CsrView<double>&, const MatrixStatistics&, int,
                                               std::optional<Ordering>);

}  // namespace tessera::cli
