/// \file
/// The numbering in which several devices share out the rows of a system.
#include "group_ordering.hpp"

#include "option_values.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "tessera/ordering.hpp"
#include "tessera/several_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] std::int64_t halo_of(const CsrView<T>& matrix, int devices) {
  return Partition::by_nonzeros(matrix, devices).halo(matrix);
}

/// Whether rcm is worth a trial, with the reason where not.
[[nodiscard]] bool is_worth_a_trial(const MatrixStatistics& matrix, std::optional<Ordering> named,
                                    GroupOrderingFacts& facts) {
  if (named) return *named == Ordering::rcm;
  facts.reason = fmt::format("halo {} for {} rows", counted(facts.halo, "element"), matrix.rows);
  if (!is_large_halo(matrix, facts.halo)) return false;
  if (are_separable(matrix)) return true;
  facts.reason += ", and rows too long for a numbering to separate";
  return false;
}

/// Takes rcm, unless it was only tried and does not halve the halo.
template <class T>
void try_rcm(const CsrView<T>& matrix, int devices, bool is_trial, GroupOrdering<T>& ordered) {
  GroupOrderingFacts& facts = ordered.facts;
  std::vector<index_t> order = ordering(matrix, Ordering::rcm);
  Csr<T> reordered = permuted(matrix, order);
  const std::int64_t halo = halo_of(reordered.view(), devices);
  if (is_trial && 2 * halo >= facts.natural_halo) {
    facts.reason += fmt::format(", by rcm {}", halo);
    return;
  }
  if (is_trial) facts.reason = fmt::format("halo {} instead of {}", counted(halo, "element"), facts.natural_halo);
  facts.name = to_string(Ordering::rcm);
  facts.halo = halo;
  ordered.order = std::move(order);
  ordered.reordered = std::move(reordered);
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

bool names_metis(const Options& options) { return options.text("ordering") == "metis"; }

std::optional<Ordering> ordering_setting(const Options& options) {
  constexpr Choices<std::optional<Ordering>, 4> choices{
      {{"auto", std::nullopt}, {"natural", Ordering::natural}, {"rcm", Ordering::rcm}, {"metis", std::nullopt}}};
  const std::optional<Ordering> named = choice_option(options, "ordering", choices);
  if (!names_metis(options)) return named;
  throw UsageError("--ordering metis cuts the rows into the parts of several devices", "--device cuda:0,1");
}

template <class T>
GroupOrdering<T> order_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                 std::optional<Ordering> named) {
  GroupOrdering<T> result;
  if (!matrix.is_square()) return result;  // what shares it out refuses it
  const Stopwatch timer;
  result.facts.natural_halo = result.facts.halo = halo_of(matrix, devices);
  if (is_worth_a_trial(facts, named, result.facts)) try_rcm(matrix, devices, !named, result);
  result.facts.ms = timer.milliseconds();
  return result;
}

template GroupOrdering<float> order_for_group(const CsrView<float>&, const MatrixStatistics&, int,
                                              std::optional<Ordering>);
template GroupOrdering<double> order_for_group(const CsrView<double>&, const MatrixStatistics&, int,
                                               std::optional<Ordering>);

std::string ordering_line(const CommonOutcome& outcome) {
  if (!outcome.group_ordering) return {};
  const GroupOrderingFacts& facts = *outcome.group_ordering;
  const std::string why =
      facts.reason.empty() ? fmt::format("halo {}", counted(facts.halo, "element")) : "auto: " + facts.reason;
  return line("ordering", fmt::format("{} ({}), {}", facts.name, why, time_text(facts.ms)));
}

Json ordering_json(const GroupOrderingFacts& facts) {
  return {{"name", facts.name},
          {"reason", facts.reason},
          {"halo", facts.halo},
          {"natural_halo", facts.natural_halo},
          {"ms", facts.ms}};
}

}  // namespace tessera::cli
