// Least squares: LSMR and CGLS.
#include "matrix.hpp"
#include "object_locks.hpp"
#include "reports.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/least_squares.hpp"
#include "tessera/spmv.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tessera::python {

namespace {

[[nodiscard]] nb::dict facts_of(const LeastSquaresReport& report) {
  nb::dict facts = python::facts_of(static_cast<const SolveReport&>(report));
  facts["test"] = text(to_string(report.ended_by));
  facts["transposed_products"] = report.transposed_count;
  facts["normal_residual"] = report.normal_residual;
  facts["damped_residual"] = report.damped_residual;
  facts["optimality"] = report.optimality;
  facts["x_norm"] = report.x_norm;
  facts["matrix_norm"] = report.matrix_norm;
  facts["condition"] = report.condition;
  return facts;
}

void bind_options(nb::module_& module) {
  nb::class_<LeastSquaresOptions>(module, "LeastSquaresOptions", "Parameters of lsmr and cgls")
      .def(nb::init<>())
      .def_rw("atol", &LeastSquaresOptions::relative_tolerance)
      .def_rw("btol", &LeastSquaresOptions::residual_tolerance)
      .def_rw("damp", &LeastSquaresOptions::damping)
      .def_rw("conlim", &LeastSquaresOptions::condition_limit)
      .def_rw("maxiter", &LeastSquaresOptions::max_iterations)
      .def_rw("time_limit", &LeastSquaresOptions::time_limit_seconds)
      .def_rw("stagnation_window", &LeastSquaresOptions::stagnation_window)
      .def_rw("history", &LeastSquaresOptions::keep_history)
      .def_rw("history_rows", &LeastSquaresOptions::history_rows);
}

/// \param scaled whether the columns are scaled to norm 1, which needs a plan
template <class T>
[[nodiscard]] nb::dict fit(const std::string& method, const LinearOperator<T>& A, const Vector<const T>& b,
                           const Vector<T>& x, LeastSquaresOptions options, bool scaled, nb::object callback) {
  const Device device = A.device();
  require_device("b", b, device);
  require_device("x0", x, device);
  if (method != "lsmr" && method != "cgls") throw InvalidArgument("method \"" + method + "\" is none of lsmr, cgls");
  const auto* const plan = dynamic_cast<const SpmvPlan<T>*>(&A);
  if (scaled && plan == nullptr) {
    throw InvalidArgument("preconditioner \"jacobi\" needs the entries of A, which is a function here");
  }
  Watch watch(std::move(callback));
  watch.observe(options);
  const LeastSquaresReport report = unlocked([&] {
    const ObjectLock lock("a solve", device, {{&A}});
    std::unique_ptr<FusedOperator<T>> scaling = std::make_unique<IdentityOperator<T>>(A.cols(), device);
    double set_up_ms = 0.0;
    if (scaled) {
      auto norms = std::make_unique<ColumnNormPreconditioner<T>>(plan->matrix(), options.damping, device);
      set_up_ms = norms->info().setup_ms;
      scaling = std::move(norms);
    }
    LeastSquaresReport result = method == "lsmr" ? lsmr<T>(A, *scaling, span_of<const T>(b), span_of<T>(x), options)
                                                 : cgls<T>(A, *scaling, span_of<const T>(b), span_of<T>(x), options);
    result.timings.preconditioner_ms = set_up_ms;
    return result;
  });
  raise_signals();
  return facts_of(report);
}

template <class T>
void bind_type(nb::module_& module) {
  module.def("fit", &fit<T>, nb::arg("method"), nb::arg("A"), nb::arg("b").noconvert(), nb::arg("x").noconvert(),
             nb::arg("options"), nb::arg("scaled"), nb::arg("callback").none());
}

}  // namespace

void bind_least_squares(nb::module_& module) {
  bind_options(module);
  bind_type<double>(module);
  bind_type<float>(module);
}

}  // namespace tessera::python
