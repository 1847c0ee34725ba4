/// Conjugate gradients, BiCGSTAB and PageRank on one GPU and on several of one host, in turn: time per iteration of the
/// same system (strong scaling) and of one that grows with the number of GPUs (weak), small systems whose iterations
/// are sums over GPUs, set-up and solve with AMG, and how far the solutions of both are apart.
///
///   bench_several_devices_cuda --devices cuda:0,1 --json results.json
#include "bench/report.hpp"
#include "bench/several_devices_amg.hpp"
#include "bench/several_devices_ranks.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> parts{"small", "strong", "weak", "bicgstab", "pagerank", "amg"};
  std::vector<std::string> graphs{"rmat:scale=24", "web:15000000"};
  std::vector<std::string> precisions{"fp64", "fp32"};  ///< of PageRank
  std::string devices = "cuda:0,1";
  std::string json;
  double scale = 1.0;  ///< of the sides of the grids
  int rounds = 5;
};

/// Two solves that differ by so many iterations: what a solve costs at its ends cancels.
struct Iterations {
  std::int64_t fewer = 0;
  std::int64_t more = 0;
};

using Solve = std::function<SolveReport(std::int64_t iterations, std::vector<double>& x)>;

/// A right-hand side whose residual falls from the first iterations on: a solve returns its best x, which would be x0
/// for b = 1.
std::vector<double> right_side(index_t rows) {
  std::vector<double> b(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = (i * 2654435761U) % 1024 < 512 ? 1.0 : -1.0;
  return b;
}

SolverOptions options_for(std::int64_t iterations) {
  return {.relative_tolerance = 1e-300, .max_iterations = iterations, .stagnation_window = 1'000'000'000};
}

/// A system on one GPU.
class OnOne {
 public:
  OnOne(const Csr<double>& matrix, const Device& device, IterativeMethod method)
      : method_(method),
        plan_(Csr<double>::copy_of(matrix.view()), {.device = device}),
        b_(Array<double>::copy_of(right_side(matrix.rows()), device)),
        x_(matrix.rows(), Init::zero, device) {}

  SolveReport operator()(std::int64_t iterations, std::vector<double>& x) {
    detail::zero_bytes(x_.device(), x_.data(), x_.bytes());
    const auto b = std::as_const(b_).span();
    SolveReport report = method_ == IterativeMethod::cg
                             ? cg<double>(plan_, b, x_.span(), options_for(iterations))
                             : bicgstab<double>(plan_, b, x_.span(), options_for(iterations));
    const Array<double> on_host = x_.to(Device{});
    x.assign(on_host.begin(), on_host.end());
    return report;
  }
  [[nodiscard]] std::string kernel() const { return std::string(to_string(plan_.info().algorithm)); }

 private:
  IterativeMethod method_;
  SpmvPlan<double> plan_;
  Array<double> b_;
  Array<double> x_;
};

/// The same on a group.
class OnGroup {
 public:
  OnGroup(const Csr<double>& matrix, const DeviceGroup& group, IterativeMethod method)
      : method_(method), matrix_(group, matrix.view()), b_(right_side(matrix.rows())) {}

  SolveReport operator()(std::int64_t iterations, std::vector<double>& x) {
    x.assign(b_.size(), 0.0);
    constexpr auto identity = GroupPreconditioner::identity;
    return method_ == IterativeMethod::cg ? cg<double>(matrix_, identity, b_, x, options_for(iterations))
                                          : bicgstab<double>(matrix_, identity, b_, x, options_for(iterations));
  }
  [[nodiscard]] Json parts() const { return json_of_parts(matrix_.parts()); }

 private:
  IterativeMethod method_;
  DistributedMatrix<double> matrix_;
  std::vector<double> b_;
};

/// Milliseconds per iteration. A ranking may reach its fixed point before the limit: iterations made count.
double per_iteration(const Solve& solve, const Iterations& iterations, std::vector<double>& x) {
  const SolveReport fewer = solve(iterations.fewer, x);
  const SolveReport more = solve(iterations.more, x);
  if (fewer.iterations != iterations.fewer || more.iterations <= fewer.iterations) {
    throw Error("ended after other iterations than asked for: " + more.reason);
  }
  return (more.timings.solve_ms - fewer.timings.solve_ms) / static_cast<double>(more.iterations - fewer.iterations);
}

struct Contender {
  std::string name;
  Solve solve;
  std::vector<double> ms = {};
  std::vector<double> x = {};
};

/// All in turn, after one round that does not count.
void measure(std::vector<Contender>& contenders, const Iterations& iterations, int rounds) {
  for (int round = 0; round <= rounds; ++round) {
    for (Contender& each : contenders) {
      const double ms = per_iteration(each.solve, iterations, each.x);
      if (round > 0) each.ms.push_back(ms);
    }
  }
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference / largest;
}

Json row_of(const std::string& name, const std::vector<Contender>& contenders, bool same_system) {
  Json row{{"problem", name}};
  for (const Contender& each : contenders) row["ms_per_iteration"][each.name] = json_of(summarise(each.ms));
  const Contender& one = contenders.front();
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    const Contender& other = contenders[k];
    const TimingRatio ratio = median_ratio(one.ms, other.ms);
    row["ratio"][other.name] = json_of(ratio);
    if (same_system) row["difference_of_x"][other.name] = largest_difference(one.x, other.x);
    fmt::print("  {:34} {:9.4f} ms, {} {:9.4f} ms: {:.3f} [{:.3f}, {:.3f}]\n", name, summarise(one.ms).median,
               other.name, summarise(other.ms).median, ratio.ratio, ratio.low, ratio.high);
  }
  std::fflush(stdout);
  return row;
}

/// The parts of the program.
class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings), group_(DeviceGroup::parse(settings.devices)), first_(group_.device(0)) {}

  [[nodiscard]] Json run() {
    Json result = document("several_devices_cuda");
    result["machine"]["gpu"] = support::gpu_json(first_);
    result["devices"] = settings_.devices;
    result["peer_access"] = group_.has_peer_access();
    for (const std::string& part : settings_.parts) {
      fmt::print("{}\n", part);
      if (part == "small") result[part] = small();
      if (part == "strong") result[part] = strong();
      if (part == "weak") result[part] = weak();
      if (part == "bicgstab") result[part] = by_bicgstab();
      if (part == "pagerank") result[part] = ranks();
      if (part == "amg") result[part] = with_amg();
      // What has been measured stays where a later part fails.
      write(result, settings_.json);
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t side(double full) const {
    return std::max<std::int64_t>(8, std::llround(full * settings_.scale));
  }

  [[nodiscard]] Json same_system(const std::string& name, const Csr<double>& matrix, const Iterations& iterations,
                                 bool with_group_of_one, IterativeMethod method = IterativeMethod::cg) {
    OnOne one(matrix, group_.device(0), method);
    OnGroup all(matrix, group_, method);
    std::optional<OnGroup> alone;
    std::vector<Contender> contenders{{"one", std::ref(one)}, {"all", std::ref(all)}};
    if (with_group_of_one) {
      alone.emplace(matrix, DeviceGroup({Device::cuda(first_.ordinal())}), method);
      contenders.push_back({"group of one", std::ref(*alone)});
    }
    Json row = compared(name, one, all, contenders, iterations);
    row["rows"] = matrix.rows();
    row["nnz"] = matrix.nnz();
    return row;
  }

  /// \param contenders the first two are one and all
  template <class One, class All>
  [[nodiscard]] Json compared(const std::string& name, One& one, All& all, std::vector<Contender>& contenders,
                              const Iterations& iterations) {
    measure(contenders, iterations, settings_.rounds);
    // Once more: the same bits.
    std::vector<double> again;
    static_cast<void>(all(iterations.more, again));
    Json row = row_of(name, contenders, true);
    row["same_bits_again"] = again == contenders[1].x;
    row["kernel_of_one"] = one.kernel();
    row["parts"] = all.parts();
    return row;
  }

  [[nodiscard]] Json by_bicgstab() {
    Json rows = Json::array();
    const std::int64_t wide = side(8000);
    const std::int64_t cube = side(250);
    rows.push_back(same_system(fmt::format("convection {}^2", wide),
                               convection_diffusion<double>(wide, wide, 1, {.x = 0.5, .y = -0.25}), {10, 60}, false,
                               IterativeMethod::bicgstab));
    rows.push_back(same_system(fmt::format("fem3d {}", cube),
                               poisson3d<double>(cube, cube, cube, Stencil3d::twentyseven_point), {10, 60}, false,
                               IterativeMethod::bicgstab));
    rows.push_back(same_system("convection 1000^2", convection_diffusion<double>(1000, 1000, 1, {.x = 0.5}), {100, 600},
                               false, IterativeMethod::bicgstab));
    return rows;
  }

  [[nodiscard]] Json with_amg() {
    Json rows = Json::array();
    const std::int64_t cube = side(300);
    const std::int64_t wide = side(4000);
    rows.push_back(
        compare_amg(fmt::format("poisson3d {}", cube), poisson3d<double>(cube, cube, cube), group_, settings_.rounds));
    rows.push_back(
        compare_amg(fmt::format("poisson2d {}", wide), poisson2d<double>(wide, wide), group_, settings_.rounds));
    return rows;
  }

  [[nodiscard]] Json ranks() {
    Json rows = Json::array();
    for (const std::string& graph : settings_.graphs) {
      for (const std::string& precision : settings_.precisions) {
        rows.push_back(precision == "fp32" ? ranks_of<float>(graph, precision) : ranks_of<double>(graph, precision));
      }
    }
    return rows;
  }

  template <class T>
  [[nodiscard]] Json ranks_of(const std::string& graph, const std::string& precision) {
    const TransitionMatrix<T> transition(generate<T>(parse_generator(graph), ValueStorage::pattern).view());
    RanksOnOne<T> one(transition, group_.device(0));
    RanksOnGroup<T> all(transition, group_);
    std::vector<Contender> contenders{{"one", std::ref(one)}, {"all", std::ref(all)}};
    Json row = compared(graph + ", " + precision, one, all, contenders, {8, 40});
    row["precision"] = precision;
    row["vertices"] = transition.vertices();
    row["edges"] = transition.edges();
    return row;
  }

  /// Iterations that are hardly more than their sums: three per iteration of CG.
  [[nodiscard]] Json small() {
    Json rows = Json::array();
    rows.push_back(same_system("poisson2d 64", poisson2d<double>(64, 64), {20, 60}, true));
    rows.push_back(same_system("poisson2d 300", poisson2d<double>(300, 300), {100, 500}, true));
    rows.push_back(same_system("poisson2d 1000", poisson2d<double>(1000, 1000), {200, 1200}, true));
    return rows;
  }

  [[nodiscard]] Json strong() {
    Json rows = Json::array();
    const std::int64_t wide = side(10000);
    const std::int64_t cube = side(250);
    rows.push_back(same_system(fmt::format("lap2d {}", wide), poisson2d<double>(wide, wide), {10, 60}, false));
    rows.push_back(same_system(fmt::format("fem3d {}", cube),
                               poisson3d<double>(cube, cube, cube, Stencil3d::twentyseven_point), {10, 60}, false));
    return rows;
  }

  [[nodiscard]] Json weak() {
    const std::int64_t wide = side(7000);
    const std::int64_t cube = side(200);
    const int size = group_.size();
    Json rows = Json::array();
    rows.push_back(growing(fmt::format("lap2d {0} x {0} each", wide), poisson2d<double>(wide, wide),
                           poisson2d<double>(wide, wide * size)));
    rows.push_back(growing(fmt::format("fem3d {0}^3 each", cube),
                           poisson3d<double>(cube, cube, cube, Stencil3d::twentyseven_point),
                           poisson3d<double>(cube, cube, cube * size, Stencil3d::twentyseven_point)));
    return rows;
  }

  [[nodiscard]] Json growing(const std::string& name, const Csr<double>& small, const Csr<double>& large) {
    constexpr auto method = IterativeMethod::cg;
    OnOne one(small, group_.device(0), method);
    OnGroup all(large, group_, method);
    OnGroup alone(small, DeviceGroup({Device::cuda(first_.ordinal())}), method);
    std::vector<Contender> contenders{
        {"one", std::ref(one)}, {"all", std::ref(all)}, {"group of one", std::ref(alone)}};
    measure(contenders, {10, 60}, settings_.rounds);
    Json row = row_of(name, contenders, false);
    row["parts"] = all.parts();
    return row;
  }

  Settings settings_;
  DeviceGroup group_;
  Device first_;
};

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Conjugate gradients, BiCGSTAB, PageRank and AMG on one GPU and on several");
  app.add_option("--parts", settings.parts, "small, strong, weak, bicgstab, pagerank, amg")->delimiter(',');
  app.add_option("--graph", settings.graphs, "as solve --generate, one or more; of the part pagerank");
  app.add_option("--precisions", settings.precisions, "fp64, fp32; of the part pagerank")->delimiter(',');
  app.add_option("--devices", settings.devices, "as solve --device");
  app.add_option("--scale", settings.scale, "of the sides of large grids");
  app.add_option("--rounds", settings.rounds);
  app.add_option("--json", settings.json, "file of results");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_several_devices_cuda", [&] {
    tessera::bench::write(tessera::bench::Bench(settings).run(), settings.json);
  });
}
