// Matrices from arrays, generators and files, and their arrays for Python.
#include "matrix.hpp"

#include "interruptible.hpp"
#include "object_locks.hpp"

#include "tessera/adopt_csr.hpp"
#include "tessera/context.hpp"
#include "tessera/edge_list.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_file.hpp"
#include "tessera/statistics.hpp"
#include "tessera/symmetry.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

namespace tessera::python {

namespace {

/// Arrays of integers of 32 or 64 bits; which, is asked at run time.
using Indices = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;

template <class I>
[[nodiscard]] bool holds(const Indices& array) {
  return array.dtype() == nb::dtype<I>();
}

template <class I>
[[nodiscard]] std::span<const I> indices_of(const Indices& array) {
  return {static_cast<const I*>(array.data()), array.size()};
}

struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Calls `adopt` with both arrays of indices in their types.
template <class Adopt>
auto with_index_types(const Indices& offsets, const Indices& columns, const Adopt& adopt) {
  if (holds<std::int32_t>(columns)) {
    if (holds<std::int32_t>(offsets))
      return adopt(indices_of<std::int32_t>(offsets), indices_of<std::int32_t>(columns));
    if (holds<std::int64_t>(offsets))
      return adopt(indices_of<std::int64_t>(offsets), indices_of<std::int32_t>(columns));
  } else if (holds<std::int64_t>(columns) && holds<std::int64_t>(offsets)) {
    return adopt(indices_of<std::int64_t>(offsets), indices_of<std::int64_t>(columns));
  }
  throw InvalidArgument("indptr and indices: integers of 32 or 64 bits, indptr not narrower than indices");
}

template <class T>
[[nodiscard]] Matrix<T> adopt(std::int64_t rows, std::int64_t cols, const Indices& offsets, const Indices& columns,
                              const Vector<const T>& values, const nb::object& context) {
  AdoptedMemory memory;
  memory.device =
      context.is_none() ? device_of(values.device_type(), values.device_id()) : nb::cast<Context&>(context).device();
  require_device("data", values, memory.device);
  require_device("indptr", offsets.device_type(), offsets.device_id(), memory.device);
  require_device("indices", columns.device_type(), columns.device_id(), memory.device);
  memory.owner = owner_of(std::tuple(offsets, columns, values));
  auto csr = unlocked([&] {
    const ObjectLock lock("adopting a matrix", memory.device, {});
    return std::make_shared<const Csr<T>>(with_index_types(offsets, columns, [&](auto first, auto second) {
      return adopt_csr<T>(rows, cols, first, second, span_of<const T>(values), memory);
    }));
  });
  return {std::move(csr), context};
}

template <class T>
[[nodiscard]] std::int64_t address(const Array<T>& array) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data()));
}

template <class T>
[[nodiscard]] nb::tuple read(const std::string& path) {
  Csr<T> matrix = interruptible(entries_worth_a_thread, [path] { return read_matrix<T>(path).matrix; });
  return arrays_of<T>(std::move(matrix));
}

template <class T>
[[nodiscard]] nb::tuple read_edges(const std::string& path) {
  EdgeList<T> list = unlocked([&] { return read_edge_list<T>(path); });
  return nb::make_tuple(arrays_of<T>(std::move(list.file.matrix)), std::move(list.labels));
}

[[nodiscard]] GeneratorSpec spec_of(const std::string& text, std::optional<std::int64_t> size, std::uint64_t seed,
                                    const std::map<std::string, double>& parameters) {
  GeneratorSpec spec = parse_generator(text, seed);
  if (size) spec.size = size;
  for (const auto& [name, value] : parameters) spec.parameters[name] = value;
  return spec;
}

