#include "bench/preconditioner_options.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <vector>

namespace tessera::bench {

namespace {

double number_of(std::string_view key, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  throw InvalidArgument(fmt::format("{}: '{}' is not a number", key, text));
}

/// The enumerator with this name.
template <class Enum>
Enum named(std::string_view key, std::string_view text, std::initializer_list<Enum> all) {
  for (const Enum each : all) {
    if (to_string(each) == text) return each;
  }
  throw InvalidArgument(fmt::format("--amg {}: unknown value '{}'", key, text));
}

void set_amg_option(AmgOptions& options, std::string_view key, std::string_view text) {
  const auto number = [&] { return number_of(key, text); };
  const auto whole = [&] { return static_cast<int>(number_of(key, text)); };
  if (key == "theta") {
    options.strength_threshold = number();
  } else if (key == "coarsest-rows") {
    options.coarsest_rows = whole();
  } else if (key == "max-levels") {
    options.max_levels = whole();
  } else if (key == "block") {
    options.block_size = whole();
  } else if (key == "prolongator-damping") {
    options.prolongator_damping = number();
  } else if (key == "power-steps") {
    options.power_steps = whole();
  } else if (key == "cycle") {
    options.cycle = named(key, text, {AmgCycle::v, AmgCycle::w, AmgCycle::k});
  } else if (key == "smoother") {
    options.smoother =
        named(key, text, {AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev});
  } else if (key == "damping") {
    options.smoother_damping = number();
  } else if (key == "chebyshev-degree") {
    options.chebyshev_degree = whole();
  } else if (key == "chebyshev-ratio") {
    options.chebyshev_ratio = number();
  } else if (key == "sweeps") {
    options.sweeps = whole();
  } else if (key == "precision") {
    options.precision = named(key, text, {AmgPrecision::single, AmgPrecision::full});
  } else if (key == "check") {
    options.check = whole() != 0;
  } else {
    throw InvalidArgument(fmt::format("--amg: unknown key '{}'", key));
  }
}

}  // namespace

std::optional<PolynomialOptions> polynomial_of(const std::string& name) {
  PolynomialOptions options;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(':', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts[0] != "poly" && parts[0] != "neumann") return std::nullopt;
  if (parts[0] == "neumann") options.kind = PolynomialKind::neumann;
  if (parts.size() > 4 || (parts.size() > 2 && parts[2] != "explicit")) {
    throw InvalidArgument(fmt::format("--preconditioners: '{}' is not poly:DEG or neumann:K[:explicit[:TOL]]", name));
  }
  if (parts.size() > 1) options.degree = static_cast<int>(number_of(parts[0], parts[1]));
  options.explicit_matrix = parts.size() > 2;
  if (parts.size() > 3) options.drop_tolerance = number_of(parts[0], parts[3]);
  return options;
}

void set_amg_options(AmgOptions& options, std::span<const std::string> settings) {
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) throw InvalidArgument(fmt::format("--amg: '{}' is not KEY=VALUE", setting));
    set_amg_option(options, std::string_view(setting).substr(0, equals), std::string_view(setting).substr(equals + 1));
  }
}

}  // namespace tessera::bench
