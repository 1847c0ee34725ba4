/// Sizes of MERBIT's layouts on a GPU against each other, over the zoo of matrix families: a guide to the policies in
/// spmv/merbit/merbit_tuning.hpp. Every product is checked over NaN before it is timed; all take turns in one process
/// with the vendor's; shared rows are joined by carries. Exits with 1 if a product was wrong.
///
///   bench_merbit_layouts --families lap2d,road --precision fp32
#include "bench/merbit_layouts.hpp"
#include "bench/report.hpp"
#include "bench/zoo.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::bench {

using namespace detail;

namespace {

using namespace tessera::cuda;
using cuda::Context;

struct Settings {
  std::vector<std::string> families = zoo_families();
  std::vector<std::string> precisions{"fp32", "fp64"};
  std::vector<std::string> storages{"weighted", "pattern"};
  int rounds = 15;
};

/// One variant on one matrix.
template <class T, class V>
struct Prepared {
  const Variant<T, V>* variant = nullptr;
  ResidentBlocks resident;
  SnappedTiles tiles;
  ProductInput<T, V> in;
  Array<T> carries;
  Array<T> y;
  double median_ms = 0.0;

  void multiply(const Context& context) {
    ProductOutput<T> out{y.data()};
    out.carries = carries.data();
    variant->product.launch(context, resident, in, out);
    if (tiles.shared_starts == 0) return;
    join_shared_rows(context, in.snapped, out);
  }
};

template <class T, class V>
const V* values_of(const Csr<T>& a) {
  if constexpr (std::is_same_v<T, V>) return a.values().data();
  return nullptr;
}

template <class T, class V>
Prepared<T, V> prepare(const Variant<T, V>& variant, const Csr<T>& a, const Array<T>& x) {
  const Device& device = x.device();
  const Context& context = Context::of(device);
  Prepared<T, V> made;
  made.variant = &variant;
  made.resident = variant.product.prepare(context);
  made.tiles = build_snapped_tiles(a.rows(), a.row_offsets().span(), a.nnz(), variant.rules(a.rows(), a.nnz()), device);
  made.carries = Array<T>(made.tiles.tiles(), Init::none, device);
  const std::vector<T> nans(static_cast<std::size_t>(a.rows()), std::numeric_limits<T>::quiet_NaN());
  made.y = Array<T>::copy_of(std::span<const T>(nans), device);
  const SnappedTileArrays arrays{made.tiles.starts.data(), made.tiles.lane_words.data(), made.tiles.tiles()};
  made.in = {{a.columns().data(), values_of<T, V>(a), a.nnz()}, arrays, {}, x.data()};
  return made;
}

/// Median of the samples, ms.
double median_of(const std::vector<double>& samples) { return summarise(samples).median; }

template <class T, class V>
void print(std::vector<Prepared<T, V>>& all, double vendor_ms) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.median_ms < b.median_ms; });
  for (const Prepared<T, V>& each : all) {
    fmt::print("  {:8.4f} ms {:5.2f}x  {}\n", each.median_ms, vendor_ms / each.median_ms, each.variant->name);
  }
  std::fflush(stdout);
}

/// \returns whether the product, made once, is what it must be
template <class T, class V>
bool is_right(Prepared<T, V>& made, const Reference& reference, const Context& context) {
  made.multiply(context);
  std::vector<T> found(static_cast<std::size_t>(made.y.size()));
  detail::copy_bytes(Device{}, found.data(), made.y.device(), made.y.data(), made.y.bytes());
  const double error = error_over_bound<T>(reference, std::span<const T>(found));
  if (error <= 1.0) return true;
  fmt::print("  WRONG: {}, error {:.3g} times what rounding explains\n", made.variant->name, error);
  return false;
}

/// \returns whether all products were right
template <class T, class V>
bool measure(const ZooMatrix& zoo, const Settings& settings) {
  const Device device = Device::cuda(0);
  const Context& context = Context::of(device);
  const std::vector<T> host_x = input_vector<T>(zoo.matrix.cols());
  const auto x = Array<T>::copy_of(std::span<const T>(host_x), device);
  const Csr<T> host = std::is_same_v<V, Ones> ? pattern_of<T>(zoo.matrix) : with_type<T>(zoo.matrix);
  const Reference reference = reference_product(host.view(), std::span<const T>(host_x), false);
  const auto matrix = std::make_shared<const Csr<T>>(host.to(device));
  SpmvOptions options;
  options.device = device;
  options.algorithm = SpmvAlgorithm::vendor_csr;
  const SpmvPlan<T> vendor(matrix, options);
  DualBuffer<T> vendor_y = vendor.make_output();
  const std::vector<Variant<T, V>> given = merbit_variants<T, V>();
  std::vector<Prepared<T, V>> all;
  bool all_right = true;
  std::vector<TimingCandidate> candidates{{"vendor", [&] { vendor.apply(x.span(), vendor_y); }, {}}};
  for (const Variant<T, V>& variant : given) {
    Prepared<T, V> made = prepare(variant, *matrix, x);
    if (made.tiles.cannot_be_summed) continue;
    if (is_right(made, reference, context)) {
      all.push_back(std::move(made));
    } else {
      all_right = false;
    }
  }
  for (Prepared<T, V>& each : all) candidates.push_back({each.variant->name, [&] { each.multiply(context); }, {}});
  TimingOptions timing;
  timing.warmup = 3;
  timing.min_rounds = timing.max_rounds = settings.rounds;
  timing.min_seconds = 0.0;
  timing.min_sample_ms = 1.0;
  timing.clock = timing_clock(device);
  const TimingSamples samples = time_interleaved(candidates, timing);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].median_ms = median_of(samples[i + 1]);
  const double vendor_ms = median_of(samples[0]);
  fmt::print("{} {} {}  vendor {:.4f} ms\n", zoo.family, sizeof(T) == 4 ? "fp32" : "fp64",
             std::is_same_v<V, Ones> ? "pattern" : "weighted", vendor_ms);
  print(all, vendor_ms);
  return all_right;
}

bool run(const Settings& settings) {
  bool right = true;
  const auto wanted = [](const std::vector<std::string>& list, const char* word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  for (const std::string& family : settings.families) {
    const ZooMatrix zoo = make_zoo_matrix(family, 1.0);
    if (wanted(settings.precisions, "fp32")) {
      if (wanted(settings.storages, "weighted")) right &= measure<float, float>(zoo, settings);
      if (wanted(settings.storages, "pattern")) right &= measure<float, Ones>(zoo, settings);
    }
    if (wanted(settings.precisions, "fp64")) {
      if (wanted(settings.storages, "weighted")) right &= measure<double, double>(zoo, settings);
      if (wanted(settings.storages, "pattern")) right &= measure<double, Ones>(zoo, settings);
    }
  }
  return right;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Sizes of MERBIT's layouts on a GPU over the matrix families");
  app.add_option("--families", settings.families, "Families to measure")->delimiter(',')->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp32, fp64")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp64"}))
      ->capture_default_str();
  app.add_option("--storage", settings.storages, "weighted, pattern")
      ->delimiter(',')
      ->check(CLI::IsMember({"weighted", "pattern"}))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->check(CLI::Range(1, 100000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_merbit_layouts", [&] { return tessera::bench::run(settings); });
}
