// Settings of a solve: method, preconditioner, stopping rules and the error gate.
#include "errors.hpp"
#include "least_squares.hpp"
#include "option_values.hpp"
#include "precond_settings.hpp"
#include "settings.hpp"

#include "tessera/mixed_precision.hpp"
#include "tessera/multiple_right_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

constexpr double unbounded = std::numeric_limits<double>::max();

/// "pagerank" gives automatic: it is a command of its own.
[[nodiscard]] Method method_setting(const Options& options) {
  const std::vector<std::string> words = option_words(*find_option("method"));
  const std::vector<std::string_view> choices(words.begin(), words.end());
  const std::string& chosen = words[choose(options, "method", choices)];
  for (const Method method : support::methods()) {
    if (to_string(method) == chosen) return method;
  }
  return Method::automatic;
}

/// An option of one method, typed with another one, would be ignored; ignored options are refused.
/// \param field of SolverOptions that it sets
void require_owner(const Options& options, std::string_view option, std::string_view field, Method wanted) {
  if (!options.typed(option) || wanted == Method::automatic) return;
  if (wanted.iterative() && method_info(*wanted.iterative()).owns(field)) return;
  const auto methods = iterative_methods();
  const auto owner = std::find_if(methods.begin(), methods.end(), [&](const auto& info) { return info.owns(field); });
  throw UsageError(fmt::format("option --{} does not apply to {}", option, support::to_string(wanted)),
                   fmt::format("it belongs to --method {}", owner->name));
}

/// λ of least squares. For other methods it would be another problem.
[[nodiscard]] double damping_setting(const Options& options, Method method) {
  const double damping = number_option(options, "damp", 0.0, unbounded);
  if (options.typed("damp") && method != Method::automatic && !support::is_least_squares(method)) {
    throw UsageError(fmt::format("option --damp does not apply to {}", support::to_string(method)),
                     "it belongs to --method lsmr and cgls");
  }
  return damping;
}

/// The bounds that the user knows; without them chebyshev looks for its own.
void take_spectrum(const Options& options, Method method, SolverOptions& solver) {
  require_owner(options, "spectrum", "spectrum_low", method);
  if (options.typed("spectrum") && method == Method::automatic) {
    throw UsageError("option --spectrum does not apply to --method auto", "it belongs to --method chebyshev");
  }
  const std::optional<std::string> text = options.text("spectrum");
  if (!text) return;
  const std::size_t comma = text->find(',');
  const auto low = parse_number(std::string_view(*text).substr(0, comma));
  const auto high = comma == std::string::npos ? low : parse_number(std::string_view(*text).substr(comma + 1));
  // To the library a zero says that an end is not known.
  if (comma == std::string::npos || !low || !high || *low <= 0.0 || *high < *low) {
    refuse_text("spectrum", *text, "LO,HI with 0 < LO <= HI");
  }
  solver.spectrum_low = *low;
  solver.spectrum_high = *high;
}

/// The ladder, and mixed precision, have M on the right.
void take_side(const Options& options, const RunSettings& settings, SolverOptions& solver) {
  require_owner(options, "precond-side", "side", settings.method);
  constexpr Choices<PreconditionerSide, 2> sides{
      {{"right", PreconditionerSide::right}, {"left", PreconditionerSide::left}}};
  solver.side = choice_option(options, "precond-side", sides);
  if (solver.side == PreconditionerSide::right) return;
  if (settings.method != Method::gmres || settings.precond.precond == Precond::automatic) {
    throw UsageError("--precond-side left needs a method and a preconditioner by name",
                     "--method gmres --precond jacobi, for instance");
  }
  if (settings.is_mixed) throw UsageError("--precond-side left does not apply to --precision mixed");
}

/// Method direct brings its own M.
void take_direct_factors(const Options& options, PrecondSettings& precond) {
  if (options.typed("precond") && precond.precond != Precond::automatic) {
    throw UsageError("option --precond does not apply to direct", "--method richardson iterates a preconditioner");
  }
  precond.precond = Precond::direct;
}

void require_mixable(Method method) {
  if (method == Method::automatic || (method.iterative() && has_mixed_precision(*method.iterative()))) return;
  throw UsageError(fmt::format("--precision mixed does not apply to {}", support::to_string(method)),
                   "--method cg, bicgstab, gmres or richardson, or --precision fp64");
}

/// Its factors are on the host.
void decide_for_host(MachineSettings& machine) {
  if (!machine.device.is_host()) {
    throw UsageError(fmt::format("method direct runs on the host, not on {}", machine.device.name()),
                     "--device host, or --method gmres --precond ilutp on the GPU");
  }
  if (!machine.device_undecided) return;
  machine.device_undecided = false;
  machine.device_reason = "method direct runs on the host";
}

