#include "bench/solver_problems.hpp"

#include "bench/uneven_scaling.hpp"
#include "bench/zoo.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace tessera::bench {

namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

/// In the place of names: files alone.
constexpr std::string_view no_names = "none";

const Names& real_systems() {
  static const Names names{"G3_circuit_lead400k", "Andrews", "bcsstk16", "memplus", "add32", "sherman1", "orsirr_1"};
  return names;
}

const Names& real_graphs() {
  static const Names names{"cnr-2000", "ego-Twitter", "email-Enron", "luxembourg_osm"};
  return names;
}

/// A model problem under a short name, with the values that make it a system to solve.
struct ModelProblem {
  std::string_view name;
  std::string_view family;
  std::int64_t side;
  int dimensions;
  int points;  ///< of the stencil; 0: the family's own
};

constexpr std::array<ModelProblem, 3> model_problems{
    {{"lap2d", "poisson2d", 5000, 2, 0}, {"fem3d", "poisson3d", 140, 3, 27}, {"convdiff3d", "convdiff", 200, 3, 0}}};

GeneratorSpec spec_of(const std::string& name, double scale) {
  for (const ModelProblem& model : model_problems) {
    if (model.name != name) continue;
    const double side = static_cast<double>(model.side) * std::pow(scale, 1.0 / model.dimensions);
    GeneratorSpec spec{std::string(model.family), std::max<std::int64_t>(2, std::llround(side))};
    if (model.points != 0) spec.parameters["points"] = model.points;
    return spec;
  }
  return parse_generator(name);
}

/// "lap2d:uneven" is lap2d scaled unevenly.
SolverProblem system_of(const std::string& name, double scale) {
  constexpr std::string_view suffix = ":uneven";
  const bool is_uneven = name.ends_with(suffix);
  const GeneratorSpec spec = spec_of(is_uneven ? name.substr(0, name.size() - suffix.size()) : name, scale);
  return {name, [spec, is_uneven] {
            Csr<double> matrix = generate<double>(spec, ValueStorage::weighted);
            return is_uneven ? scaled_unevenly(matrix) : std::move(matrix);
          }};
}

/// A zoo family at its full size times the scale, any other text as it says.
GeneratorSpec graph_spec_of(const std::string& name, double scale) {
  GeneratorSpec spec = parse_generator(name);
  if (spec.size || !spec.parameters.empty()) return spec;
  for (const GeneratorFamily& family : generator_families()) {
    if (family.name != name) continue;
    spec.size = std::max<std::int64_t>(64, std::llround(scale * static_cast<double>(family.default_size)));
  }
  return spec;
}

/// "bcsstk16" from ".../bcsstk16.mtx.gz".
std::string name_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

/// The files that were named, else those of these names in the folder TESSERA_TEST_DATA.
std::vector<fs::path> files_of(const SolverBenchSettings& settings, const Names& names) {
  std::vector<fs::path> files;
  if (!settings.files.empty()) return {settings.files.begin(), settings.files.end()};
  const char* const folder = std::getenv("TESSERA_TEST_DATA");
  if (folder == nullptr || *folder == '\0') return files;
  for (const std::string& name : names) {
    const fs::path file = fs::path(folder) / (name + ".mtx.gz");
    if (fs::exists(file)) files.push_back(file);
  }
  return files;
}

/// Problems were named, files were not.
bool names_only(const Names& names, const SolverBenchSettings& settings) {
  return !names.empty() && names.front() != no_names && settings.files.empty();
}

/// Every stored value 1.
Csr<double> with_ones(const Csr<double>& matrix) {
  const Device host;
  Array<double> ones(matrix.nnz(), Init::none);
  std::fill(ones.begin(), ones.end(), 1.0);
  return {matrix.rows(),   matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host),
          std::move(ones), Check::trusted};
}

Csr<double> read(const fs::path& file) {
  Csr<double> matrix = read_matrix_market<double>(file).matrix;
  return matrix.is_pattern() ? with_ones(matrix) : std::move(matrix);
}

std::vector<SolverProblem> systems(const SolverBenchSettings& settings, const Names& standard) {
  std::vector<SolverProblem> problems;
  for (const std::string& name : settings.problems.empty() ? standard : settings.problems) {
    if (name == no_names) continue;
    problems.push_back(system_of(name, settings.scale));
  }
  if (names_only(settings.problems, settings)) return problems;
  for (const fs::path& file : files_of(settings, real_systems())) {
    problems.push_back({name_of(file), [file] { return read(file); }});
  }
  return problems;
}

}  // namespace

std::vector<SolverProblem> iteration_problems(const SolverBenchSettings& settings) {
  return systems(settings, {"lap2d", "fem3d", "convdiff3d", "poisson2d:300", "poisson2d:100", "poisson2d:50"});
}

std::vector<SolverProblem> tolerance_problems(const SolverBenchSettings& settings) {
  return systems(settings, {"poisson2d:1000", "fem3d", "convdiff3d", "poisson2d:300", "poisson2d:100", "poisson2d:50"});
}

std::vector<SolverProblem> ones_problems(const SolverBenchSettings& settings) {
  Names names = real_systems();
  names.insert(names.end(), {"email-Enron", "luxembourg_osm"});
  std::vector<SolverProblem> problems;
  for (const fs::path& file : files_of(settings, names)) {
    problems.push_back({name_of(file), [file] { return with_ones(read_matrix_market<double>(file).matrix); }});
  }
  return problems;
}

std::vector<SolverProblem> graph_problems(const SolverBenchSettings& settings) {
  std::vector<SolverProblem> problems;
  for (const std::string& name : settings.graphs.empty() ? zoo_families() : settings.graphs) {
    if (name == no_names) continue;
    const GeneratorSpec spec = graph_spec_of(name, settings.scale);
    problems.push_back({name, [spec] { return generate<double>(spec, ValueStorage::pattern); }});
  }
  if (names_only(settings.graphs, settings)) return problems;
  for (const fs::path& file : files_of(settings, real_graphs())) {
    problems.push_back({name_of(file), [file] { return pattern_of<double>(read_matrix_market<double>(file).matrix); }});
  }
  return problems;
}

}  // namespace tessera::bench
