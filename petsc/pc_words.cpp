// Words of preconditioners.
#include "pc_words.hpp"

#include "tessera/error.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <type_traits>
#include <vector>

namespace tessera::petsc {

namespace {

constexpr std::string_view forms =
    "jacobi, ilu0, iluk:K, ilut:TAU:P, ilutp:TAU:P, ic0, ict:TAU:P, bjacobi:BLOCKS:SPEC, amg, fsai:K:TAU, spai:LEVEL, "
    "poly:DEG, neumann:K, direct";

/// The parts of a text between colons, taken in turn.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text), rest_(text) {}

  [[nodiscard]] std::optional<std::string_view> next() {
    if (!rest_) return std::nullopt;
    const std::size_t end = rest_->find(':');
    const std::string_view part = rest_->substr(0, end);
    rest_ = end == std::string_view::npos ? std::nullopt : std::optional(rest_->substr(end + 1));
    return part;
  }

  /// Takes the next parameter where there is one; the options check its range.
  template <class T>
  void read(T& value) {
    const auto part = next();
    if (!part) return;
    const auto [end, error] = std::from_chars(part->data(), part->data() + part->size(), value);
    if (error != std::errc{} || end != part->data() + part->size()) refuse();
  }

  [[nodiscard]] std::string_view rest() {
    const std::string_view all = rest_.value_or("ilu0");
    rest_.reset();
    return all;
  }

  [[nodiscard]] bool empty() const noexcept { return !rest_; }
  void finish() const {
    if (!empty()) refuse();
  }

  [[noreturn]] void refuse() const {
    throw InvalidArgument("-pc_tessera_type " + std::string(text_) + ": expected one of " + std::string(forms));
  }

 private:
  std::string_view text_;
  std::optional<std::string_view> rest_;
};

[[nodiscard]] std::optional<FactorKind> find_factors(std::string_view name) {
  using enum FactorKind;
  for (const FactorKind kind : {ilu0, iluk, ilut, ilutp, ic0, ict}) {
    if (name == to_string(kind)) return kind;
  }
  return std::nullopt;
}

void read_factors(FactorKind kind, Parts& parts, IncompleteFactorOptions& options) {
  options.kind = kind;
  if (kind == FactorKind::iluk) return parts.read(options.level);
  if (kind == FactorKind::ilu0 || kind == FactorKind::ic0) return;
  if (kind == FactorKind::ict) {
    options.drop_tolerance = 1e-2;
    options.max_row_entries = 10;
  }
  parts.read(options.drop_tolerance);
  parts.read(options.max_row_entries);
}

[[nodiscard]] PcChoice read_block_jacobi(Parts& parts) {
  IncompleteFactorOptions options;
  if (parts.empty()) parts.refuse();
  parts.read(options.blocks);
  Parts spec(parts.rest());
  const auto kind = find_factors(spec.next().value_or(""));
  if (!kind) parts.refuse();
  read_factors(*kind, spec, options);
  spec.finish();
  return options;
}

[[nodiscard]] PcChoice read_polynomial(std::string_view name, Parts& parts) {
  PolynomialOptions options;
  if (name == "neumann") {
    options.kind = PolynomialKind::neumann;
    options.degree = 3;
  }
  parts.read(options.degree);
  return options;
}

[[nodiscard]] std::optional<PcChoice> read_choice(std::string_view name, Parts& parts) {
  if (name == "jacobi") return Jacobi{};
  if (name == "amg") return AmgOptions{};
  if (name == "direct") return DirectOptions{};
  if (name == "bjacobi") return read_block_jacobi(parts);
  if (name == "poly" || name == "neumann") return read_polynomial(name, parts);
  if (name == "spai") {
    SpaiOptions options;
    parts.read(options.level);
    return options;
  }
  if (name == "fsai") {
    FsaiOptions options;
    parts.read(options.power);
    parts.read(options.filter);
    return options;
  }
  if (const auto kind = find_factors(name)) {
    IncompleteFactorOptions options;
    read_factors(*kind, parts, options);
    return options;
  }
  return std::nullopt;
}

}  // namespace

PcChoice parse_pc(std::string_view text) {
  Parts parts(text);
  const auto choice = read_choice(parts.next().value_or(""), parts);
  if (!choice) parts.refuse();
  parts.finish();
  return *choice;
}

std::string pc_name(const PcChoice& choice) {
  return std::visit(
      []<class Options>(const Options& options) -> std::string {
        if constexpr (std::is_same_v<Options, IncompleteFactorOptions>) return factor_name(options);
        if constexpr (std::is_same_v<Options, FsaiOptions>) return fsai_name(options);
        if constexpr (std::is_same_v<Options, SpaiOptions>) return spai_name(options);
        if constexpr (std::is_same_v<Options, PolynomialOptions>) return polynomial_name(options);
        if constexpr (std::is_same_v<Options, AmgOptions>) return "amg";
        if constexpr (std::is_same_v<Options, DirectOptions>) return "direct";
        return "jacobi";
      },
      choice);
}

std::unique_ptr<Preconditioner<PetscScalar>> make_pc(const PcChoice& choice, const CsrView<PetscScalar>& matrix,
                                                     const Device& host) {
  using Result = std::unique_ptr<Preconditioner<PetscScalar>>;
  using T = PetscScalar;
  return std::visit(
      [&]<class Options>(const Options& options) -> Result {
        if constexpr (std::is_same_v<Options, Jacobi>) {
          return std::make_unique<JacobiPreconditioner<T>>(matrix, host);
        } else if constexpr (std::is_same_v<Options, AmgOptions>) {
          return std::make_unique<Amg<T>>(matrix, options, host);
        } else if constexpr (std::is_same_v<Options, FsaiOptions>) {
          return std::make_unique<FsaiPreconditioner<T>>(matrix, options, host);
        } else if constexpr (std::is_same_v<Options, SpaiOptions>) {
          return std::make_unique<SpaiPreconditioner<T>>(matrix, options, host);
        } else if constexpr (std::is_same_v<Options, PolynomialOptions>) {
          return std::make_unique<PolynomialPreconditioner<T>>(matrix, options, host);
        } else if constexpr (std::is_same_v<Options, DirectOptions>) {
          return std::make_unique<DirectFactors<T>>(matrix, options);
        } else {
          return std::make_unique<IncompleteFactors<T>>(matrix, options, host);
        }
      },
      choice);
}

}  // namespace tessera::petsc
