// --precond, --precond-opt and --block.
#include "precond_settings.hpp"

#include "errors.hpp"
#include "option_values.hpp"

#include "core/nearest.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace tessera::cli {

namespace {

constexpr auto keys = std::to_array<AmgKey>({
    {"strength", "a number in [0, 1]", "0.25",
     "an entry is strong from this share of the smaller of the largest ones of its row and of its column"},
    {"coarsest-rows", "a whole number in [1, 1000]", "150", "a level of at most so many rows is solved directly"},
    {"max-levels", "a whole number in [1, 100]", "20", "limit on the levels"},
    {"near-nullspace", "a file", "",
     "vectors that A maps nearly to 0, as the columns of a Matrix Market array; default: constants"},
    {"coordinates", "a file or generated", "",
     "places of the nodes, a row each, of 2 or 3 columns: rigid-body modes for elasticity with --block 2 or 3; "
     "generated: those of the generated matrix"},
    {"prolongator-damping", "a number in [0, 2)", "1.3333333333333333",
     "the prolongator is smoothed with this over the spectral radius; 0: not at all"},
    {"power-steps", "a whole number in [0, 100]", "5", "of the estimate of spectral radii; 0: Gershgorin's bound"},
    {"cycle", "v, w or k", "v", "how often a cycle visits the coarser level: once, twice, by two steps of flexible CG"},
    {"smoother", "jacobi, l1-jacobi, spai0 or chebyshev", "jacobi", "smoother on all levels but a dense one"},
    {"damping", "a number in (0, 2)", "1.45", "of the smoother jacobi, over the spectral radius"},
    {"chebyshev-degree", "a whole number in [1, 8]", "2", "degree of the smoother chebyshev"},
    {"chebyshev-ratio", "a number > 1", "8", "largest over smallest eigenvalue that the smoother chebyshev damps"},
    {"sweeps", "a whole number in [1, 8]", "1", "of the smoother, before and after the coarser level"},
    {"precision", "single or full", "single", "element type of the cycle: fp32, or that of the matrix"},
    {"check", "yes or no", "yes", "apply the cycle to two random vectors: is it finite, is it symmetric"},
});

/// A key with its text.
struct KeyValue {
  std::string name;
  std::string text;
};

[[noreturn]] void refuse(const KeyValue& given, std::string_view expected) {
  throw OptionError("precond-opt",
                    fmt::format("option --precond-opt {}: expected {}, got \"{}\"", given.name, expected, given.text));
}

[[nodiscard]] std::string_view expected_by(const KeyValue& given) {
  return std::find_if(keys.begin(), keys.end(), [&](const AmgKey& key) { return key.name == given.name; })->value;
}

[[nodiscard]] int whole_number(const KeyValue& given, std::int64_t low, std::int64_t high) {
  const auto value = parse_count(given.text);
  if (!value || *value < low || *value > high) refuse(given, expected_by(given));
  return static_cast<int>(*value);
}

/// \param within whether a value lies in the range
template <class Within>
[[nodiscard]] double number(const KeyValue& given, const Within& within) {
  const auto value = parse_number(given.text);
  if (!value || !within(*value)) refuse(given, expected_by(given));
  return *value;
}

template <class T, std::size_t N>
[[nodiscard]] T word(const KeyValue& given, const Choices<T, N>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == given.text) return value;
  }
  std::vector<std::string_view> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  throw OptionError("precond-opt",
                    fmt::format("option --precond-opt {}: expected one of {}, got \"{}\"", given.name,
                                fmt::join(words, ", "), given.text),
                    did_you_mean(given.text, words));
}

void set_coarsening(const KeyValue& given, PrecondSettings& settings) {
  constexpr int most = 1000;
  constexpr int many = 100;
  AmgOptions& amg = settings.amg;
  const std::string& name = given.name;
  if (name == "strength") amg.strength_threshold = number(given, [](double x) { return x >= 0.0 && x <= 1.0; });
  if (name == "coarsest-rows") amg.coarsest_rows = whole_number(given, 1, most);
  if (name == "max-levels") amg.max_levels = whole_number(given, 1, many);
  if (name == "near-nullspace") settings.near_nullspace_file = given.text;
  if (name == "coordinates") {
    settings.generated_coordinates = given.text == "generated";
    settings.coordinates_file = settings.generated_coordinates ? std::string() : given.text;
  }
  if (name == "prolongator-damping") {
    amg.prolongator_damping = number(given, [](double x) { return x >= 0.0 && x < 2.0; });
  }
  if (name == "power-steps") amg.power_steps = whole_number(given, 0, many);
}

