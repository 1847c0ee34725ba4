#include "bench/preconditioner_measure.hpp"

#include "bench/preconditioner_options.hpp"
#include "bench/stencil_problems.hpp"
#include "core/stopwatch.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/incomplete_factors.hpp"

#include <algorithm>
#include <optional>

namespace tessera::bench {

namespace {

/// n numbers in [-1/2, 1/2).
std::vector<double> scattered(std::int64_t n) {
  std::vector<double> x;
  x.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(static_cast<double>(static_cast<std::uint32_t>(i) * 2654435761U >> 8) * 0x1p-24 - 0.5);
  }
  return x;
}

Json json_of(const AmgInfo& info) {
  Json levels = Json::array();
  for (const AmgLevelInfo& level : info.levels) {
    levels.push_back({{"rows", level.rows},
                      {"nnz", level.nnz},
                      {"strong", level.strong},
                      {"aggregates", level.aggregates},
                      {"rounds", level.rounds},
                      {"spectral_radius", level.spectral_radius},
                      {"layout", level.layout},
                      {"bytes", level.bytes}});
  }
  const AmgSetupTimes& t = info.times;
  return {{"operator_complexity", info.operator_complexity},
          {"grid_complexity", info.grid_complexity},
          {"coarsens", info.coarsens},
          {"reason", info.reason},
          {"levels", std::move(levels)},
          {"setup_phases_ms",
           {{"strength", t.strength},
            {"eigenvalues", t.eigenvalues},
            {"aggregation", t.aggregation},
            {"prolongator", t.prolongator},
            {"restriction", t.restriction},
            {"products", t.products},
            {"coarsest", t.coarsest},
            {"layout", t.layout},
            {"check", t.check}}}};
}

Json json_of(const PolynomialInfo& info) {
  return {{"gershgorin", info.gershgorin},
          {"lambda_max", info.lambda_max},
          {"interval_low", info.interval_low},
          {"interval_high", info.interval_high},
          {"damping", info.damping},
          {"products", info.products},
          {"explicit_nnz", info.explicit_nnz},
          {"fill", info.fill},
          {"setup_phases_ms",
           {{"spectrum", info.spectrum_ms},
            {"products", info.products_ms},
            {"drop", info.drop_ms},
            {"plan", info.plan_ms}}}};
}

Json json_of(const FsaiInfo& info) {
  return {{"nnz", info.nnz},
          {"dropped", info.dropped},
          {"fill", info.fill},
          {"largest_row", info.largest_row},
          {"setup_phases_ms", {{"pattern", info.pattern_ms}, {"rows", info.rows_ms}, {"plan", info.plan_ms}}}};
}

Json json_of(const SpaiInfo& info) {
  return {{"nnz", info.nnz},
          {"fill", info.fill},
          {"largest_row", info.largest_row},
          {"setup_phases_ms", {{"pattern", info.pattern_ms}, {"rows", info.rows_ms}, {"plan", info.plan_ms}}}};
}

/// Of an approximate inverse, else null.
Json inverse_json(const Preconditioner<double>& m) {
  if (const auto* fsai = dynamic_cast<const FsaiPreconditioner<double>*>(&m)) return json_of(fsai->factor());
  if (const auto* spai = dynamic_cast<const SpaiPreconditioner<double>*>(&m)) return json_of(spai->inverse());
  return nullptr;
}

Json json_of_best(const std::vector<double>& ms) {
  Json json = bench::json_of(summarise(ms));
  json["best_ms"] = summarise(ms).min;
  return json;
}

/// Samples of one preconditioner.
struct Contender {
  std::string name;
  std::optional<double> first_setup_ms;
  std::vector<double> setup_ms;
  std::vector<double> solve_ms;
  std::vector<double> total_ms;
  SolveReport report;
  PreconditionerInfo info;
  std::optional<AmgInfo> hierarchy;
  std::optional<PolynomialInfo> polynomial;
  Json inverse;  ///< null: it is none
  std::string error;
  bool too_slow = false;  ///< for further rounds
};

void run_once(PreconditionedSystem& system, Contender& contender, const PreconditionerSettings& settings,
              bool is_first) {
  std::unique_ptr<Preconditioner<double>> m;
  const double setup = timed(system.device(), [&] { m = system.make(contender.name, system.amg_options()); });
  const double solve =
      timed(system.device(), [&] { contender.report = system.solve(system.plan(), *m, system.b(), settings); });
  contender.info = m->info();
  if (const auto* amg = dynamic_cast<const Amg<double>*>(m.get())) contender.hierarchy = amg->hierarchy();
  if (const auto* const polynomial = dynamic_cast<const PolynomialPreconditioner<double>*>(m.get())) {
    contender.polynomial = polynomial->polynomial();
  }
  contender.inverse = inverse_json(*m);
  contender.too_slow = (setup + solve) * 1e-3 > settings.seconds;
  if (is_first) {
    contender.first_setup_ms = setup;
    if (!contender.too_slow) return;  // else the only sample
  }
  contender.setup_ms.push_back(setup);
  contender.solve_ms.push_back(solve);
  contender.total_ms.push_back(setup + solve);
}

/// Round by round, contenders in turn; the first round warms up. What fails keeps its message.
void run_rounds(PreconditionedSystem& system, std::vector<Contender>& contenders,
                const PreconditionerSettings& settings) {
  const Stopwatch watch;
  for (int round = 0; round <= settings.rounds; ++round) {
    if (round > 1 && watch.seconds() > settings.seconds) break;
    for (Contender& each : contenders) {
      if (!each.error.empty() || (round > 0 && each.too_slow)) continue;
      try {
        run_once(system, each, settings, round == 0);
      } catch (const Error& error) {
        each.error = error.what();
      }
    }
  }
}

Json json_of(const Contender& c, bool cold) {
  Json row{{"preconditioner", c.name}};
  if (!c.error.empty()) {
    row["pass"] = false;
    row["reason"] = c.error;
    return row;
  }
  row["pass"] = c.report.converged();
  row["status"] = std::string(to_string(c.report.status));
  row["reason"] = c.report.reason;
  row["iterations"] = c.report.iterations;
  row["relative_residual"] = c.report.true_residual / c.report.b_norm;
  row[cold ? "cold_setup_ms" : "first_setup_ms"] = c.first_setup_ms.value_or(0.0);
  row["setup"] = json_of_best(c.setup_ms);
  row["solve"] = json_of_best(c.solve_ms);
  row["total"] = json_of_best(c.total_ms);
  if (c.report.iterations > 0) {
    row["iteration_ms"] = summarise(c.solve_ms).min / static_cast<double>(c.report.iterations);
  }
  row["bytes"] = c.info.bytes;
  row["is_symmetric"] = c.info.is_symmetric;
  if (c.hierarchy) row["amg"] = json_of(*c.hierarchy);
  if (c.polynomial) row["polynomial"] = json_of(*c.polynomial);
  if (!c.inverse.is_null()) row["inverse"] = c.inverse;
  return row;
}

void print(const Contender& c) {
  if (!c.error.empty()) {
    fmt::print("  {:8} {}\n", c.name, c.error);
    return;
  }
  const TimingSummary setup = summarise(c.setup_ms);
  const TimingSummary solve = summarise(c.solve_ms);
  fmt::print(
      "  {:8} set-up {:9.3f} (median {:.3f}, first {:.3f}) + solve {:10.3f} (median {:.3f}) ms, {:5} iterations, "
      "{:.1e}, {:.3f} GB, {} samples",
      c.name, setup.min, setup.median, c.first_setup_ms.value_or(0.0), solve.min, solve.median, c.report.iterations,
      c.report.true_residual / c.report.b_norm, static_cast<double>(c.info.bytes) * 1e-9, setup.count);
  if (c.hierarchy) {
    fmt::print(", {} levels, complexity {:.3f}", c.hierarchy->levels.size(), c.hierarchy->operator_complexity);
  }
  if (c.polynomial) fmt::print(", {} products, fill {:.2f}", c.polynomial->products, c.polynomial->fill);
  fmt::print("{}\n", c.report.converged() ? "" : fmt::format("  NOT CONVERGED: {}", c.report.reason));
  if (!c.hierarchy) return;
  const AmgSetupTimes& t = c.hierarchy->times;
  fmt::print(
      "           strength {:.3f}, eigenvalues {:.3f}, aggregation {:.3f}, P {:.3f}, R {:.3f}, products {:.3f}, "
      "coarsest {:.3f}, layout {:.3f}, check {:.3f} ms\n",
      t.strength, t.eigenvalues, t.aggregation, t.prolongator, t.restriction, t.products, t.coarsest, t.layout,
      t.check);
}

/// refresh() of AMG with other values, against set-ups with and without the structures that it needs.
Json measure_refresh(PreconditionedSystem& system, const PreconditionerSettings& settings, double plain_setup_ms) {
  AmgOptions options = system.amg_options();
  options.prepare_refresh = true;
  std::vector<double> prepared_ms;
  std::vector<double> refresh_ms;
  const auto changed = std::make_shared<const Csr<double>>(with_new_values(*system.matrix()));
  std::unique_ptr<Preconditioner<double>> m;
  for (int round = 0; round < std::max(2, settings.rounds); ++round) {
    m.reset();
    prepared_ms.push_back(timed(system.device(), [&] { m = system.make("amg", options); }));
    refresh_ms.push_back(timed(system.device(), [&] { m->refresh(changed->view()); }));
    // Back and forth, so that refreshing one object again is measured too.
    static_cast<void>(timed(system.device(), [&] { m->refresh(system.matrix()->view()); }));
    refresh_ms.push_back(timed(system.device(), [&] { m->refresh(changed->view()); }));
  }
  const SpmvPlan<double> plan(changed, {.device = system.device()});
  const Array<double> b = system.right_side(plan);
  const SolveReport report = system.solve(plan, *m, b.span(), settings);
  const auto fresh = [&] {
    const Amg<double> amg(changed->view(), system.amg_options(), system.device());
    return system.solve(plan, amg, b.span(), settings);
  }();
  const double refresh = summarise(refresh_ms).min;
  const double prepared = summarise(prepared_ms).min;
  fmt::print(
      "           refresh {:.3f} ms = {:.2f} of a set-up ({:.3f}), {:.2f} of one that prepares it ({:.3f}); {} "
      "iterations, after a new set-up {}\n",
      refresh, refresh / plain_setup_ms, plain_setup_ms, refresh / prepared, prepared, report.iterations,
      fresh.iterations);
  return {{"refresh", json_of_best(refresh_ms)},
          {"setup_that_prepares", json_of_best(prepared_ms)},
          {"of_plain_setup", refresh / plain_setup_ms},
          {"of_setup_that_prepares", refresh / prepared},
          {"bytes", m->info().bytes},
          {"pass", report.converged()},
          {"iterations", report.iterations},
          {"iterations_after_new_setup", fresh.iterations}};
}

/// Peers of the record; nothing of it is measured here.
Json recorded_json(const std::string& problem) {
  Json rows = Json::array();
  for (const RecordedPeer& peer : recorded_peers(problem)) {
    fmt::print("           recorded {}, not measured in this run: {} {} + {} ms{}\n", recorded_on, peer.solver,
               peer.setup_ms, peer.solve_ms, peer.iterations > 0 ? fmt::format(" ({})", peer.iterations) : "");
    rows.push_back({{"solver", std::string(peer.solver)},
                    {"recorded", std::string(recorded_on)},
                    {"measured_in_this_run", false},
                    {"setup_ms", peer.setup_ms},
                    {"solve_ms", peer.solve_ms},
                    {"iterations", peer.iterations}});
  }
  return rows;
}

/// The same load on every node, along the last axis: weight.
Array<double> loads(std::int64_t n, int block, const Device& device) {
  std::vector<double> b(static_cast<std::size_t>(n), 0.0);
  for (auto i = static_cast<std::size_t>(block) - 1; i < b.size(); i += static_cast<std::size_t>(block)) b[i] = -1.0;
  return Array<double>::copy_of(b, device);
}

}  // namespace

