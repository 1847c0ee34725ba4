// Dictionaries of what solvers report.
#include "reports.hpp"

#include "arrays.hpp"
#include "words.hpp"

#include <nanobind/stl/string.h>

namespace tessera::python {

namespace {

template <class Value, class Member>
[[nodiscard]] nb::object column_of(const std::vector<HistoryEntry>& history, Member member) {
  std::vector<Value> values;
  values.reserve(history.size());
  for (const HistoryEntry& entry : history) values.push_back(entry.*member);
  return numpy_of(std::move(values));
}

}  // namespace

nb::object history_of(const std::vector<HistoryEntry>& history) {
  if (history.empty()) return nb::none();
  return nb::make_tuple(
      column_of<std::int64_t>(history, &HistoryEntry::iteration), column_of<double>(history, &HistoryEntry::seconds),
      column_of<double>(history, &HistoryEntry::recurrence), column_of<double>(history, &HistoryEntry::true_residual));
}

nb::dict facts_of(const Timings& times) {
  const auto known = [](double ms) { return ms > 0.0 ? nb::object(nb::float_(ms)) : nb::none(); };
  nb::dict facts;
  facts["upload"] = known(times.upload_ms);
  facts["plan"] = known(times.plan_ms);
  facts["preconditioner"] = known(times.preconditioner_ms);
  facts["solve"] = known(times.solve_ms);
  facts["download"] = known(times.download_ms);
  return facts;
}

nb::dict facts_of(const SolveReport& report) {
  nb::dict facts;
  facts["status"] = text(to_string(report.status));
  facts["reason"] = report.reason;
  facts["breakdown"] = text(to_string(report.breakdown));
  facts["iterations"] = report.iterations;
  facts["products"] = report.spmv_count;
  facts["restarts"] = report.restarts;
  facts["residual"] = report.true_residual;
  facts["recurrence_residual"] = report.recurrence_residual;
  facts["b_norm"] = report.b_norm;
  facts["r0_norm"] = report.r0_norm;
  facts["target"] = report.target;
  facts["history"] = history_of(report.history);
  facts["times_ms"] = facts_of(report.timings);
  return facts;
}

}  // namespace tessera::python
