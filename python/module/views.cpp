// Vectors on a GPU from their addresses, or from capsules of DLPack.
#include "matrix.hpp"

#include "tessera/error.hpp"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::python {

namespace {

using Any = nb::ndarray<nb::c_contig>;

[[nodiscard]] nb::dlpack::dtype type_named(const std::string& name) {
  if (name == "d") return nb::dtype<double>();
  if (name == "f") return nb::dtype<float>();
  if (name == "i") return nb::dtype<std::int32_t>();
  if (name == "l" || name == "q") return nb::dtype<std::int64_t>();
  throw InvalidArgument("an array of type \"" + name + "\": float32, float64, int32 or int64 is needed");
}

[[nodiscard]] std::string type_of(const Any& array) {
  for (const char* name : {"d", "f", "i", "l"}) {
    if (array.dtype() == type_named(name)) return name;
  }
  return "?";
}

/// A vector for Python, in place. Speaks DLPack itself: a capsule could be taken only once.
struct View {
  Any array;

  [[nodiscard]] nb::object capsule(const nb::kwargs& /*versions*/) const {
    return nb::cast(array, nb::rv_policy::reference);
  }
  [[nodiscard]] nb::tuple device() const { return nb::make_tuple(array.device_type(), array.device_id()); }
};

[[nodiscard]] View view(std::uintptr_t address, std::size_t size, const std::string& type, int device_type, int ordinal,
                        nb::handle owner) {
  return {Any(reinterpret_cast<void*>(address), {size}, owner, {}, type_named(type), device_type, ordinal)};
}

}  // namespace

void bind_views(nb::module_& module) {
  nb::class_<View>(module, "View", "A vector in place, which speaks DLPack")
      .def("__dlpack__", &View::capsule)
      .def("__dlpack_device__", &View::device);
  module.def("view", &view, "A vector at an address; the owner lives as long");
  module.def("from_capsule", [](const Any& array) { return View{array}; });
  module.def("describe", [](const Any& array) { return nb::make_tuple(type_of(array), array.size(), array.ndim()); });
}

}  // namespace tessera::python