void set_cycle(const KeyValue& given, AmgOptions& amg) {
  constexpr Choices<AmgCycle, 3> cycles{{{"v", AmgCycle::v}, {"w", AmgCycle::w}, {"k", AmgCycle::k}}};
  constexpr Choices<AmgSmoother, 4> smoothers{{{"jacobi", AmgSmoother::jacobi},
                                               {"l1-jacobi", AmgSmoother::l1_jacobi},
                                               {"spai0", AmgSmoother::spai0},
                                               {"chebyshev", AmgSmoother::chebyshev}}};
  constexpr Choices<AmgPrecision, 2> precisions{{{"single", AmgPrecision::single}, {"full", AmgPrecision::full}}};
  constexpr Choices<bool, 2> answers{{{"yes", true}, {"no", false}}};
  constexpr int most = 8;
  const std::string& name = given.name;
  if (name == "cycle") amg.cycle = word(given, cycles);
  if (name == "smoother") amg.smoother = word(given, smoothers);
  if (name == "damping") amg.smoother_damping = number(given, [](double x) { return x > 0.0 && x < 2.0; });
  if (name == "chebyshev-degree") amg.chebyshev_degree = whole_number(given, 1, most);
  if (name == "chebyshev-ratio") amg.chebyshev_ratio = number(given, [](double x) { return x > 1.0; });
  if (name == "sweeps") amg.sweeps = whole_number(given, 1, most);
  if (name == "precision") amg.precision = word(given, precisions);
  if (name == "check") amg.check = word(given, answers);
}

void require_known(const KeyValue& given) {
  const std::vector<std::string_view> names = amg_key_names();
  if (std::find(names.begin(), names.end(), given.name) != names.end()) return;
  const std::string hint = given.name.starts_with("block") ? std::string("unknowns per node are --block N")
                                                           : did_you_mean(given.name, names);
  throw OptionError(
      "precond-opt",
      fmt::format("option --precond-opt: unknown key \"{}\" of amg: known are {}", given.name, fmt::join(names, ", ")),
      hint);
}

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

void set_amg(const Options& options, PrecondSettings& settings) {
  constexpr std::int64_t largest_block = 16;
  settings.amg.block_size = static_cast<int>(count_option(options, "block", 1, largest_block));
  const auto text = options.text("precond-opt");
  if (!text) return;
  std::vector<std::string> seen;
  for (const KeyValue& given : split(*text)) {
    require_known(given);
    if (std::find(seen.begin(), seen.end(), given.name) != seen.end()) {
      throw OptionError("precond-opt", fmt::format("option --precond-opt: {} is given twice", given.name));
    }
    seen.push_back(given.name);
    set_coarsening(given, settings);
    set_cycle(given, settings.amg);
  }
}

constexpr Choices<Precond, 4> preconds{
    {{"auto", Precond::automatic}, {"none", Precond::none}, {"jacobi", Precond::jacobi}, {"amg", Precond::amg}}};

/// Options of amg that this run does not use would be ignored; ignored options are refused.
void require_amg(const Options& options, const std::vector<PrecondSettings>& chosen) {
  const bool used = std::any_of(chosen.begin(), chosen.end(),
                                [](const PrecondSettings& each) { return each.precond == Precond::amg; });
  for (const std::string_view name : {"precond-opt", "block"}) {
    if (used || !options.typed(name)) continue;
    throw UsageError(fmt::format("option --{} belongs to --precond amg, not to --precond {}", name,
                                 support::to_string(chosen.front().precond)),
                     "add --precond amg");
  }
}

/// The values of a dense array of the Matrix Market, column after column.
[[nodiscard]] std::vector<double> read_columns(const std::string& path, std::int64_t rows, std::string_view what,
                                               const MachineSettings& machine, std::int64_t& columns) {
  ReadOptions options;
  options.device = machine.host;
  options.memory_limit_bytes = machine.memory_limit_bytes;
  const Csr<double> matrix = read_matrix_market<double>(path, options).matrix;
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
    throw UsageError(fmt::format("coordinates of amg: nodes have 2 or 3 unknowns, here {}", block),
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

std::span<const AmgKey> amg_keys() { return keys; }

std::vector<std::string_view> amg_key_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(keys));
  for (const AmgKey& key : keys) names.push_back(key.name);
  return names;
}

PrecondSettings precond_settings(const Options& options) {
  PrecondSettings result;
  result.precond = choice_option(options, "precond", preconds);
  set_amg(options, result);
  require_amg(options, {result});
  return result;
}

std::vector<PrecondSettings> precond_list(const Options& options) {
  if (!options.text("preconds")) return {precond_settings(options)};
  if (options.typed("precond")) throw UsageError("--precond and --preconds exclude each other");
  PrecondSettings common;
  set_amg(options, common);
  std::vector<std::string_view> known;
  for (const auto& [name, precond] : preconds) {
    if (precond != Precond::automatic) known.push_back(name);
  }
  std::vector<PrecondSettings> result;
  for (const std::string& name : parse_word_list("preconds", *options.text("preconds"), known)) {
    result.push_back(common);
    result.back().precond =
        std::find_if(preconds.begin(), preconds.end(), [&](const auto& each) { return each.first == name; })->second;
  }
  require_amg(options, result);
  return result;
}

support::PrecondRequest precond_request(const PrecondSettings& settings, const ProblemSettings& problem,
                                        std::int64_t rows, const MachineSettings& machine) {
  support::PrecondRequest request;
  request.precond = settings.precond;
  request.amg = settings.amg;
  request.memory_limit_bytes = machine.memory_limit_bytes;
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
