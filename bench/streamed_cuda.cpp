/// The streamed product on a GPU: a matrix of which nothing stays there, and one of which half may, against a plain
/// copy of the same bytes from page-locked memory, in turn; then iterations of CG and of PageRank on it, and on the
/// same matrix in the memory of the GPU.
///
///   bench_streamed_cuda --json results.json
///   bench_streamed_cuda --scale 0.25 --rounds 3
#include "bench/report.hpp"
#include "core/cuda/page_locked.hpp"
#include "core/stopwatch.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  double scale = 1.0;  ///< of the sides of grids, and squared of graphs
  int rounds = 7;
  std::int64_t fewer = 5;  ///< iterations of two solves, whose difference is timed
  std::int64_t more = 25;
  std::string json;
};

/// Values of 53 digits, so that nothing is packed but offsets and columns.
[[nodiscard]] Csr<double> with_full_values(const Csr<double>& matrix) {
  Array<double> values(matrix.nnz(), Init::none);
  for (std::int64_t k = 0; k < values.size(); ++k) values[k] = matrix.values()[k] * (1.0 + 1.0 / 3.0);
  return matrix.with_values(std::move(values));
}

/// A copy of so many bytes to the GPU.
class PlainCopy {
 public:
  PlainCopy(std::uint64_t bytes, const Device& device)
      : device_(device),
        source_(bytes, "page-locked memory of a plain copy"),
        target_(static_cast<std::int64_t>(bytes), Init::none, device) {
    std::memset(source_.data(), 1, bytes);
    synchronize(device);
  }
  [[nodiscard]] double milliseconds() {
    const Stopwatch timer;
    // Complete on return.
    detail::copy_bytes(device_, target_.data(), Device{}, source_.data(), source_.bytes());
    return timer.milliseconds();
  }

