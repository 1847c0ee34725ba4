// Iterative methods on operators, once or many times, and the ladder of methods.
#include "interruptible.hpp"
#include "matrix.hpp"
#include "object_locks.hpp"
#include "reports.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/error.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/ladder.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>

namespace tessera::python {

namespace {

[[nodiscard]] std::string side_of(const SolverOptions& options) {
  return options.side == PreconditionerSide::left ? "left" : "right";
}

void set_side(SolverOptions& options, const std::string& side) {
  if (side != "left" && side != "right") throw InvalidArgument("side \"" + side + "\" is none of left, right");
  options.side = side == "left" ? PreconditionerSide::left : PreconditionerSide::right;
}

void bind_options(nb::module_& module) {
  nb::class_<SolverOptions>(module, "SolverOptions", "Parameters of every method")
      .def(nb::init<>())
      .def_rw("rtol", &SolverOptions::relative_tolerance)
      .def_rw("atol", &SolverOptions::absolute_tolerance)
      .def_rw("maxiter", &SolverOptions::max_iterations)
      .def_rw("time_limit", &SolverOptions::time_limit_seconds)
      .def_rw("divergence_tolerance", &SolverOptions::divergence_tolerance)
      .def_rw("stagnation_window", &SolverOptions::stagnation_window)
      .def_rw("breakdown_restarts", &SolverOptions::breakdown_restarts)
      .def_rw("replacement_interval", &SolverOptions::replacement_interval)
      .def_rw("restart", &SolverOptions::restart)
      .def_prop_rw("side", &side_of, &set_side)
      .def_rw("spectrum_low", &SolverOptions::spectrum_low)
      .def_rw("spectrum_high", &SolverOptions::spectrum_high)
      .def_rw("seed", &SolverOptions::seed)
      .def_rw("history", &SolverOptions::keep_history)
      .def_rw("history_rows", &SolverOptions::history_rows);
  nb::class_<IterationInfo>(module, "IterationInfo", "Progress after an iteration, for callbacks")
      .def_ro("iteration", &IterationInfo::iteration)
      .def_ro("max_iterations", &IterationInfo::max_iterations)
      .def_ro("residual", &IterationInfo::residual)
      .def_ro("target", &IterationInfo::target)
      .def_ro("seconds", &IterationInfo::seconds);
}

template <class T>
void require_devices(const LinearOperator<T>& A, const Vector<const T>& b, const Vector<T>& x) {
  const Device device = A.device();
  require_device("b", b, device);
  require_device("x0", x, device);
}

/// An IterativeSolver with what it refers to: the operators are kept by Python, the watch here. Its solves take turns.
template <class T>
class Solver {
 public:
  Solver(const std::string& method, const LinearOperator<T>& A, const LinearOperator<T>* M, SolverOptions options,
         nb::object callback)
      : device_(A.device()), a_(&A), m_(M), watch_(std::move(callback)) {
    watch_.observe(options);
    const IterativeMethod named = parse_iterative_method(method);
    const nb::gil_scoped_release release;
    const ObjectLock lock("a solver", device_, {{a_}, {m_}});
    if (M == nullptr) {
      solver_.emplace(named, A, options);
    } else {
      solver_.emplace(named, A, *M, options);
    }
  }

  [[nodiscard]] Watch& watch() noexcept { return watch_; }

  [[nodiscard]] nb::dict solve(const Vector<const T>& b, const Vector<T>& x, bool transposed) {
    require_device("b", b, device_);
    require_device("x0", x, device_);
    return facts_of(unlocked([&] {
      const ObjectLock lock("solve", device_, {{this, LockMode::exclusive}, {a_}, {m_}});
      if (transposed) return solver_->solve_transposed(span_of<const T>(b), span_of<T>(x));
      return solver_->solve(span_of<const T>(b), span_of<T>(x));
    }));
  }

