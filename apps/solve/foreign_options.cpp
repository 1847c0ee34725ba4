// Refusal of options that have no meaning in a run.
#include "foreign_options.hpp"

#include "errors.hpp"
#include "option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::cli {

void require_no_foreign(const Options& options, std::span<const ForeignOption> foreign, std::string_view where) {
  for (const ForeignOption& each : foreign) {
    if (!options.given(each.name)) continue;
    const std::vector<std::string> harmless = alternatives(each.harmless);
    const std::string text = options.text(each.name).value_or("");
    if (std::find(harmless.begin(), harmless.end(), text) != harmless.end()) continue;
    throw OptionError(std::string(each.name), fmt::format("option --{} does not apply to {}", each.name, where),
                      std::string(each.hint));
  }
}

}  // namespace tessera::cli
