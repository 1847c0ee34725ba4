// Rows "spmv", "spgemm" and "pagerank" of bench_end_to_end: products by what the library chooses, each checked against
// sums in long double.
#include "bench/end_to_end.hpp"
#include "bench/spgemm_zoo.hpp"
#include "bench/zoo.hpp"
#include "core/stopwatch.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/spgemm.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tessera::bench {

namespace {

/// Products per sample: as many as take some milliseconds.
[[nodiscard]] int products_per_sample(double product_ms) {
  constexpr double sample_ms = 4.0;
  constexpr double most = 500.0;
  return static_cast<int>(std::clamp(sample_ms / product_ms, 1.0, most));
}

template <class T>
[[nodiscard]] Json measure_product_of(const Csr<double>& structure, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  const auto matrix = std::make_shared<const Csr<T>>(with_type<T>(structure));
  const std::vector<T> x = input_vector<T>(matrix->cols());
  Json result{{"input", bits_of<T>(matrix->view(), std::span<const T>(x))}};
  const Reference reference = reference_product<T>(matrix->view(), x, false);
  std::vector<T> y(static_cast<std::size_t>(matrix->rows()));
  const MemoryWatch memory(device);
  {
    const Stopwatch planning;
    const SpmvPlan<T> plan(matrix, {.device = device});
    synchronize(device);
    result["setup_ms"] = planning.milliseconds();
    const auto device_x = Array<T>::copy_of(x, device);
    Array<T> device_y(matrix->rows(), Init::none, device);
    const auto multiply = [&](int products) {
      for (int k = 0; k < products; ++k) plan.apply(device_x.span(), device_y.span());
      synchronize(device);
    };
    multiply(2);
    const int products = products_per_sample(timed(device, [&] { multiply(3); }) / 3.0);
    std::string first_bits;
    std::vector<double> samples = repeat(
        settings, [&] { multiply(products); },
        [&] {
          // Both ends of the measurement show what atomics do; every copy would cost more than the products.
          if (!first_bits.empty()) return;
          detail::copy_bytes(Device{}, y.data(), device, device_y.data(), device_y.bytes());
          first_bits = bits_of<T>(std::span<const T>(y));
        });
    detail::copy_bytes(Device{}, y.data(), device, device_y.data(), device_y.bytes());
    const bool is_stable = bits_of<T>(std::span<const T>(y)) == first_bits;
    for (double& sample : samples) sample /= products;
    result["samples_ms"] = samples;
    result["choice"] = {{"kernel", std::string(to_string(plan.info().algorithm))}};
    if (plan.info().determinism != Determinism::not_guaranteed) {
      result["bits"] = first_bits;
      result["bits_stable"] = is_stable;
    }
  }
  result["memory"] = memory.figures();
  result["outcome"] = checked_outcome(error_over_bound<T>(reference, y), 1.0, "y is wrong beyond rounding");
  return result;
}

/// The drawn structure of the row before serves the next one, which differs in its precision.
[[nodiscard]] const Csr<double>& kept_structure(const std::string& name, const EndToEndSettings& settings) {
  static std::string kept;
  static Csr<double> matrix;
  constexpr std::int64_t host_nnz = 2'000'000;
  constexpr std::int64_t gpu_nnz = 12'000'000;
  if (kept != name) {
    matrix = drawn_structure(name, settings.device.is_host() ? host_nnz : gpu_nnz, settings.seed);
    kept = name;
  }
  return matrix;
}

/// ‖C z - A (B z)‖ / ‖A (B z)‖ for a random z (R. Freivalds, 1977).
[[nodiscard]] double product_error(const CsrView<double>& a, const CsrView<double>& b, const CsrView<double>& c) {
  const std::vector<double> z = support::random_vector<double>(b.cols, 7);
  const std::vector<double> right = oracle_product(a, oracle_product(b, z));
  const std::vector<double> left = oracle_product(c, z);
  long double difference = 0.0L;
  long double norm = 0.0L;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference += std::pow(static_cast<long double>(left[i]) - right[i], 2);
    norm += std::pow(static_cast<long double>(right[i]), 2);
  }
  return static_cast<double>(std::sqrt(difference / norm));
}

