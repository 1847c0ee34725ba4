// Keys of --precond-opt for incomplete factors, and what all keys share.
#include "precond_keys.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tessera::cli {

namespace {

constexpr auto keys = std::to_array<PrecondKey>({
    {"scaling", "auto, none, ruiz or symmetric", "auto",
     "before the factorization; auto: symmetric for ic0 and ict, else that of the matching, else ruiz"},
    {"matching", "auto, none, scale or permute", "auto",
     "maximum-product matching of rows with columns, not of ic0 and ict; auto: of ilut and ilutp, its scaling, and its "
     "permutation where the diagonal needs it"},
    {"ordering", "natural, rcm or amd", "", "default: amd for ilut and ilutp, rcm for ic0 and ict, else natural"},
    {"pivot", "a number in [0, 1]", "0.1",
     "of ilutp: columns are exchanged where this times the entry exceeds the diagonal; 0: never"},
    {"shift", "a number in (0, 1]", "0.001",
     "of ic0 and ict: first shift after a bad pivot, relative to the diagonal; it doubles until all pivots are good"},
    {"fill-limit", "a number > 0", "20", "entries of the factors over those of A at which the set-up gives up"},
    {"solve", "auto, levels or sync-free", "auto",
     "triangular solves on a GPU: by levels, or each row as soon as its unknowns are known; auto: the faster one"},
});

constexpr std::array all_kinds{FactorKind::ilu0,  FactorKind::iluk, FactorKind::ilut,
                               FactorKind::ilutp, FactorKind::ic0,  FactorKind::ict};

void set_preparation(const KeyValue& given, IncompleteFactorOptions& options) {
  constexpr Choices<FactorScaling, 4> scalings{{{"auto", FactorScaling::automatic},
                                                {"none", FactorScaling::none},
                                                {"ruiz", FactorScaling::ruiz},
                                                {"symmetric", FactorScaling::symmetric}}};
  constexpr Choices<FactorMatching, 4> matchings{{{"auto", FactorMatching::automatic},
                                                  {"none", FactorMatching::none},
                                                  {"scale", FactorMatching::scale},
                                                  {"permute", FactorMatching::permute}}};
  constexpr Choices<Ordering, 3> orderings{
      {{"natural", Ordering::natural}, {"rcm", Ordering::rcm}, {"amd", Ordering::amd}}};
  if (given.name == "scaling") options.scaling = word(given, scalings);
  if (given.name == "matching") options.matching = word(given, matchings);
  if (given.name == "ordering") options.ordering = word(given, orderings);
}

void set_factorization(const KeyValue& given, const PrecondKey& key, IncompleteFactorOptions& options) {
  constexpr Choices<TriangularSolve, 3> solves{{{"auto", TriangularSolve::automatic},
                                                {"levels", TriangularSolve::levels},
                                                {"sync-free", TriangularSolve::sync_free}}};
  if (given.name == "pivot") {
    options.pivot_tolerance = number(given, key, [](double x) { return x >= 0.0 && x <= 1.0; });
  }
  if (given.name == "shift") {
    options.smallest_shift = number(given, key, [](double x) { return x > 0.0 && x <= 1.0; });
  }
  if (given.name == "fill-limit") options.fill_limit = number(given, key, [](double x) { return x > 0.0; });
  if (given.name == "solve") options.solve = word(given, solves);
}

}  // namespace

std::span<const PrecondKey> factor_keys() { return keys; }

void set_factor_key(const KeyValue& given, IncompleteFactorOptions& options) {
  const PrecondKey* key = find_key(keys, given.name);
  if (key == nullptr) return;
  set_preparation(given, options);
  set_factorization(given, *key, options);
}

bool uses_key(FactorKind kind, std::string_view name) {
  const bool cholesky = kind == FactorKind::ic0 || kind == FactorKind::ict;
  if (find_key(keys, name) == nullptr) return false;
  if (name == "pivot") return kind == FactorKind::ilutp;
  if (name == "shift") return cholesky;
  return name != "matching" || !cholesky;
}

std::string users_of(std::string_view factor_key) {
  std::vector<std::string_view> users;
  for (const FactorKind kind : all_kinds) {
    if (uses_key(kind, factor_key)) users.push_back(to_string(kind));
  }
  if (users.size() == 1) return std::string(users.front());
  const std::string_view last = users.back();
  users.pop_back();
  return fmt::format("{} or {}", fmt::join(users, ", "), last);
}

const PrecondKey* find_key(std::span<const PrecondKey> among, std::string_view name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const PrecondKey& key) { return key.name == name; });
  return found == among.end() ? nullptr : &*found;
}

void refuse_value(const KeyValue& given, std::string_view expected) {
  throw OptionError("precond-opt",
                    fmt::format("option --precond-opt {}: expected {}, got \"{}\"", given.name, expected, given.text));
}

int whole_number(const KeyValue& given, const PrecondKey& key, std::int64_t low, std::int64_t high) {
  const auto value = parse_count(given.text);
  if (!value || *value < low || *value > high) refuse_value(given, key.value);
  return static_cast<int>(*value);
}

}  // namespace tessera::cli
