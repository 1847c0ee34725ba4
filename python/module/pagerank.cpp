// PageRank on a graph by its out-links.
#include "interruptible.hpp"
#include "matrix.hpp"
#include "object_locks.hpp"
#include "reports.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/pagerank.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <string>

namespace tessera::python {

namespace {

[[nodiscard]] nb::dict facts_of(const PageRankReport& report) {
  nb::dict facts;
  facts["status"] = text(to_string(report.status));
  facts["reason"] = report.reason;
  facts["iterations"] = report.iterations;
  facts["products"] = report.spmv_count;
  facts["change"] = report.change;
  facts["sum"] = report.sum;
  facts["dangling_count"] = report.dangling_count;
  facts["kernel"] = text(to_string(report.plan.algorithm));
  facts["history"] = history_of(report.history);
  facts["times_ms"] = python::facts_of(report.timings);
  return facts;
}

struct RankSettings {
  PageRankOptions options;
};

template <class T>
[[nodiscard]] nb::tuple rank(const Matrix<T>& adjacency, const RankSettings& settings,
                             const std::optional<Vector<const double>>& personalization, nb::object callback) {
  PageRankOptions options = settings.options;
  const Device device = adjacency.csr->device();
  if (personalization) {
    require_device("personalization", *personalization, device);
    options.personalization = span_of<const double>(*personalization);
  }
  const auto watch = std::make_shared<Watch>(std::move(callback));
  watch->observe(options);
  options.spmv.device = device;
  const auto work = [csr = adjacency.csr, teleport = personalization, options, device] {
    const ObjectLock lock("pagerank", device, {});
    const TransitionMatrix<T> transition(csr->view(), device);
    PageRankResult<T> ranked = pagerank<T>(transition, options);
    if (!device.is_host()) ranked.ranks = ranked.ranks.to(Device{});
    return ranked;
  };
  PageRankResult<T> result = interruptible(adjacency.csr->nnz(), work, watch);
  raise_signals();
  const nb::dict facts = facts_of(result);
  return nb::make_tuple(numpy_of(std::move(result.ranks)), facts);
}

[[nodiscard]] RankSettings settings_of(double damping, double tol, const std::string& norm, const std::string& dangling,
                                       std::int64_t maxiter, double time_limit, bool history,
                                       const std::string& kernel) {
  PageRankOptions options;
  options.damping = damping;
  options.tolerance = tol;
  options.norm = named("norm", norm, std::array{RankNorm::l1, RankNorm::l2, RankNorm::linf});
  options.dangling =
      named("dangling", dangling, std::array{Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop});
  options.max_iterations = maxiter;
  options.time_limit_seconds = time_limit;
  options.keep_history = history;
  options.spmv.algorithm = parse_spmv_algorithm(kernel);
  return {options};
}

}  // namespace

void bind_pagerank(nb::module_& module) {
  nb::class_<RankSettings>(module, "RankSettings", "Parameters of PageRank");
  module.def("rank_settings", &settings_of);
  module.def("rank", &rank<double>, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  module.def("rank", &rank<float>, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
}

}  // namespace tessera::python
