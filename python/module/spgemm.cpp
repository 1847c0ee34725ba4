// Products of two sparse matrices.
#include "interruptible.hpp"
#include "matrix.hpp"
#include "object_locks.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/spgemm.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace tessera::python {

namespace {

[[nodiscard]] nb::dict facts_of(const SpgemmReport& report) {
  nb::dict facts;
  facts["workflow"] = text(to_string(report.workflow));
  facts["reason"] = report.reason;
  facts["products"] = report.products;
  facts["nnz"] = report.nnz;
  facts["compression"] = report.compression();
  facts["peak_bytes"] = report.peak_bytes;
  facts["determinism"] = text(to_string(report.determinism));
  facts["total_ms"] = report.total_ms;
  return facts;
}

template <class T>
[[nodiscard]] nb::tuple multiply(const Matrix<T>& a, const Matrix<T>& b, const std::string& workflow,
                                 std::uint64_t memory_limit) {
  SpgemmOptions options;
  options.workflow = parse_spgemm_workflow(workflow);
  options.memory_limit_bytes = memory_limit;
  options.device = a.csr->device();
  const std::int64_t entries = std::max(a.csr->nnz(), b.csr->nnz());
  SpgemmResult<T> result = interruptible(entries, [left = a.csr, right = b.csr, options] {
    const ObjectLock lock("a product", options.device, {});
    SpgemmResult<T> product = spgemm<T>(*left, *right, options);
    if (!options.device.is_host()) product.matrix = product.matrix.to(Device{});
    return product;
  });
  raise_signals();
  return nb::make_tuple(arrays_of<T>(std::move(result.matrix)), facts_of(result.report));
}

}  // namespace

void bind_spgemm(nb::module_& module) {
  module.def("multiply", &multiply<double>);
  module.def("multiply", &multiply<float>);
}

}  // namespace tessera::python