/// Whether solvers fuse it.
[[nodiscard]] bool is_simple(Precond precond) { return precond == Precond::none || precond == Precond::jacobi; }

[[nodiscard]] std::optional<ErrorGate> error_gate_setting(const Options& options) {
  constexpr Choices<std::optional<ErrorGate>, 4> gates{
      {{"auto", std::nullopt}, {"off", ErrorGate::off}, {"warn", ErrorGate::warn}, {"repair", ErrorGate::repair}}};
  return choice_option(options, "error-gate", gates);
}

}  // namespace

SolverOptions solver_settings(const Options& options) {
  SolverOptions result;
  result.relative_tolerance = number_option(options, "rtol", 0.0, unbounded);
  result.absolute_tolerance = number_option(options, "atol", 0.0, unbounded);
  constexpr Choices<ResidualBase, 2> bases{{{"b", ResidualBase::b}, {"r0", ResidualBase::r0}}};
  result.base = choice_option(options, "norm-base", bases);
  result.max_iterations = count_option(options, "max-iters");
  result.time_limit_seconds = seconds_option(options, "max-time");
  result.divergence_tolerance = number_option(options, "dtol", 1.0, unbounded);
  result.stagnation_window = count_or_auto_option(options, "stagnation", 0);
  result.breakdown_restarts =
      static_cast<int>(count_option(options, "restart-on-breakdown", 0, std::numeric_limits<int>::max()));
  result.replacement_interval = count_or_auto_option(options, "replace-residual", 0);
  constexpr Choices<Shadow, 2> shadows{{{"r0", Shadow::r0}, {"random", Shadow::random}}};
  result.shadow = choice_option(options, "shadow", shadows);
  constexpr std::int64_t most_directions = 1000;
  result.restart = static_cast<int>(count_option(options, "restart", 1, most_directions));
  result.seed = static_cast<std::uint64_t>(count_option(options, "seed"));
  return result;
}

std::int64_t columns_at_once(const RunSettings& settings, Method method, std::int64_t rows, std::int64_t columns) {
  if (!method.iterative()) return 1;
  const int most = columns_together(*method.iterative(), rows, settings.solver, is_simple(settings.precond.precond));
  return std::min<std::int64_t>(columns, most);
}

std::uint64_t vector_bytes(const RunSettings& settings, Method method, std::int64_t rows, std::size_t element,
                           std::int64_t columns) {
  const bool simple = is_simple(settings.precond.precond);
  std::uint64_t vectors = support::vectors_of(method, rows, settings.solver, simple);
  if (columns > 1) {
    // Work vectors of a panel, or of one column at a time; all right-hand sides and solutions.
    const auto at_once = static_cast<std::uint64_t>(columns_at_once(settings, method, rows, columns));
    vectors = vectors * (at_once + 1) + 2 * static_cast<std::uint64_t>(columns);
  }
  const std::uint64_t bytes = vectors * static_cast<std::uint64_t>(rows) * element;
  if (!settings.is_mixed) return bytes;
  // Those of the method in both precisions, as a solve has that goes on in double, and what lies between.
  const std::uint64_t between = static_cast<std::uint64_t>(mixed_precision_vectors) * sizeof(double);
  return bytes + (vectors * sizeof(float) + between) * static_cast<std::uint64_t>(rows);
}

RunSettings run_settings(const Options& options) {
  RunSettings result;
  result.problem = problem_settings(options);
  result.output = output_settings(options);
  result.rhs = rhs_settings(options);
  result.rhs_given = options.given("rhs");
  result.x0 = x0_settings(options);
  result.method = method_setting(options);
  result.precond = precond_settings(options);
  if (result.method == Method::direct) take_direct_factors(options, result.precond);
  result.solver = solver_settings(options);
  take_spectrum(options, result.method, result.solver);
  result.damping = damping_setting(options, result.method);
  result.option_of_square_systems = option_of_square_systems(options);
  result.is_mixed = options.text("precision") == "mixed";
  if (result.is_mixed) require_mixable(result.method);
  take_side(options, result, result.solver);
  result.solver.keep_history = result.output.wants_history();
  result.solver.history_rows = result.output.history_rows();
  result.error_gate = error_gate_setting(options);
  result.machine = machine_settings(options);
  if (result.method == Method::direct) decide_for_host(result.machine);
  result.spmv = spmv_settings(options, result.machine);
  result.shadow_given = options.typed("shadow");
  result.restart_given = options.typed("restart");
  require_owner(options, "shadow", "shadow", result.method);
  require_owner(options, "restart", "restart", result.method);
  return result;
}

}  // namespace tessera::cli
