// --precond, --precond-opt and --block.
#include "precond_settings.hpp"

#include "errors.hpp"
#include "option_values.hpp"
#include "precond_keys.hpp"
#include "precond_spec.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_file.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// "strength=0.1,coordinates=a,b.mtx" taken apart: a part without an equals sign belongs to the value before it.
[[nodiscard]] std::vector<KeyValue> split(std::string_view text) {
  std::vector<KeyValue> result;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      result.push_back({std::string(part.substr(0, equals)), std::string(part.substr(equals + 1))});
    } else if (!result.empty()) {
      result.back().text += fmt::format(",{}", part);
    } else {
      throw OptionError("precond-opt", fmt::format("option --precond-opt: expected KEY=VALUE, got \"{}\"", part));
    }
  }
  return result;
}

/// Name of a preconditioner in messages: without parameters.
[[nodiscard]] std::string_view name_of(const PrecondSettings& settings) {
  switch (settings.precond) {
    case Precond::factors:
      return to_string(settings.factors.kind);
    case Precond::polynomial:
      return to_string(settings.polynomial.kind);
    case Precond::none:
      return "none";
    case Precond::jacobi:
      return "jacobi";
    case Precond::amg:
      return "amg";
    case Precond::fsai:
      return "fsai";
    case Precond::spai:
      return "spai";
    case Precond::automatic:
    case Precond::direct:
      break;
  }
  return "auto";
}

[[nodiscard]] bool uses_key(const PrecondSettings& settings, std::string_view name) {
  if (settings.precond == Precond::factors) return cli::uses_key(settings.factors.kind, name);
  return settings.precond == Precond::amg && find_key(amg_keys(), name) != nullptr;
}

using Chosen = std::vector<PrecondSettings>;

/// The keys that one of the chosen preconditioners uses.
[[nodiscard]] std::vector<std::string_view> used_keys(const Chosen& chosen) {
  std::vector<std::string_view> names;
  for (const auto& keys : {amg_keys(), factor_keys()}) {
    for (const PrecondKey& key : keys) {
      const bool used =
          std::any_of(chosen.begin(), chosen.end(), [&](const auto& each) { return uses_key(each, key.name); });
      if (used) names.push_back(key.name);
    }
  }
  return names;
}

[[nodiscard]] std::vector<std::string_view> all_keys() {
  std::vector<std::string_view> names;
  for (const auto& keys : {amg_keys(), factor_keys()}) {
    for (const PrecondKey& key : keys) names.push_back(key.name);
  }
  return names;
}

