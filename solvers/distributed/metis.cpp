/// METIS, loaded at its first use.
#include "solvers/distributed/metis.hpp"

#include "core/shared_library.hpp"
#include "tessera/error.hpp"
#include "tessera/metis_partition.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

namespace tessera {

namespace detail {

namespace {

constexpr const char* purpose = "a partition by METIS";

[[nodiscard]] std::vector<std::string> library_names() {
  const char* const named = std::getenv("TESSERA_METIS_LIBRARY");  // NOLINT(concurrency-mt-unsafe): set by nobody here
  if (named != nullptr && *named != '\0') return {named};
  return {"libmetis.so.5", "libmetis.so"};
}

/// \throws NotSupported with what the dynamic linker says of the first
[[nodiscard]] SharedLibrary open_library() {
  std::string problem;
  for (const std::string& name : library_names()) {
    try {
      return {name, purpose};
    } catch (const NotSupported& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  throw NotSupported(problem + "; Debian and Ubuntu have it in the package libmetis5");
}

[[nodiscard]] Metis load() {
  const SharedLibrary library = open_library();
  Metis result;
  result.library = library.name();
  result.set_default_options = library.function<decltype(result.set_default_options)>("METIS_SetDefaultOptions");
  result.part_graph_kway = library.function<decltype(result.part_graph_kway)>("METIS_PartGraphKway");
  result.index_bits = metis_index_bits(result.set_default_options);
  if (result.index_bits == 0) {
    throw NotSupported(
        fmt::format("{} is no METIS 5 with numbers of 32 or 64 bits: it sets other options than {} to -1",
                    result.library, metis_option_count));
  }
  return result;
}

}  // namespace

int metis_index_bits(int (*set_default_options)(void* options)) {
  constexpr std::int64_t untouched = 0x5a5a5a5a5a5a5a5a;
  constexpr std::size_t half = metis_option_count / 2;
  std::array<std::int64_t, metis_option_count> options{};
  options.fill(untouched);
  static_cast<void>(set_default_options(options.data()));
  // All options are -1 by default.
  for (std::size_t k = 0; k < half; ++k) {
    if (options[k] != -1) return 0;
  }
  for (std::size_t k = half; k < options.size(); ++k) {
    if (options[k] != options[half]) return 0;
  }
  if (options[half] == -1) return 64;
  return options[half] == untouched ? 32 : 0;
}

const Metis& metis() {
  static const Metis loaded = load();
  return loaded;
}

}  // namespace detail

MetisSurvey survey_metis() {
  try {
    const detail::Metis& found = detail::metis();
    return {.library = found.library, .index_bits = found.index_bits, .problem = {}};
  } catch (const NotSupported& error) {
    return {.library = {}, .index_bits = 0, .problem = error.what()};
  }
}

}  // namespace tessera