PreconditionedSystem::PreconditionedSystem(const PreconditionerProblem& problem, const PreconditionerSettings& settings,
                                           const Device& device)
    : problem_(problem), device_(device) {
  generate_ms_ = timed(device_, [&] { matrix_ = std::make_shared<const Csr<double>>(problem.make(device_)); });
  if (matrix_->rows() != matrix_->cols()) {
    throw DimensionError(fmt::format("{} is {} x {}", problem.name, matrix_->rows(), matrix_->cols()));
  }
  plan_ms_ = timed(device_,
                   [&] { plan_ = std::make_shared<const SpmvPlan<double>>(matrix_, SpmvOptions{.device = device_}); });
  problem.describe(amg_options_);
  set_amg_options(amg_options_, settings.amg);
  b_ = right_side(*plan_);
  x_ = Array<double>(matrix_->rows(), Init::zero, device_);
}

Array<double> PreconditionedSystem::right_side(const SpmvPlan<double>& a) const {
  const std::int64_t n = a.rows();
  // A translation is a rigid-body mode, which AMG knows beforehand.
  if (amg_options_.block_size > 1) return loads(n, amg_options_.block_size, device_);
  const std::vector<double> exact =
      problem_.singular ? scattered(n) : std::vector<double>(static_cast<std::size_t>(n), 1.0);
  const Array<double> x = Array<double>::copy_of(exact, device_);
  Array<double> b(n, Init::zero, device_);
  a.apply(x.span(), b.span());
  return b;
}

