/// Names of incomplete factors.
#include "core/tolerance_text.hpp"
#include "tessera/incomplete_factors.hpp"

#include <fmt/format.h>

namespace tessera {

std::string factor_name(const IncompleteFactorOptions& options) {
  std::string name = options.blocks > 1 ? fmt::format("bjacobi:{}:", options.blocks) : std::string();
  name += to_string(options.kind);
  switch (options.kind) {
    case FactorKind::ilu0:
    case FactorKind::ic0:
      return name;
    case FactorKind::iluk:
      return name + fmt::format(":{}", options.level);
    case FactorKind::ilut:
    case FactorKind::ilutp:
    case FactorKind::ict:
      break;
  }
  return name + fmt::format(":{}:{}", detail::tolerance_text(options.drop_tolerance), options.max_row_entries);
}

}  // namespace tessera
