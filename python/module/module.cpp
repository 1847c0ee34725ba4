// tessera._core: the extension under the Python package. Names that end in 64 and 32 are those of double and float.
#include "errors.hpp"
#include "matrix.hpp"
#include "words.hpp"

#include "tessera/device.hpp"
#include "tessera/nearest.hpp"
#include "tessera/version.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

NB_MODULE(_core, module) {
  using namespace tessera::python;
  module.doc() = "Bindings of the C++ library; use the package tessera.";
  // What a function of Python refers to may refer to its operator: at the end nobody takes such circles apart.
  nanobind::set_leak_warnings(false);
  translate_errors();
  bind_matrices(module);
  bind_operators(module);
  bind_preconditioners(module);
  bind_solvers(module);
  bind_least_squares(module);
  bind_pagerank(module);
  bind_centrality(module);
  bind_spgemm(module);
  bind_views(module);
  module.def("set_num_threads", &tessera::set_default_host_threads);
  module.def("get_num_threads", [] { return tessera::default_host_threads().count; });
  module.def("nearest_name", [](const std::string& word, const std::vector<std::string>& names) {
    return std::string(tessera::nearest_name(word, std::vector<std::string_view>(names.begin(), names.end())));
  });
  module.def("build_info", [] {
    const tessera::BuildInfo info = tessera::build_info();
    nb::dict facts;
    facts["version"] = text(info.version);
    facts["commit"] = text(info.commit);
    facts["compiler"] = text(info.compiler);
    facts["cuda"] = text(info.cuda);
    return facts;
  });
}