std::unique_ptr<Preconditioner<double>> PreconditionedSystem::make(const std::string& name,
                                                                   const AmgOptions& options) const {
  if (name == "jacobi") return std::make_unique<JacobiPreconditioner<double>>(matrix_->view(), device_);
  if (name == "ic0") {
    return std::make_unique<IncompleteFactors<double>>(
        matrix_->view(), IncompleteFactorOptions{.kind = FactorKind::ic0, .ordering = Ordering::natural}, device_);
  }
  if (const auto polynomial = polynomial_of(name)) {
    return std::make_unique<PolynomialPreconditioner<double>>(plan_, *polynomial);
  }
  // "fsai:2", "spai:1".
  const int level = name.back() - '0';
  if (name.starts_with("fsai:")) {
    return std::make_unique<FsaiPreconditioner<double>>(matrix_->view(), FsaiOptions{.power = level}, device_);
  }
  if (name.starts_with("spai:")) {
    return std::make_unique<SpaiPreconditioner<double>>(matrix_->view(), SpaiOptions{.level = level}, device_);
  }
  return std::make_unique<Amg<double>>(matrix_->view(), options, device_);
}

SolveReport PreconditionedSystem::solve(const SpmvPlan<double>& a, const Preconditioner<double>& m,
                                        std::span<const double> b, const PreconditionerSettings& settings) {
  SolverOptions options;
  options.relative_tolerance = settings.tolerance;
  options.max_iterations = 1'000'000;
  options.time_limit_seconds = settings.solve_seconds;
  detail::zero_bytes(device_, x_.data(), x_.bytes());
  const bool symmetric = problem_.symmetric && m.info().is_symmetric;
  return symmetric ? cg<double>(a, m, b, x_.span(), options) : bicgstab<double>(a, m, b, x_.span(), options);
}

