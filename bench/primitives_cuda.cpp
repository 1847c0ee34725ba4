/// Device-wide primitives of a GPU, own kernels against CUB in one run: the exclusive sum of 64-bit counts, the order
/// of rows by work (one segment of keys) and the sort of products by column in segments (rows of C), as SpGEMM calls
/// them. Candidates take turns; times are of the device's clock, with temporary storage from a warm pool. Results are
/// compared bit by bit before a time counts.
///
///   bench_primitives_cuda --json results.json
#include "bench/primitives_segmented.hpp"
#include "bench/report.hpp"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/scan.hpp"
#include "core/random.hpp"
#include "support/machine.hpp"
#include "tessera/array.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

using cuda::PrimitiveBy;

constexpr int row_bits = 32;
constexpr int work_bits = 13;  // of products per row, up to 6145
constexpr int column_bits = 20;

struct Settings {
  double most = 1e8;
  int rounds = 30;
  std::string device = "cuda";
  std::string json;
};

struct Contender {
  std::string name;
  std::function<void()> run;
};

std::vector<std::uint64_t> random_numbers(std::int64_t count, int bits) {
  detail::SplitMix64 random(static_cast<std::uint64_t>(count));
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count));
  for (auto& number : numbers) number = random.next() >> (64 - bits);
  return numbers;
}

/// An array of the device that every sample begins with.
template <class T>
class Input {
 public:
  Input(const std::vector<T>& values, const Device& device)
      : original_(Array<T>::copy_of(values, device)), work_(original_.size(), Init::none, device) {}
  void restore() {
    detail::copy_bytes(work_.device(), work_.data(), original_.device(), original_.data(), original_.bytes());
  }
  [[nodiscard]] Array<T>& work() noexcept { return work_; }
  [[nodiscard]] std::vector<T> result() const {
    const Array<T> on_host = work_.to(Device{});
    return {on_host.begin(), on_host.end()};
  }

 private:
  Array<T> original_;
  Array<T> work_;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), device_(Device::parse(settings.device)) {}

  [[nodiscard]] Json run();

 private:
  template <class T>
  void add(const std::string& name, std::int64_t size, Input<T>& input, const std::vector<Contender>& contenders);
  void exclusive_sum(std::int64_t size);
  void order_of_rows(std::int64_t size);
  void sort_in_segments(std::int64_t segments, std::int64_t length);

  Settings settings_;
  Device device_;
  Json rows_ = Json::array();
};

/// The first contender is the baseline.
template <class T>
void Bench::add(const std::string& name, std::int64_t size, Input<T>& input, const std::vector<Contender>& contenders) {
  std::vector<TimingCandidate> candidates;
  std::vector<T> expected;
  for (const Contender& contender : contenders) {
    input.restore();
    contender.run();
    std::vector<T> found = input.result();
    if (!expected.empty() && found != expected) throw std::runtime_error(name + ": " + contender.name + " differs");
    expected = std::move(found);
    candidates.push_back({contender.name, contender.run, [&input] { input.restore(); }});
  }
  TimingOptions options;
  options.clock = timing_clock(device_);
  options.min_rounds = settings_.rounds;
  options.max_rounds = settings_.rounds;
  options.max_seconds = 20.0;
  const TimingSamples samples = time_interleaved(candidates, options);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const TimingSummary summary = summarise(samples[c]);
    Json row{{"primitive", name}, {"size", size}, {"by", candidates[c].name}, {"time", json_of(summary)}};
    if (c > 0) add_speedup(row, candidates[0].name, samples[0], samples[c]);
    fmt::print("{:36} {:>10} {:>14} {:10.4f} ms {:8.3f} G/s{}\n", name, size, candidates[c].name, summary.median,
               static_cast<double>(size) / summary.median * 1e-6, speedup_text(row));
    rows_.push_back(std::move(row));
  }
}