/// ‖x' - x‖₁ of one more iteration in long double.
[[nodiscard]] double rank_change(const CsrView<double>& graph, std::span<const double> x, double damping) {
  const auto n = static_cast<std::size_t>(graph.rows);
  std::vector<long double> next(n, 0.0L);
  long double lost = 0.0L;
  for (std::size_t i = 0; i < n; ++i) {
    const offset_t begin = graph.row_offsets[i];
    const offset_t end = graph.row_offsets[i + 1];
    if (begin == end) lost += x[i];
    for (offset_t k = begin; k < end; ++k) {
      next[static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(k)])] +=
          static_cast<long double>(x[i]) / static_cast<long double>(end - begin);
    }
  }
  const long double jump = (damping * lost + 1.0L - damping) / static_cast<long double>(n);
  long double change = 0.0L;
  for (std::size_t i = 0; i < n; ++i) change += std::abs(damping * next[i] + jump - static_cast<long double>(x[i]));
  return static_cast<double>(change);
}

}  // namespace

Json measure_product(const EndToEndRow& row, const EndToEndSettings& settings) {
  const std::string input = row.input();
  const std::size_t colon = input.find(':');
  const Csr<double>& structure = kept_structure(input.substr(0, colon), settings);
  return input.substr(colon + 1) == "fp32" ? measure_product_of<float>(structure, settings)
                                           : measure_product_of<double>(structure, settings);
}

Json measure_sparse_product(const EndToEndRow& row, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  const SpgemmProblem problem = make_spgemm_problem(row.input());
  // B z depends on positions and values of B.
  const std::vector<double> z = support::random_vector<double>(problem.right().cols(), settings.seed);
  Json result{{"input", bits_of<double>(problem.a.view(), oracle_product(problem.right().view(), z))}};
  Csr<double> c;
  SpgemmReport report;
  std::string first_bits;
  std::string last_bits;
  const MemoryWatch memory(device);
  {
    const Csr<double> a = problem.a.to(device);
    const Csr<double> b = problem.right().to(device);
    SpgemmOptions options;
    options.device = device;
    result["samples_ms"] = repeat(
        settings,
        [&] {
          c = Csr<double>();
          SpgemmResult<double> product = spgemm<double>(a, b, options);
          c = std::move(product.matrix);
          report = std::move(product.report);
        },
        [&] {
          if (!first_bits.empty()) return;
          first_bits = bits_of<double>(c.to(Device{}).view());
        });
    const Csr<double> on_host = c.to(Device{});
    last_bits = bits_of<double>(on_host.view());
    constexpr double bound = 1e-12;
    result["outcome"] = checked_outcome(product_error(problem.a.view(), problem.right().view(), on_host.view()), bound,
                                        "C z differs from A (B z)");
    c = Csr<double>();
  }
  result["memory"] = memory.figures();
  result["setup_ms"] = report.analysis_ms + report.sizing_ms;
  result["choice"] = {{"workflow", std::string(to_string(report.workflow))}};
  if (report.determinism != Determinism::not_guaranteed) {
    result["bits"] = first_bits;
    result["bits_stable"] = last_bits == first_bits;
  }
  return result;
}

Json measure_ranking(const EndToEndRow& row, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  const Csr<double> graph = generate<double>(parse_generator(row.input(), settings.seed), ValueStorage::pattern);
  Json result{{"input", bits_of<double>(graph.view())}};
  PageRankOptions options;
  options.spmv.device = device;
  std::vector<double> ranks;
  std::vector<double> setup_ms;
  PlanInfo plan;
  std::string first_bits;
  bool is_stable = true;
  bool has_converged = false;
  const MemoryWatch memory(device);
  {
    const Csr<double> placed = graph.to(device);
    result["samples_ms"] = repeat(
        settings,
        [&] {
          const Stopwatch setting_up;
          const TransitionMatrix<double> transition(placed.view(), device);
          synchronize(device);
          const double transition_ms = setting_up.milliseconds();
          const PageRankResult<double> found = pagerank<double>(transition, options);
          const Array<double> on_host = found.ranks.to(Device{});
          ranks.assign(on_host.begin(), on_host.end());
          setup_ms.push_back(transition_ms + found.timings.plan_ms);
          plan = found.plan;
          has_converged = found.converged();
        },
        [&] {
          const std::string bits = bits_of<double>(std::span<const double>(ranks));
          if (first_bits.empty()) first_bits = bits;
          is_stable = is_stable && bits == first_bits;
        });
  }
  result["memory"] = memory.figures();
  result["setup_ms"] = summarise(setup_ms).median;
  result["choice"] = {{"kernel", std::string(to_string(plan.algorithm))}};
  if (plan.determinism != Determinism::not_guaranteed) {
    result["bits"] = first_bits;
    result["bits_stable"] = is_stable;
  }
  // One more iteration changes less than the last one, which met the tolerance, but for rounding.
  const double bound = has_converged ? 1.01 * options.tolerance : 0.0;
  result["outcome"] =
      checked_outcome(rank_change(graph.view(), ranks, options.damping), bound, "the ranks are no fixed point");
  return result;
}

}  // namespace tessera::bench