 private:
  Device device_;
  const void* a_;
  const void* m_;  ///< null: none
  Watch watch_;
  std::optional<IterativeSolver<T>> solver_;
};

/// Several vectors, one per column, in the order of C or of Fortran without gaps.
template <class T>
using Columns = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
[[nodiscard]] MultiVectorView<T> view_of(const Columns<T>& columns) {
  const auto rows = static_cast<std::int64_t>(columns.shape(0));
  const auto count = static_cast<std::int64_t>(columns.shape(1));
  const bool by_rows = count > 1 ? columns.stride(1) == 1 : false;
  return {{columns.data(), columns.size()},
          rows,
          count,
          by_rows ? MultiVectorLayout::row_major : MultiVectorLayout::column_major};
}

/// \returns the facts of every column
template <class T>
[[nodiscard]] nb::list solve_all(const std::string& method, const LinearOperator<T>& A, const LinearOperator<T>* M,
                                 const Columns<const T>& b, const Columns<T>& x, SolverOptions options,
                                 nb::object callback) {
  require_device("B", b.device_type(), b.device_id(), A.device());
  require_device("X0", x.device_type(), x.device_id(), A.device());
  Watch watch(std::move(callback));
  watch.observe(options);
  const IterativeMethod named = parse_iterative_method(method);
  const auto reports = unlocked([&] {
    const ObjectLock lock("a solve", A.device(), {{&A}, {M}});
    const IdentityOperator<T> identity(A.rows(), A.device());
    return solve_columns<T>(named, A, M == nullptr ? identity : *M, view_of<const T>(b), view_of<T>(x), options);
  });
  raise_signals();
  nb::list facts;
  for (const SolveReport& report : reports) facts.append(python::facts_of(report));
  return facts;
}

template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const nb::handle callback = nb::inst_ptr<Solver<T>>(self)->watch().callback();
  Py_VISIT(callback.ptr());
  return 0;
}

template <class T>
int clear(PyObject* self) {
  nb::inst_ptr<Solver<T>>(self)->watch().drop_callback();
  return 0;
}

[[nodiscard]] nb::dict facts_of(const RungReport& rung) {
  nb::dict facts;
  facts["method"] = text(to_string(rung.plan.method));
  facts["precond"] = rung.plan.precond_name();
  facts["status"] = rung.set_up ? text(to_string(rung.status)) : text("no set-up");
  facts["iterations"] = rung.iterations;
  facts["relative_residual"] = rung.relative_residual;
  facts["setup_ms"] = rung.setup_ms;
  facts["solve_ms"] = rung.solve_ms;
  facts["outcome"] = rung.outcome;
  return facts;
}

[[nodiscard]] nb::dict facts_of(const LadderReport& ladder) {
  nb::dict facts = python::facts_of(ladder.report);
  nb::list rungs;
  for (const RungReport& rung : ladder.rungs) rungs.append(facts_of(rung));
  facts["rungs"] = rungs;
  facts["rung"] = ladder.rung;
  facts["proof"] = ladder.proof;
  facts["backward_error"] = ladder.backward.componentwise;
  return facts;
}

template <class T>
[[nodiscard]] nb::dict climb(const SpmvPlan<T>& A, const Vector<const T>& b, const Vector<T>& x,
                             const SolverOptions& solver, const std::string& method, nb::object callback) {
  require_devices<T>(A, b, x);
  const auto watch = std::make_shared<Watch>(std::move(callback));
  LadderOptions options;
  options.solver = solver;
  if (method != "auto") {
    options.method =
        named("method", method, std::array{RungMethod::cg, RungMethod::bicgstab, RungMethod::gmres, RungMethod::idr});
  }
  watch->observe(options.solver);
  const auto work = [&A, keep = kept(A), b, x, options] {
    const ObjectLock lock("a solve", A.device(), {{&A}});
    const MatrixStatistics facts = statistics<T>(A.matrix(), A.matrix_device());
    return solve<T>(A, facts, span_of<const T>(b), span_of<T>(x), options);
  };
  const LadderReport report = interruptible(A.matrix().nnz(), work, watch);
  raise_signals();
  return facts_of(report);
}

/// In mixed precision: `single` and `M` are in single precision.
[[nodiscard]] nb::dict solve_in_mixed_precision(const std::string& method, const LinearOperator<double>& A,
                                                const LinearOperator<float>& single, const LinearOperator<float>* M,
                                                const Vector<const double>& b, const Vector<double>& x,
                                                SolverOptions options, nb::object callback) {
  require_devices<double>(A, b, x);
  Watch watch(std::move(callback));
  watch.observe(options);
  const IterativeMethod named = parse_iterative_method(method);
  const MixedSolveReport report = unlocked([&] {
    const ObjectLock lock("a solve", A.device(), {{&A}, {&single}, {M}});
    const IdentityOperator<float> identity(single.rows(), single.device());
    return solve_mixed(named, A, single, M == nullptr ? identity : *M, span_of<const double>(b), span_of<double>(x),
                       options);
  });
  raise_signals();
  nb::dict facts = python::facts_of(report);
  facts["single_iterations"] = report.single_iterations;
  facts["fallback"] = report.fallback;
  return facts;
}

template <class T>
void bind_type(nb::module_& module, const std::string& suffix) {
  using Type = Solver<T>;
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse<T>)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear<T>)},
                                {0, nullptr}};
  nb::class_<Type>(module, ("Solver" + suffix).c_str(), "A method that keeps its vectors for many solves",
                   nb::type_slots(slots))
      .def(
          nb::init<const std::string&, const LinearOperator<T>&, const LinearOperator<T>*, SolverOptions, nb::object>(),
          nb::arg("method"), nb::arg("A"), nb::arg("M").none(), nb::arg("options"), nb::arg("callback").none(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("solve", &Type::solve, nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("transposed") = false);
  module.attr(("default_tolerance" + suffix).c_str()) = default_tolerance<T>;
  module.def("solve_all", &solve_all<T>, nb::arg("method"), nb::arg("A"), nb::arg("M").none(), nb::arg("b").noconvert(),
             nb::arg("x").noconvert(), nb::arg("options"), nb::arg("callback").none());
  module.def("climb", &climb<T>, nb::arg("A"), nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("options"),
             nb::arg("method"), nb::arg("callback").none());
}

}  // namespace

void bind_solvers(nb::module_& module) {
  module.def("methods", [] {
    nb::dict methods;
    for (const MethodInfo& info : iterative_methods()) {
      nb::list own;
      for (const std::string_view option : info.own_options) own.append(text(option));
      methods[text(info.name)] = nb::make_tuple(text(info.description), own);
    }
    return methods;
  });
  bind_options(module);
  bind_type<double>(module, "64");
  bind_type<float>(module, "32");
  module.def("solve_mixed", &solve_in_mixed_precision, nb::arg("method"), nb::arg("A"), nb::arg("single"),
             nb::arg("M").none(), nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("options"),
             nb::arg("callback").none());
}

}  // namespace tessera::python