void Bench::exclusive_sum(std::int64_t size) {
  std::vector<offset_t> counts;
  for (const std::uint64_t number : random_numbers(size, 10)) counts.push_back(static_cast<offset_t>(number));
  Input<offset_t> input(counts, device_);
  const auto scan = [&](PrimitiveBy by) {
    return [&input, this, by] { cuda::exclusive_sum_on_device(device_, input.work().span(), by); };
  };
  add("exclusive sum", size, input, {{"own", scan(PrimitiveBy::own)}, {"cub", scan(PrimitiveBy::cub)}});
  const auto with_total = [&](PrimitiveBy by) {
    return [&input, this, by] { static_cast<void>(cuda::exclusive_sum(device_, input.work().span(), by)); };
  };
  add("exclusive sum, total to the host", size, input,
      {{"own", with_total(PrimitiveBy::own)}, {"cub", with_total(PrimitiveBy::cub)}});
}

/// As order_by_work() of spgemm/esc: products above the number of the row.
void Bench::order_of_rows(std::int64_t size) {
  std::vector<std::uint64_t> keys = random_numbers(size, work_bits);
  for (std::size_t row = 0; row < keys.size(); ++row) keys[row] = keys[row] << row_bits | row;
  Input<std::uint64_t> input(keys, device_);
  Array<std::uint64_t> other(size, Init::none, device_);
  const auto sort = [&](PrimitiveBy by) {
    return [&input, &other, this, size, by] {
      cuda::enqueue_sort(device_, input.work(), other, cuda::one_segment(size), row_bits, row_bits + work_bits, by);
    };
  };
  add("order of rows", size, input, {{"own", sort(PrimitiveBy::own)}, {"cub", sort(PrimitiveBy::cub)}});
}

/// As the slices of spgemm/esc: the columns of a row above their place.
void Bench::sort_in_segments(std::int64_t segments, std::int64_t length) {
  const std::int64_t size = segments * length;
  int place_bits = 0;
  while ((std::int64_t{1} << place_bits) < length) ++place_bits;
  std::vector<offset_t> begins;
  for (std::int64_t s = 0; s <= segments; ++s) begins.push_back(s * length);
  std::vector<std::uint64_t> keys = random_numbers(size, column_bits);
  for (std::int64_t k = 0; k < size; ++k) {
    auto& key = keys[static_cast<std::size_t>(k)];
    key = key << place_bits | static_cast<std::uint64_t>(k % length);
  }
  Input<std::uint64_t> input(keys, device_);
  Array<std::uint64_t> other(size, Init::none, device_);
  const cuda::TileTable table(device_, begins);
  const auto begins_on_device = Array<offset_t>::copy_of(begins, device_);
  const int end = place_bits + column_bits;
  std::vector<Contender> contenders;
  contenders.push_back(
      {"own", [&] { cuda::enqueue_sort(device_, input.work(), other, table.view(), place_bits, end); }});
  contenders.push_back({"cub segmented", [&] {
                          cub_sort_segments(device_, input.work(), other, begins_on_device.span(), place_bits, end);
                        }});
  if (segments == 1) {
    contenders.push_back({"cub", [&] {
                            cuda::enqueue_sort(device_, input.work(), other, cuda::one_segment(size), place_bits, end,
                                               PrimitiveBy::cub);
                          }});
  }
  add(fmt::format("sort in {} segments", segments), size, input, contenders);
}

Json Bench::run() {
  Json report = document("primitives_cuda");
  report["gpu"] = support::gpu_json(device_);
  for (const std::int64_t size : {1'000, 2'049, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000}) {
    if (static_cast<double>(size) <= settings_.most) exclusive_sum(size);
  }
  for (const std::int64_t size : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    if (static_cast<double>(size) <= settings_.most) order_of_rows(size);
  }
  for (const auto& [segments, length] : {std::pair<std::int64_t, std::int64_t>{1, 1 << 20},
                                         {1, 1 << 25},
                                         {16, 1 << 18},
                                         {256, 1 << 16},
                                         {1024, 1 << 14},
                                         {4096, 1 << 13}}) {
    if (static_cast<double>(segments * length) <= settings_.most) sort_in_segments(segments, length);
  }
  report["rows"] = rows_;
  return report;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Device-wide primitives of a GPU: own kernels against CUB");
  app.add_option("--most", settings.most, "Leave out larger sizes")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each contender")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of(
      "bench_primitives_cuda", [&] { tessera::bench::write(tessera::bench::Bench(settings).run(), settings.json); });
}
