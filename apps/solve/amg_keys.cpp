// Keys of --precond-opt for amg.
#include "precond_keys.hpp"

#include <array>

namespace tessera::cli {

namespace {

constexpr auto keys = std::to_array<PrecondKey>({
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

void set_coarsening(const KeyValue& given, const PrecondKey& key, PrecondSettings& settings) {
  constexpr int most = 1000;
  constexpr int many = 100;
  AmgOptions& amg = settings.amg;
  const std::string& name = given.name;
  if (name == "strength") amg.strength_threshold = number(given, key, [](double x) { return x >= 0.0 && x <= 1.0; });
  if (name == "coarsest-rows") amg.coarsest_rows = whole_number(given, key, 1, most);
  if (name == "max-levels") amg.max_levels = whole_number(given, key, 1, many);
  if (name == "near-nullspace") settings.near_nullspace_file = given.text;
  if (name == "coordinates") {
    settings.generated_coordinates = given.text == "generated";
    settings.coordinates_file = settings.generated_coordinates ? std::string() : given.text;
  }
  if (name == "prolongator-damping") {
    amg.prolongator_damping = number(given, key, [](double x) { return x >= 0.0 && x < 2.0; });
  }
  if (name == "power-steps") amg.power_steps = whole_number(given, key, 0, many);
}

void set_cycle(const KeyValue& given, const PrecondKey& key, AmgOptions& amg) {
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
  if (name == "damping") amg.smoother_damping = number(given, key, [](double x) { return x > 0.0 && x < 2.0; });
  if (name == "chebyshev-degree") amg.chebyshev_degree = whole_number(given, key, 1, most);
  if (name == "chebyshev-ratio") amg.chebyshev_ratio = number(given, key, [](double x) { return x > 1.0; });
  if (name == "sweeps") amg.sweeps = whole_number(given, key, 1, most);
  if (name == "precision") amg.precision = word(given, precisions);
  if (name == "check") amg.check = word(given, answers);
}

}  // namespace

std::span<const PrecondKey> amg_keys() { return keys; }

void set_amg_key(const KeyValue& given, PrecondSettings& settings) {
  const PrecondKey* key = find_key(keys, given.name);
  if (key == nullptr) return;
  set_coarsening(given, *key, settings);
  set_cycle(given, *key, settings.amg);
}

}  // namespace tessera::cli
