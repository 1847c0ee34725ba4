// Plans and operators: y = A x from Python, and Python functions as operators.
#include "interruptible.hpp"
#include "matrix.hpp"
#include "object_locks.hpp"
#include "watch.hpp"
#include "words.hpp"

#include "tessera/linear_operator.hpp"
#include "tessera/measured_choices.hpp"
#include "tessera/multi_vector.hpp"
#include "tessera/spmv.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

namespace tessera::python {

namespace {

template <class T>
void apply(const LinearOperator<T>& self, const Vector<const T>& x, const Vector<T>& y, bool transposed) {
  const Device device = self.device();
  require_device("x", x, device);
  require_device("y", y, device);
  const nb::gil_scoped_release release;
  const ObjectLock lock("a product", device, {{&self}});
  if (transposed) {
    self.apply_transposed(span_of<const T>(x), span_of<T>(y));
  } else {
    self.apply(span_of<const T>(x), span_of<T>(y));
  }
}

[[nodiscard]] nb::dict facts_of(const PlanInfo& info) {
  nb::dict facts;
  facts["kernel"] = text(to_string(info.algorithm));
  facts["reason"] = info.reason;
  facts["bytes"] = info.bytes;
  facts["build_ms"] = info.build_ms;
  facts["upload_ms"] = info.upload_ms;
  facts["determinism"] = text(to_string(info.determinism));
  facts["tiles"] = info.tiles;
  return facts;
}

/// Several vectors, one per column.
template <class T>
using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void apply_many(const SpmvPlan<T>& self, const Block<const T>& x, const Block<T>& y) {
  const auto view = []<class Element>(const Block<Element>& block) {
    return MultiVectorView<Element>({block.data(), block.size()}, static_cast<std::int64_t>(block.shape(0)),
                                    static_cast<std::int64_t>(block.shape(1)), MultiVectorLayout::row_major);
  };
  const nb::gil_scoped_release release;
  const ObjectLock lock("a product", self.device(), {{&self}});
  self.apply_many(view(x), view(y));
}

[[nodiscard]] SpmvOptions plan_options(const std::string& kernel, const Device& device, bool transpose,
                                       const std::string& determinism, std::int64_t applications) {
  SpmvOptions options;
  options.algorithm = parse_spmv_algorithm(kernel);
  options.device = device;
  options.with_transpose = transpose;
  options.expected_applications = applications;
  for (const auto each : {Determinism::not_guaranteed, Determinism::run_to_run, Determinism::gpu_to_gpu}) {
    if (determinism == to_string(each)) {
      options.determinism = each;
      return options;
    }
  }
  throw InvalidArgument("determinism \"" + determinism + R"(": one of "not_guaranteed", "run_to_run", "gpu_to_gpu")");
}

/// A Python function of two arrays, x to read and y to write, both valid during the call alone.
template <class T>
[[nodiscard]] typename FunctionOperator<T>::Function calling(nb::object function) {
  const auto kept = std::shared_ptr<nb::object>(new nb::object(std::move(function)), [](nb::object* pointer) {
    const nb::gil_scoped_acquire lock;
    delete pointer;
  });
  return [kept](std::span<const T> x, std::span<T> y) {
    const nb::gil_scoped_acquire lock;
    raise_signals();
    // The base object stops nanobind from copying; it owns nothing.
    const nb::capsule unowned(static_cast<const void*>(x.data()), [](void*) noexcept {});
    (*kept)(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(x.data(), {x.size()}, unowned),
            nb::ndarray<nb::numpy, T, nb::ndim<1>>(y.data(), {y.size()}, unowned));
  };
}

template <class T>
void bind_type(nb::module_& module, const std::string& suffix) {
  using Operator = LinearOperator<T>;
  using Plan = SpmvPlan<T>;
  nb::class_<Operator>(module, ("Operator" + suffix).c_str(), "y = A x")
      .def_prop_ro("rows", &Operator::rows)
      .def_prop_ro("cols", &Operator::cols)
      .def_prop_ro("device", [](const Operator& self) { return self.device().name(); })
      .def_prop_ro("has_transpose", &Operator::has_transpose)
      .def("apply", &apply<T>, nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("transposed") = false);
  nb::class_<FunctionOperator<T>, Operator>(module, ("Function" + suffix).c_str(), "An operator from a function")
      .def(
          "__init__",
          [](FunctionOperator<T>* self, std::int64_t rows, std::int64_t cols, nb::object function,
             nb::object transposed) {
            if (transposed.is_none()) {
              new (self) FunctionOperator<T>(rows, cols, calling<T>(std::move(function)));
            } else {
              new (self)
                  FunctionOperator<T>(rows, cols, calling<T>(std::move(function)), calling<T>(std::move(transposed)));
            }
          },
          nb::arg("rows"), nb::arg("cols"), nb::arg("function"), nb::arg("transposed").none() = nb::none());
  nb::class_<Plan, Operator>(module, ("Plan" + suffix).c_str(), "A kernel prepared for one matrix")
      .def("__init__",
           [](Plan* self, const Matrix<T>& matrix, const std::string& kernel, const std::string& device, bool transpose,
              const std::string& determinism, std::int64_t applications) {
             const Device where = device.empty() ? matrix.csr->device() : Device::parse(device);
             const SpmvOptions options = plan_options(kernel, where, transpose, determinism, applications);
             new (self) Plan(interruptible(matrix.csr->nnz(), [csr = matrix.csr, options] {
               const ObjectLock lock("a plan", options.device, {});
               return Plan(csr, options);
             }));
           })
      .def_prop_ro("facts",
                   [](const Plan& self) {
                     return facts_of(unlocked([&] {
                       const ObjectLock lock("info", Device{}, {{&self}});
                       return self.info();
                     }));
                   })
      .def_prop_ro("address",
                   [](const Plan& self) { return reinterpret_cast<std::uintptr_t>(self.matrix().values.data()); })
      .def("arrays",
           [](const Plan& self) {
             return arrays_of<T>(unlocked([&] {
               const ObjectLock lock("a copy of the matrix", self.device(), {{&self}});
               return Csr<T>::copy_of(self.matrix());
             }));
           })
      .def("suits_cg",
           [](const Plan& self) {
             return interruptible(self.matrix().nnz(), [&self, keep = kept(self)] {
               const ObjectLock lock("a look at the matrix", self.device(), {{&self}});
               return suits_cg<T>(self.matrix(), self.matrix_device());
             });
           })
      .def("prepare_transpose",
           [](Plan& self) {
             if (self.has_transpose()) return;
             const nb::gil_scoped_release release;
             const ObjectLock lock("a transpose", self.device(), {{&self, LockMode::exclusive}});
             self.prepare_transpose();
           })
      .def(
          "update_values",
          [](Plan& self, const Vector<const T>& values) {
            const nb::gil_scoped_release release;
            const ObjectLock lock("update_values", self.device(), {{&self, LockMode::exclusive}});
            self.update_values(span_of<const T>(values));
          },
          nb::arg("values").noconvert())
      .def("apply_many", &apply_many<T>, nb::arg("x").noconvert(), nb::arg("y").noconvert());
}

}  // namespace

void bind_operators(nb::module_& module) {
  bind_type<double>(module, "64");
  bind_type<float>(module, "32");
  module.def("kernels", [](const std::string& device) {
    nb::dict result;
    for (const SpmvAlgorithm each : spmv_algorithms(Device::parse(device))) {
      result[text(to_string(each))] = text(describe(each));
    }
    return result;
  });
  module.def("export_measured_choices", &export_measured_choices);
  module.def("import_measured_choices", [](const std::string& text, const std::string& name) {
    const ImportedChoices imported = import_measured_choices(text, name);
    return nb::make_tuple(imported.read, imported.outdated, imported.damaged);
  });
  module.def("forget_measured_choices", &forget_measured_choices);
}

}  // namespace tessera::python
