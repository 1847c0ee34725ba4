// HITS and Katz centrality of a graph by its out-links.
#include "matrix.hpp"
#include "object_locks.hpp"
#include "reports.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/centrality.hpp"
#include "tessera/statistics.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

namespace tessera::python {

namespace {

[[nodiscard]] nb::dict facts_of(const CentralityReport& report, const PlanInfo& plan) {
  nb::dict facts;
  facts["status"] = text(to_string(report.status));
  facts["reason"] = report.reason;
  facts["iterations"] = report.iterations;
  facts["products"] = report.spmv_count;
  facts["kernel"] = text(to_string(plan.algorithm));
  facts["history"] = history_of(report.history);
  facts["times_ms"] = python::facts_of(report.timings);
  return facts;
}

void bind_options(nb::module_& module) {
  nb::class_<KatzOptions>(module, "CentralityOptions", "Parameters of hits and katz")
      .def(nb::init<>())
      .def_rw("alpha", &KatzOptions::alpha)
      .def_rw("beta", &KatzOptions::beta)
      .def_rw("normalized", &KatzOptions::normalized)
      .def_rw("tol", &KatzOptions::tolerance)
      .def_rw("maxiter", &KatzOptions::max_iterations)
      .def_rw("time_limit", &KatzOptions::time_limit_seconds)
      .def_rw("history", &KatzOptions::keep_history);
}

/// On the host.
template <class T>
[[nodiscard]] Array<T> fetched(Array<T> scores) {
  return scores.device().is_host() ? std::move(scores) : scores.to(Device{});
}

template <class T>
[[nodiscard]] nb::tuple find_hits(const Matrix<T>& adjacency, KatzOptions options, const std::string& kernel,
                                  nb::object callback) {
  SpmvOptions spmv;
  spmv.algorithm = parse_spmv_algorithm(kernel);
  spmv.device = adjacency.csr->device();
  spmv.with_transpose = true;
  Watch watch(std::move(callback));
  watch.observe(options);
  PlanInfo plan_info;
  Array<T> hubs(adjacency.csr->rows(), Init::none, spmv.device);
  Array<T> authorities(adjacency.csr->cols(), Init::none, spmv.device);
  const HitsReport report = unlocked([&] {
    const ObjectLock lock("a ranking", spmv.device, {});
    const SpmvPlan<T> plan(adjacency.csr, spmv);
    plan_info = plan.info();
    return hits<T>(plan, hubs.span(), authorities.span(), options);
  });
  raise_signals();
  nb::dict facts = facts_of(report, plan_info);
  facts["residual"] = report.residual;
  facts["contraction"] = report.contraction;
  return nb::make_tuple(numpy_of(fetched(std::move(hubs))), numpy_of(fetched(std::move(authorities))), facts);
}

template <class T>
[[nodiscard]] nb::tuple find_katz(const Matrix<T>& adjacency, KatzOptions options, const std::string& kernel,
                                  nb::object callback) {
  SpmvOptions spmv;
  spmv.algorithm = parse_spmv_algorithm(kernel);
  spmv.device = adjacency.csr->device();
  Watch watch(std::move(callback));
  watch.observe(options);
  PlanInfo plan_info;
  Array<T> scores(adjacency.csr->rows(), Init::none, spmv.device);
  const KatzReport report = unlocked([&] {
    const ObjectLock lock("a ranking", spmv.device, {});
    const SpmvPlan<T> plan(transpose(adjacency.csr->view(), spmv.device), spmv);
    plan_info = plan.info();
    return katz<T>(plan, scores.span(), options);
  });
  raise_signals();
  nb::dict facts = facts_of(report, plan_info);
  facts["alpha"] = report.alpha;
  facts["spectral_bound"] = report.spectral_bound;
  facts["error_bound"] = report.error_bound;
  facts["sum"] = report.sum;
  return nb::make_tuple(numpy_of(fetched(std::move(scores))), facts);
}

template <class T>
void bind_type(nb::module_& module) {
  module.def("hits", &find_hits<T>, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("katz", &find_katz<T>, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace

void bind_centrality(nb::module_& module) {
  bind_options(module);
  bind_type<double>(module);
  bind_type<float>(module);
}

}  // namespace tessera::python