[[nodiscard]] std::string names_of(const Chosen& chosen) {
  std::vector<std::string_view> names;
  for (const PrecondSettings& each : chosen) {
    if (std::find(names.begin(), names.end(), name_of(each)) == names.end()) names.push_back(name_of(each));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_known(const KeyValue& given, const Chosen& chosen) {
  if (find_key(amg_keys(), given.name) != nullptr || find_key(factor_keys(), given.name) != nullptr) return;
  std::vector<std::string_view> names = used_keys(chosen);
  if (names.empty()) names = all_keys();
  const std::string hint = given.name.starts_with("block") ? std::string("unknowns per node of amg are --block N")
                                                           : did_you_mean(given.name, names);
  throw OptionError("precond-opt",
                    fmt::format("option --precond-opt: unknown key \"{}\" of {}: known are {}", given.name,
                                names_of(chosen), fmt::join(names, ", ")),
                    hint);
}

/// A typed key that no chosen preconditioner uses would be ignored; ignored options are refused.
void require_used(const Options& options, const KeyValue& given, const Chosen& chosen) {
  if (!options.typed("precond-opt")) return;
  if (std::any_of(chosen.begin(), chosen.end(), [&](const auto& each) { return uses_key(each, given.name); })) return;
  const bool of_amg = find_key(amg_keys(), given.name) != nullptr;
  const std::string owner = of_amg ? std::string("amg") : users_of(given.name);
  const std::string near = did_you_mean(given.name, used_keys(chosen));
  const std::string add = fmt::format("add --precond {}", of_amg ? "amg" : owner.substr(0, owner.find_first_of(", ")));
  throw UsageError(fmt::format("option --precond-opt {} belongs to --precond {}, not to --precond {}", given.name,
                               owner, names_of(chosen)),
                   near.empty() ? add : near);
}

/// What --precond-opt and --block say, for the preconditioners that use it.
void set_parameters(const Options& options, Chosen& chosen) {
  constexpr std::int64_t largest_block = 16;
  const auto block = static_cast<int>(count_or_auto_option(options, "block", 0, largest_block));
  for (PrecondSettings& each : chosen) each.amg.block_size = block;
  const bool amg = std::any_of(chosen.begin(), chosen.end(),
                               [](const PrecondSettings& each) { return each.precond == Precond::amg; });
  if (!amg && block != 0 && options.typed("block")) {
    throw UsageError(fmt::format("option --block belongs to --precond amg, not to --precond {}", names_of(chosen)),
                     "add --precond amg");
  }
  const auto text = options.text("precond-opt");
  if (!text) return;
  std::vector<std::string> seen;
  for (const KeyValue& given : split(*text)) {
    require_known(given, chosen);
    if (std::find(seen.begin(), seen.end(), given.name) != seen.end()) {
      throw OptionError("precond-opt", fmt::format("option --precond-opt: {} is given twice", given.name));
    }
    seen.push_back(given.name);
    require_used(options, given, chosen);
    for (PrecondSettings& each : chosen) {
      set_amg_key(given, each);
      // Those of other kinds keep their defaults: an option out of place would be refused by the library.
      const bool used = each.precond == Precond::factors && uses_key(each, given.name);
      IncompleteFactorOptions unused = each.factors;
      set_factor_key(given, used ? each.factors : unused);
    }
  }
}

/// The values of a dense array of the Matrix Market, column after column.
[[nodiscard]] std::vector<double> read_columns(const std::string& path, std::int64_t rows, std::string_view what,
                                               const MachineSettings& machine, std::int64_t& columns) {
  ReadOptions options;
  options.device = machine.host;
  options.memory_limit_bytes = machine.host_limit_bytes();
  const Csr<double> matrix = read_matrix<double>(path, options).matrix;
  if (matrix.rows() != rows) {
    throw DimensionError(fmt::format("{} of amg {}: {} rows, expected {}", what, path, matrix.rows(), rows));
  }
  columns = matrix.cols();
  std::vector<double> dense(static_cast<std::size_t>(rows * columns));
  const CsrView<double> view = matrix.view();
  const offset_t* offsets = view.row_offsets.data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (offset_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int64_t j = view.columns.data()[k];
      dense[static_cast<std::size_t>(j * rows + i)] = view.value(k);
    }
  }
  return dense;
}

/// Node after node instead of column after column.
[[nodiscard]] std::vector<double> read_coordinates(const PrecondSettings& settings, std::int64_t rows,
                                                   const MachineSettings& machine) {
  const std::int64_t block = settings.amg.block_size;
  if (block != 2 && block != 3) {
    throw UsageError(fmt::format("coordinates of amg: nodes have 2 or 3 unknowns, but --block is {}",
                                 block == 0 ? std::string("auto") : std::to_string(block)),
                     "--block 3 for elasticity in space");
  }
  if (rows % block != 0) {
    throw DimensionError(fmt::format("--block {}: the matrix has {} rows, no multiple of it", block, rows));
  }
  const std::int64_t nodes = rows / block;
  std::int64_t columns = 0;
  const std::vector<double> dense = read_columns(settings.coordinates_file, nodes, "coordinates", machine, columns);
  if (columns != block) {
    throw DimensionError(fmt::format("coordinates of amg {}: {} columns, but nodes have {} unknowns (--block)",
                                     settings.coordinates_file, columns, block));
  }
  std::vector<double> result(dense.size());
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t j = 0; j < block; ++j) {
      result[static_cast<std::size_t>(node * block + j)] = dense[static_cast<std::size_t>(j * nodes + node)];
    }
  }
  return result;
}

/// \throws UsageError for a file, and a family without coordinates
[[nodiscard]] std::vector<double> coordinates_of(const ProblemSettings& problem) {
  if (problem.source == Source::file) {
    throw UsageError("coordinates=generated of amg: the matrix is a file", "coordinates=FILE reads them");
  }
  return generator_coordinates(problem.generator);
}

}  // namespace

PrecondSettings precond_settings(const Options& options) {
  Chosen chosen(1);
  read_precond("precond", options.text("precond").value_or("auto"), chosen.front());
  set_parameters(options, chosen);
  return std::move(chosen.front());
}

std::vector<PrecondSettings> precond_list(const Options& options) {
  const auto text = options.text("preconds");
  if (!text) return {precond_settings(options)};
  if (options.typed("precond")) throw UsageError("--precond and --preconds exclude each other");
  Chosen chosen = read_precond_list(*text);
  set_parameters(options, chosen);
  return chosen;
}

support::PrecondRequest precond_request(const PrecondSettings& settings, const ProblemSettings& problem,
                                        std::int64_t rows, const MachineSettings& machine) {
  support::PrecondRequest request;
  request.precond = settings.precond;
  request.amg = settings.amg;
  request.factors = settings.factors;
  request.polynomial = settings.polynomial;
  request.memory_limit_bytes = machine.memory_limit_bytes;
  request.fsai = settings.fsai;
  request.spai = settings.spai;
  if (settings.precond != Precond::amg) return request;
  if (settings.generated_coordinates) request.amg.coordinates = coordinates_of(problem);
  if (!settings.coordinates_file.empty()) request.amg.coordinates = read_coordinates(settings, rows, machine);
  if (!settings.near_nullspace_file.empty()) {
    std::int64_t columns = 0;
    request.amg.near_nullspace = read_columns(settings.near_nullspace_file, rows, "near-nullspace", machine, columns);
  }
  return request;
}

}  // namespace tessera::cli
