#include "compare/baseline.hpp"

#include "compare/candidate.hpp"
#include "support/json_reader.hpp"
#include "support/json_text.hpp"
#include "support/machine.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::compare {

namespace {

using support::Json;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw InvalidMatrix(fmt::format("{}: {}", path, reason));
}

[[nodiscard]] TimingSummary times_from(const Json& json) {
  TimingSummary times;
  times.count = json.at("count").get<std::int64_t>();
  times.median = json.at("median").get<double>();
  times.lower_quartile = json.at("q1").get<double>();
  times.upper_quartile = json.at("q3").get<double>();
  return times;
}

void add_case(const Json& item, Baseline& baseline) {
  const std::string kernel = current_name(item.at("kernel").get<std::string>());
  if (item.at("kind") == "product") {
    if (!item.contains("product_ms")) return;  // a kernel that failed
    const Json& times = item.at("product_ms");
    for (const char* cache : {"warm", "cold"}) {
      if (times.contains(cache)) {
        baseline.cases[fmt::format("product {} {}", kernel, cache)] = times_from(times.at(cache));
      }
    }
  } else if (item.contains("total_ms")) {
    std::string name = fmt::format("solve {} {}", item.at("solver").get<std::string>(), kernel);
    if (item.contains("precond")) name += " " + item.at("precond").get<std::string>();
    baseline.cases[name] = times_from(item.at("total_ms"));
  }
}

/// Takes the old times of a case. \returns whether the case has become clearly slower than allowed
bool slower_than(const Baseline& baseline, const std::string& name, double allowed, Times& times) {
  const auto old = baseline.cases.find(name);
  if (old == baseline.cases.end() || !times.measured()) return false;
  times.change = change_of(old->second, times.summary);
  return times.change && times.change->low > 1.0 + allowed;
}

}  // namespace

std::string case_name(const KernelRow& row, bool cold) {
  return fmt::format("product {} {}", row.kernel, cold ? "cold" : "warm");
}

std::string case_name(const SolveRow& row) {
  return fmt::format("solve {} {}{}{}", to_string(row.solver), row.kernel, row.preconds_compared ? " " : "",
                     row.preconds_compared ? row.precond : "");
}

Baseline read_baseline(const std::string& path) {
  const Json document = support::read_json(path);
  Baseline baseline;
  baseline.path = path;
  try {
    const auto schema = document.at("schema").get<std::string>();
    if (schema != "solve.compare/1") refuse(path, fmt::format("expected schema solve.compare/1, found {}", schema));
    MeasuredOn& on = baseline.measured_on;
    const Json& matrix = document.at("matrix");
    on.rows = matrix.at("rows").get<std::int64_t>();
    on.cols = matrix.at("cols").get<std::int64_t>();
    on.nnz = matrix.at("nnz").get<std::int64_t>();
    on.value = matrix.at("value").get<std::string>();
    on.precision = document.at("config").at("precision").at("value").get<std::string>();
    on.cpu = document.at("machine").at("cpu").get<std::string>();
    on.threads = document.at("machine").at("threads").get<int>();
    const Json& gpu = document.at("machine").at("gpu");
    if (gpu.is_object()) on.gpu = gpu.at("name").get<std::string>();
    for (const Json& item : document.at("cases")) add_case(item, baseline);
  } catch (const Json::exception& error) {  // "[json.exception.type_error.302] type must be number, but is string"
    const std::string what = error.what();
    refuse(path, "this is no result of solve compare --json: " + what.substr(what.find("] ") + 2));
  }
  return baseline;
}

std::optional<TimingRatio> change_of(const TimingSummary& old_times, const TimingSummary& new_times) {
  if (!(old_times.median > 0.0) || !(new_times.median > 0.0)) return std::nullopt;
  constexpr double error_per_iqr = 0.93;
  constexpr double two_sided_95 = 1.96;
  const auto relative_error = [](const TimingSummary& times) {
    return error_per_iqr * times.noise() / std::sqrt(static_cast<double>(std::max<std::int64_t>(times.count, 1)));
  };
  const double ratio = new_times.median / old_times.median;
  const double spread = std::exp(two_sided_95 * std::hypot(relative_error(old_times), relative_error(new_times)));
  return TimingRatio{ratio, ratio / spread, ratio * spread};
}

void check_baseline(const Baseline& baseline, const MeasuredOn& here, support::Warnings& warnings) {
  const MeasuredOn& there = baseline.measured_on;
  if (there.rows != here.rows || there.cols != here.cols || there.nnz != here.nnz) {
    refuse(baseline.path, fmt::format("it compares on a {} x {} matrix with {} nonzeros, this one is {} x {} with {}",
                                      there.rows, there.cols, there.nnz, here.rows, here.cols, here.nnz));
  }
  if (there.value != here.value || there.precision != here.precision) {
    refuse(baseline.path, fmt::format("it compares {} values in {}, this run {} in {}", there.value, there.precision,
                                      here.value, here.precision));
  }
  if (there.gpu != here.gpu) {
    const auto place = [](const std::string& name) { return name.empty() ? std::string("the host") : name; };
    warnings.push_back(
        {"W021", fmt::format("the baseline was measured on {}, this run on {}", place(there.gpu), place(here.gpu))});
  } else if (here.gpu.empty() && (there.cpu != here.cpu || there.threads != here.threads)) {
    warnings.push_back({"W021", fmt::format("the baseline was measured with {} on {}, this run with {} on {}",
                                            support::threads_text(there.threads), there.cpu,
                                            support::threads_text(here.threads), here.cpu)});
  }
}

void hold_against_baseline(const Baseline& baseline, double allowed, Outcome& outcome) {
  outcome.baseline = baseline.path;
  const auto take = [&](const std::string& name, Times& times) {
    if (slower_than(baseline, name, allowed, times)) outcome.slower.push_back(name);
    if (times.measured() && !baseline.cases.contains(name)) {
      outcome.warnings.push_back({"W022", fmt::format("{} has no case \"{}\"", baseline.path, name)});
    }
  };
  for (KernelRow& row : outcome.products) {
    take(case_name(row, false), row.warm);
    take(case_name(row, true), row.cold);
  }
  for (SolveRow& row : outcome.solves) take(case_name(row), row.total);
}

}  // namespace tessera::compare