 private:
  Device device_;
  cuda::PageLockedMemory source_;
  Array<std::byte> target_;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), device_(Device::cuda(0)) {}

  [[nodiscard]] Json run() {
    Json result = document("streamed_cuda");
    result["machine"]["gpu"] = support::gpu_json(device_);
    Json& rows = result["products"] = Json::array();
    const std::int64_t wide = side(6000);
    const std::int64_t cube = side(200);
    const Csr<double> lap2d = poisson2d<double>(wide, wide);
    const Csr<double> fem3d = poisson3d<double>(cube, cube, cube, Stencil3d::twentyseven_point);
    add_products(fmt::format("lap2d {0} x {0}", wide), lap2d, rows);
    add_products(fmt::format("fem3d {}^3", cube), fem3d, rows);
    add_products(fmt::format("fem3d {}^3, full values", cube), with_full_values(fem3d), rows);
    result["cg"] = Json::array({conjugate_gradients(fmt::format("lap2d {0} x {0}", wide), lap2d),
                                conjugate_gradients(fmt::format("fem3d {}^3", cube), fem3d)});
    result["pagerank"] = Json::array({page_rank()});
    return result;
  }

 private:
  [[nodiscard]] std::int64_t side(double full) const {
    return std::max<std::int64_t>(10, std::llround(settings_.scale * full));
  }

  [[nodiscard]] SpmvOptions options(SpmvAlgorithm algorithm, std::uint64_t limit) const {
    SpmvOptions result;
    result.device = device_;
    result.algorithm = algorithm;
    result.memory_limit_bytes = limit;
    return result;
  }

  void add_products(const std::string& name, const Csr<double>& matrix, Json& rows) {
    rows.push_back(product(name + ", all streamed", matrix, options(SpmvAlgorithm::streamed, 0)));
    const auto packed = rows.back()["bytes_per_product"].get<std::uint64_t>();
    rows.push_back(product(name + ", half", matrix, options(SpmvAlgorithm::automatic, packed / 2)));
  }

  /// Of all slices of a matrix, which take less than its CSR.
  [[nodiscard]] std::uint64_t packed_bytes(const Csr<double>& matrix) const {
    const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), options(SpmvAlgorithm::streamed, 0));
    return plan.info().stream->bytes_per_product;
  }

  [[nodiscard]] Json product(const std::string& name, const Csr<double>& matrix, const SpmvOptions& wanted) {
    const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), wanted);
    const SpmvPlan<double> resident(Csr<double>::copy_of(matrix.view()), options(SpmvAlgorithm::csr_vector, 0));
    const StreamInfo stream = plan.info().stream.value();
    PlainCopy copy(std::max<std::uint64_t>(stream.bytes_per_product, 1), device_);
    std::vector<double> elements(static_cast<std::size_t>(matrix.cols()));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(0.37 * static_cast<double>(i + 1));
    const auto x = Array<double>::copy_of(elements, device_);
    Array<double> y(matrix.rows(), Init::zero, device_);
    std::vector<double> ms;
    std::vector<double> resident_ms;
    std::vector<double> copy_ms;
    for (int round = 0; round <= settings_.rounds; ++round) {
      const double own = timed(plan, x, y);
      const double plain = copy.milliseconds();
      const double there = timed(resident, x, y);
      if (round == 0) continue;
      ms.push_back(own);
      copy_ms.push_back(plain);
      resident_ms.push_back(there);
    }
    const TimingRatio of_bus = median_ratio(copy_ms, ms);
    const double rate = 1e-6 * static_cast<double>(stream.bytes_per_product) / summarise(ms).median;
    fmt::print(
        "{:<32} {:6.2f} of {:6.2f} GB {:4} slices {:8.2f} ms {:6.2f} GB/s, {:5.3f} of a copy, predicted {:.2f} "
        "ms, there {:.3f} ms, {}\n",
        name, 1e-9 * static_cast<double>(stream.bytes_per_product), 1e-9 * static_cast<double>(matrix.bytes()),
        stream.slices, summarise(ms).median, rate, of_bus.ratio, stream.predicted_ms, summarise(resident_ms).median,
        has_bits_of(plan, resident, x) ? "equal bits" : "other bits");
    std::fflush(stdout);
    return {{"matrix", name},
            {"rows", matrix.rows()},
            {"nonzeros", matrix.nnz()},
            {"csr_bytes", matrix.bytes()},
            {"kernel", to_string(plan.info().algorithm)},
            {"reason", plan.info().reason},
            {"build_ms", plan.info().build_ms},
            {"slices", stream.slices},
            {"resident_slices", stream.resident_slices},
            {"slice_bytes", stream.slice_bytes},
            {"bytes_per_product", stream.bytes_per_product},
            {"predicted_ms", stream.predicted_ms},
            {"time", json_of(summarise(ms))},
            {"gbytes_per_s", rate},
            {"plain_copy", json_of(summarise(copy_ms))},
            {"share_of_plain_copy", json_of(of_bus)},
            {"resident_csr_vector", json_of(summarise(resident_ms))},
            {"has_bits_of_csr_vector", has_bits_of(plan, resident, x)},
            {"pass", of_bus.ratio >= 0.8}};
  }

  [[nodiscard]] double timed(const SpmvPlan<double>& plan, const Array<double>& x, Array<double>& y) const {
    synchronize(device_);
    const Stopwatch timer;
    plan.apply(x.span(), y.span());
    synchronize(device_);
    return timer.milliseconds();
  }

  [[nodiscard]] bool has_bits_of(const SpmvPlan<double>& plan, const SpmvPlan<double>& other,
                                 const Array<double>& x) const {
    const auto product_of = [&](const SpmvPlan<double>& each) {
      Array<double> y(each.rows(), Init::zero, device_);
      each.apply(x.span(), y.span());
      return y.to(Device{});
    };
    const Array<double> a = product_of(plan);
    const Array<double> b = product_of(other);
    return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  }

  /// Milliseconds per iteration: the ends of two solves cancel.
  [[nodiscard]] double per_iteration(const SpmvPlan<double>& plan, double& distance) const {
    const JacobiPreconditioner<double> m(plan.matrix(), device_);
    std::vector<double> elements(static_cast<std::size_t>(plan.rows()));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = (i * 2654435761U) % 1024 < 512 ? 1.0 : -1.0;
    const auto b = Array<double>::copy_of(elements, device_);
    const auto solve = [&](std::int64_t iterations) {
      Array<double> x(plan.rows(), Init::zero, device_);
      SolverOptions wanted;
      wanted.relative_tolerance = 1e-300;
      wanted.max_iterations = iterations;
      wanted.stagnation_window = 1'000'000'000;
      const SolveReport report = cg<double>(plan, m, b.span(), x.span(), wanted);
      distance = report.true_residual / report.b_norm;
      return report.timings.solve_ms;
    };
    static_cast<void>(solve(settings_.fewer));
    const double fewer = solve(settings_.fewer);
    const double more = solve(settings_.more);
    return (more - fewer) / static_cast<double>(settings_.more - settings_.fewer);
  }

  [[nodiscard]] Json conjugate_gradients(const std::string& name, const Csr<double>& matrix) {
    const SpmvPlan<double> streamed(Csr<double>::copy_of(matrix.view()),
                                    options(SpmvAlgorithm::automatic, packed_bytes(matrix) / 2));
    const SpmvPlan<double> resident(Csr<double>::copy_of(matrix.view()), options(SpmvAlgorithm::automatic, 0));
    double streamed_residual = 0.0;
    double resident_residual = 0.0;
    const double streamed_ms = per_iteration(streamed, streamed_residual);
    const double resident_ms = per_iteration(resident, resident_residual);
    const double predicted = streamed.info().stream->predicted_ms;
    fmt::print(
        "{:<32} CG {:8.3f} ms per iteration streamed (bus alone {:.3f}), {:8.3f} there by {}; residuals {:.6e} "
        "{:.6e}\n",
        name, streamed_ms, predicted, resident_ms, to_string(resident.info().algorithm), streamed_residual,
        resident_residual);
    std::fflush(stdout);
    return {{"matrix", name},
            {"streamed_ms_per_iteration", streamed_ms},
            {"predicted_ms_per_product", predicted},
            {"resident_ms_per_iteration", resident_ms},
            {"resident_kernel", to_string(resident.info().algorithm)},
            {"streamed_relative_residual", streamed_residual},
            {"resident_relative_residual", resident_residual}};
  }

  [[nodiscard]] Json page_rank() {
    const auto vertices = static_cast<std::int64_t>(settings_.scale * settings_.scale * 4e6);
    const auto graph = generate<double>(parse_generator(fmt::format("rmat:{}", std::max<std::int64_t>(vertices, 1000))),
                                        ValueStorage::pattern);
    const TransitionMatrix<double> transition(graph.view(), Device{});
    const auto rank = [&](std::uint64_t limit) {
      PageRankOptions wanted;
      wanted.spmv.device = device_;
      wanted.spmv.memory_limit_bytes = limit;
      return pagerank(transition, wanted);
    };
    const PageRankResult<double> streamed = rank(graph.bytes() / 2);
    const PageRankResult<double> resident = rank(0);
    double distance = 0.0;
    for (std::int64_t i = 0; i < streamed.ranks.size(); ++i) {
      distance += std::abs(streamed.ranks[i] - resident.ranks[i]);
    }
    const auto ms = [](const PageRankResult<double>& result) {
      return result.timings.solve_ms / static_cast<double>(std::max<std::int64_t>(result.iterations, 1));
    };
    const double predicted = streamed.plan.stream ? streamed.plan.stream->predicted_ms : 0.0;
    fmt::print(
        "rmat {:.3g} links  PageRank {:8.3f} ms per iteration streamed (bus alone {:.3f}), {:8.3f} there by {}; "
        "{} and {} iterations, l1 distance {:.1e}\n",
        static_cast<double>(graph.nnz()), ms(streamed), predicted, ms(resident), to_string(resident.plan.algorithm),
        streamed.iterations, resident.iterations, distance);
    return {{"links", graph.nnz()},
            {"kernel", to_string(streamed.plan.algorithm)},
            {"reason", streamed.plan.reason},
            {"streamed_ms_per_iteration", ms(streamed)},
            {"predicted_ms_per_product", predicted},
            {"resident_ms_per_iteration", ms(resident)},
            {"resident_kernel", to_string(resident.plan.algorithm)},
            {"iterations", streamed.iterations},
            {"resident_iterations", resident.iterations},
            {"l1_distance", distance}};
  }

  Settings settings_;
  Device device_;
};

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Products of a matrix that is streamed to a GPU");
  app.add_option("--scale", settings.scale, "of the sides of grids");
  app.add_option("--rounds", settings.rounds);
  app.add_option("--json", settings.json, "file of results");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of(
      "bench_streamed_cuda", [&] { tessera::bench::write(tessera::bench::Bench(settings).run(), settings.json); });
}