Json measure_preconditioners(const PreconditionerProblem& problem, const PreconditionerSettings& settings,
                             const Device& device, bool cold) {
  PreconditionedSystem system(problem, settings, device);
  const Csr<double>& a = *system.matrix();
  fmt::print("{}: {} unknowns, {} entries, {:.3f} GB, made in {:.0f} ms, plan {} in {:.3f} ms\n", problem.name,
             a.rows(), a.nnz(), static_cast<double>(a.bytes()) * 1e-9, system.generate_ms(),
             to_string(system.plan().info().algorithm), system.plan_ms());
  std::vector<Contender> contenders;
  for (const std::string& name : settings.preconditioners) contenders.emplace_back().name = name;
  run_rounds(system, contenders, settings);
  Json result{{"problem", problem.name},
              {"unknowns", a.rows()},
              {"nonzeros", a.nnz()},
              {"matrix_bytes", a.bytes()},
              {"method", problem.symmetric ? "cg" : "bicgstab"},
              {"plan_ms", system.plan_ms()},
              {"spmv", std::string(to_string(system.plan().info().algorithm))}};
  for (const Contender& each : contenders) {
    print(each);
    result["contenders"].push_back(json_of(each, cold));
    if (each.hierarchy && each.error.empty() && a.rows() <= settings.refresh_rows) {
      result["refresh"] = measure_refresh(system, settings, summarise(each.setup_ms).min);
    }
  }
  if (device.is_host() && problem.symmetric && std::count(settings.peers.begin(), settings.peers.end(), "eigen") > 0) {
    result["peers"].push_back(measure_eigen(a, system.b(), settings.tolerance, std::min(settings.rounds, 3)));
  }
  result["recorded_peers"] = recorded_json(problem.name);
  std::fflush(stdout);
  return result;
}

}  // namespace tessera::bench
