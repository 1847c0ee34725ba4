// Reading of preconditioners with their parameters.
#include "precond_spec.hpp"

#include "errors.hpp"
#include "option_values.hpp"

#include "support/factor_precond.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace tessera::cli {

namespace {

constexpr std::string_view polynomial_parameters =
    "a whole number in [1, 64]; then explicit, a drop tolerance >= 0, and a limit on entries per row >= 1";

constexpr auto forms = std::to_array<PrecondForm>({
    {"none", "none", "", "the identity", false},
    {"jacobi", "jacobi", "", "the inverse of the diagonal", false},
    {"spai", "spai:LEVEL", "LEVEL 0 or 1",
     "sparse approximate inverse by least squares per row: diagonal, or with the positions of A (default 1)", false},
    {"fsai", "fsai:K:TAU", "K a whole number in [1, 3], TAU a number in [0, 1]",
     "factorized sparse approximate inverse with the positions of A^K without entries below TAU of the diagonal, for "
     "symmetric positive definite matrices (default 2:0.1)",
     false},
    {"amg", "amg", "", "algebraic multigrid by smoothed aggregation", false},
    {"poly", "poly:DEG", polynomial_parameters,
     "Chebyshev polynomial in D^-1 A by DEG - 1 products with A (default 4); poly:DEG,explicit,TOL: as a sparse matrix "
     "without its small entries (default 1e-3)",
     false},
    {"neumann", "neumann:K", polynomial_parameters,
     "Neumann series of D^-1 A by K products with A (default 3); neumann:K,explicit,TOL as for poly", false},
    {"ilu0", "ilu0", "", "incomplete LU factors with the positions of A"},
    {"iluk", "iluk:K", "K a whole number in [0, 100]",
     "incomplete LU factors with fill of level K at most (default 1)"},
    {"ilut", "ilut:TAU,P", "TAU a number >= 0, P a whole number >= 1",
     "incomplete LU factors without entries below TAU times their row, at most P per row of each (default 1e-4,50)"},
    {"ilutp", "ilutp:TAU,P", "TAU a number >= 0, P a whole number >= 1",
     "the same with column pivoting (default 1e-4,50)"},
    {"ic0", "ic0", "", "incomplete Cholesky factor with the positions of A, for symmetric positive definite matrices"},
    {"ict", "ict:TAU,P", "TAU a number >= 0, P a whole number >= 1",
     "incomplete Cholesky factor with threshold and count as ilut (default 1e-2,10)"},
    {"bjacobi", "bjacobi:BLOCKS:SPEC", "BLOCKS a whole number >= 1, SPEC incomplete factors",
     "block Jacobi: factors of so many diagonal blocks of consecutive rows, each by SPEC (default ilu0)"},
});

constexpr Choices<Precond, 4> plain{
    {{"auto", Precond::automatic}, {"none", Precond::none}, {"jacobi", Precond::jacobi}, {"amg", Precond::amg}}};

constexpr Choices<FactorKind, 6> kinds{{{"ilu0", FactorKind::ilu0},
                                        {"iluk", FactorKind::iluk},
                                        {"ilut", FactorKind::ilut},
                                        {"ilutp", FactorKind::ilutp},
                                        {"ic0", FactorKind::ic0},
                                        {"ict", FactorKind::ict}}};

/// A text that is being read, for messages.
struct SpecText {
  std::string_view option;
  std::string_view whole;
};

[[nodiscard]] const PrecondForm& form_of(std::string_view name) {
  return *std::find_if(forms.begin(), forms.end(), [&](const PrecondForm& form) { return form.name == name; });
}

[[noreturn]] void refuse_form(const SpecText& text, std::string_view name) {
  const PrecondForm& form = form_of(name);
  const std::string expected = form.parameters.empty() ? fmt::format("{}, which takes no parameters", form.form)
                                                       : fmt::format("{} with {}", form.form, form.parameters);
  refuse_text(text.option, text.whole, expected);
}

/// Parts between the separators; a text without any is one part, an empty text none.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    // What ends with a separator has an empty last part.
    if (end + 1 == text.size()) parts.emplace_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class T, std::size_t N>
[[nodiscard]] std::optional<T> find_word(const Choices<T, N>& choices, std::string_view name) {
  for (const auto& [word, value] : choices) {
    if (word == name) return value;
  }
  return std::nullopt;
}

/// The whole number of a part in [low, high]; refuses anything else.
[[nodiscard]] std::int64_t count_of(const SpecText& text, std::string_view name, std::string_view part,
                                    std::int64_t low, std::int64_t high) {
  const auto value = parse_count(part);
  if (!value || *value < low || *value > high) refuse_form(text, name);
  return *value;
}

/// "ilut" and what follows its colon.
void read_factors(const SpecText& text, std::string_view spec, IncompleteFactorOptions& options) {
  constexpr std::int64_t most_levels = 100;
  constexpr std::int64_t most_entries = std::numeric_limits<index_t>::max();
  constexpr double ict_tolerance = 1e-2;
  constexpr std::int64_t ict_entries = 10;
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto kind = find_word(kinds, name);
  if (!kind) refuse_form(text, "bjacobi");
  options.kind = *kind;
  const bool opened = name.size() < spec.size();
  const std::vector<std::string_view> parts =
      opened ? split(spec.substr(name.size() + 1), ":,") : std::vector<std::string_view>{};
  if (opened && parts.empty()) refuse_form(text, name);
  const bool plain_kind = *kind == FactorKind::ilu0 || *kind == FactorKind::ic0;
  const std::size_t most_parts = plain_kind ? 0 : (*kind == FactorKind::iluk ? 1 : 2);
  if (parts.size() > most_parts) refuse_form(text, name);
  if (*kind == FactorKind::iluk) {
    if (!parts.empty()) options.level = static_cast<int>(count_of(text, name, parts[0], 0, most_levels));
    return;
  }
  if (*kind == FactorKind::ict) {
    options.drop_tolerance = ict_tolerance;
    options.max_row_entries = ict_entries;
  }
  if (!parts.empty()) {
    const auto tolerance = parse_number(parts[0]);
    if (!tolerance || *tolerance < 0.0) refuse_form(text, name);
    options.drop_tolerance = *tolerance;
  }
  if (parts.size() > 1) options.max_row_entries = count_of(text, name, parts[1], 1, most_entries);
}

/// What follows "poly" or "neumann".
void read_polynomial(const SpecText& text, std::string_view name, std::string_view spec, PolynomialOptions& options) {
  constexpr int neumann_degree = 3;
  constexpr std::int64_t most_degree = 64;
  constexpr std::int64_t most_entries = std::numeric_limits<index_t>::max();
  if (name == "neumann") {
    options.kind = PolynomialKind::neumann;
    options.degree = neumann_degree;
  }
  if (spec.empty()) return;
  const std::vector<std::string_view> parts = split(spec.substr(1), ":,");
  if (parts.empty() || parts.size() > 4) refuse_form(text, name);
  options.degree = static_cast<int>(count_of(text, name, parts[0], 1, most_degree));
  if (parts.size() == 1) return;
  if (parts[1] != "explicit") refuse_form(text, name);
  options.explicit_matrix = true;
  if (parts.size() > 2) {
    const auto tolerance = parse_number(parts[2]);
    if (!tolerance || *tolerance < 0.0) refuse_form(text, name);
    options.drop_tolerance = *tolerance;
  }
  if (parts.size() > 3) options.max_row_entries = static_cast<index_t>(count_of(text, name, parts[3], 1, most_entries));
}

void read_block_jacobi(const SpecText& text, std::string_view parameters, IncompleteFactorOptions& options) {
  constexpr std::int64_t most_blocks = std::numeric_limits<index_t>::max();
  const std::string_view blocks = parameters.substr(0, parameters.find(':'));
  options.blocks = static_cast<index_t>(count_of(text, "bjacobi", blocks, 1, most_blocks));
  const bool named = blocks.size() < parameters.size();
  read_factors(text, named ? parameters.substr(blocks.size() + 1) : std::string_view("ilu0"), options);
}

/// What follows "fsai" or "spai".
void read_inverse(const SpecText& text, std::string_view name, PrecondSettings& result) {
  const bool opened = name.size() < text.whole.size();
  const std::vector<std::string_view> parts =
      opened ? split(text.whole.substr(name.size() + 1), ":,") : std::vector<std::string_view>{};
  const bool is_fsai = name == "fsai";
  if ((opened && parts.empty()) || parts.size() > (is_fsai ? 2U : 1U)) refuse_form(text, name);
  result.precond = is_fsai ? Precond::fsai : Precond::spai;
  if (parts.empty()) return;
  if (!is_fsai) {
    result.spai.level = static_cast<int>(count_of(text, name, parts[0], 0, 1));
    return;
  }
  result.fsai.power = static_cast<int>(count_of(text, name, parts[0], 1, 3));
  if (parts.size() == 1) return;
  const auto filter = parse_number(parts[1]);
  if (!filter || *filter < 0.0 || *filter > 1.0) refuse_form(text, name);
  result.fsai.filter = *filter;
}

[[noreturn]] void refuse_name(const SpecText& text, std::string_view name) {
  const std::vector<std::string_view> known = precond_words();
  const std::string list = fmt::format("{}", fmt::join(known, ", "));
  refuse_planned_value(text.option, text.whole, list);
  std::vector<std::string_view> names{"auto"};
  for (const PrecondForm& form : forms) names.push_back(form.name);
  throw OptionError(std::string(text.option),
                    fmt::format("option --{}: expected one of {}, got \"{}\"", text.option, list, text.whole),
                    did_you_mean(name, names));
}

}  // namespace