template <class T>
void bind_type(nb::module_& module, const char* name) {
  nb::class_<Matrix<T>>(module, name, "A matrix in compressed sparse rows, its arrays those of its maker",
                        nb::dynamic_attr())
      .def_prop_ro("rows", [](const Matrix<T>& self) { return self.csr->rows(); })
      .def_prop_ro("cols", [](const Matrix<T>& self) { return self.csr->cols(); })
      .def_prop_ro("nnz", [](const Matrix<T>& self) { return self.csr->nnz(); })
      .def_prop_ro("device", [](const Matrix<T>& self) { return self.csr->device().name(); })
      .def_prop_ro(
          "addresses",
          [](const Matrix<T>& self) {
            return nb::make_tuple(address(self.csr->row_offsets()), address(self.csr->columns()),
                                  address(self.csr->values()));
          },
          "Addresses of offsets, columns and values")
      .def_prop_ro("context", [](const Matrix<T>& self) { return self.context; });
  module.def("adopt", &adopt<T>, nb::arg("rows"), nb::arg("cols"), nb::arg("indptr"), nb::arg("indices"),
             nb::arg("data").noconvert(), nb::arg("context") = nb::none(),
             "A matrix on arrays of NumPy or of a GPU, in place");
}

}  // namespace

template <class T>
nb::tuple arrays_of(Csr<T>&& matrix) {
  const ReleasedCsr<T> released = release<T>(std::move(matrix));
  const CsrView<T>& arrays = released.arrays;
  const nb::object values =
      arrays.is_pattern() ? nb::none() : numpy_on<T>(arrays.values.data(), arrays.values.size(), released.owner);
  return nb::make_tuple(arrays.rows, arrays.cols,
                        numpy_on<offset_t>(arrays.row_offsets.data(), arrays.row_offsets.size(), released.owner),
                        numpy_on<index_t>(arrays.columns.data(), arrays.columns.size(), released.owner), values);
}

template <class T>
bool suits_cg(const CsrView<T>& matrix, const Device& device) {
  return matrix.is_square() && first_row_without_positive_diagonal<T>(matrix, device) < 0 &&
         is_symmetric<T>(matrix, device);
}

template bool suits_cg(const CsrView<float>&, const Device&);
template bool suits_cg(const CsrView<double>&, const Device&);
template nb::tuple arrays_of(Csr<float>&&);
template nb::tuple arrays_of(Csr<double>&&);

void bind_matrices(nb::module_& module) {
  bind_type<double>(module, "Matrix64");
  bind_type<float>(module, "Matrix32");
  nb::class_<Context>(module, "Context", "A device with a stream")
      .def(
          "__init__",
          [](Context* self, const std::string& device, std::optional<std::uintptr_t> stream) {
            ContextOptions options;
            if (stream) options.stream = reinterpret_cast<CUstream_st*>(*stream);
            new (self) Context(Device::parse(device), options);
          },
          nb::arg("device"), nb::arg("stream") = nb::none())
      .def("synchronize", [](const Context& self) { unlocked([&] { self.synchronize(); }); })
      .def("wait_for", [](const Context& self, const Context& other) { self.wait_for(other); })
      .def_prop_ro("stream", [](const Context& self) { return reinterpret_cast<std::uintptr_t>(self.stream()); })
      .def_prop_ro("device", [](const Context& self) { return self.device().name(); });
  module.def("read64", &read<double>, nb::arg("path"));
  module.def("read32", &read<float>, nb::arg("path"));
  module.def("read_edges64", &read_edges<double>, nb::arg("path"));
  module.def("read_edges32", &read_edges<float>, nb::arg("path"));
  module.def("generate64", [](const std::string& text, std::optional<std::int64_t> size, std::uint64_t seed,
                              const std::map<std::string, double>& parameters) {
    const GeneratorSpec spec = spec_of(text, size, seed, parameters);
    return arrays_of<double>(interruptible(entries_worth_a_thread, [spec] { return generate<double>(spec); }));
  });
  module.def("generate32", [](const std::string& text, std::optional<std::int64_t> size, std::uint64_t seed,
                              const std::map<std::string, double>& parameters) {
    const GeneratorSpec spec = spec_of(text, size, seed, parameters);
    return arrays_of<float>(interruptible(entries_worth_a_thread, [spec] { return generate<float>(spec); }));
  });
  module.def("left_behind", &count_left_behind, "How much work that was interrupted still runs");
  module.def("families", [] {
    nb::dict result;
    for (const GeneratorFamily& family : generator_families()) {
      result[nb::str(family.name.data(), family.name.size())] =
          nb::str(family.description.data(), family.description.size());
    }
    return result;
  });
}

}  // namespace tessera::python