std::span<const PrecondForm> precond_forms() { return forms; }

std::vector<std::string_view> precond_words() {
  std::vector<std::string_view> words{"auto"};
  for (const PrecondForm& form : forms) words.push_back(form.form);
  return words;
}

void read_precond(std::string_view option, std::string_view text, PrecondSettings& result) {
  const SpecText whole{option, text};
  const std::string_view name = text.substr(0, text.find(':'));
  if (const auto precond = find_word(plain, name)) {
    if (name != text) refuse_text(option, text, fmt::format("{}, which takes no parameters", name));
    result.precond = *precond;
    return;
  }
  if (name == "fsai" || name == "spai") return read_inverse(whole, name, result);
  if (name == "poly" || name == "neumann") {
    result.precond = Precond::polynomial;
    return read_polynomial(whole, name, text.substr(name.size()), result.polynomial);
  }
  result.precond = Precond::factors;
  if (find_word(kinds, name)) return read_factors(whole, text, result.factors);
  if (name != "bjacobi") refuse_name(whole, name);
  if (name == text) refuse_form(whole, name);
  read_block_jacobi(whole, text.substr(name.size() + 1), result.factors);
}

std::vector<PrecondSettings> read_precond_list(std::string_view text) {
  std::vector<PrecondSettings> result;
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (parse_number(word) || word == "explicit") {
      throw UsageError(fmt::format("option --preconds: commas separate preconditioners, so \"{}\" is one", word),
                       "parameters follow colons here: ilut:1e-3:20");
    }
    PrecondSettings each;
    read_precond("preconds", word, each);
    if (each.precond == Precond::automatic) {
      throw UsageError("option --preconds: auto is not compared; name the preconditioners");
    }
    support::PrecondRequest request;
    request.precond = each.precond;
    request.factors = each.factors;
    request.fsai = each.fsai;
    request.spai = each.spai;
    request.polynomial = each.polynomial;
    std::string name = support::name_of(request);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw UsageError(fmt::format("option --preconds: {} is given twice", name));
    }
    names.push_back(std::move(name));
    result.push_back(std::move(each));
  }
  return result;
}

}  // namespace tessera::cli
