#include "bench/paper_product.hpp"

#include "bench/bmsparse.hpp"
#include "bench/tsparse.hpp"
#include "core/stopwatch.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::bench {

namespace {

constexpr std::string_view bmsparse_name = "bmsparse";
constexpr std::string_view tsparse_name = "tsparse";
constexpr double largest_half = 65504.0;

bool has_same_positions(const Csr<double>& one, const Csr<double>& other) {
  const auto same = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); };
  return one.nnz() == other.nnz() && same(one.row_offsets(), other.row_offsets()) &&
         same(one.columns(), other.columns());
}

void require_half_range(const Csr<double>& on_device) {
  const Array<double> values = on_device.values().to(Device{});
  for (std::int64_t k = 0; k < values.size(); ++k) {
    if (std::fabs(values[k]) <= largest_half) continue;
    throw NotSupported(fmt::format("nonzero {} is {:g}, beyond the range of half precision", k, values[k]));
  }
}

/// Symmetric mean absolute percentage error (tSparse, equation 3) and the largest error over the largest entry of its
/// row.
struct HalfError {
  double smape_percent = 0.0;
  double over_row_largest = 0.0;
};

HalfError error_of(const Csr<double>& expected, const Csr<double>& found) {
  HalfError result;
  double sum = 0.0;
  for (index_t i = 0; i < expected.rows(); ++i) {
    double largest = 0.0;
    double worst = 0.0;
    for (offset_t k = expected.row_offsets()[i]; k < expected.row_offsets()[i + 1]; ++k) {
      const double right = expected.values()[k];
      const double error = std::fabs(right - found.values()[k]);
      const double both = std::fabs(right) + std::fabs(found.values()[k]);
      largest = std::max(largest, std::fabs(right));
      worst = error <= worst ? worst : error;
      if (both != 0.0) sum += error / both;
    }
    const double relative = largest > 0.0 ? worst / largest : 0.0;
    result.over_row_largest = relative <= result.over_row_largest ? result.over_row_largest : relative;
  }
  result.smape_percent = expected.nnz() > 0 ? 100.0 * sum / static_cast<double>(expected.nnz()) : 0.0;
  return result;
}

}  // namespace

bool agrees(const Csr<double>& expected, const Csr<double>& found) {
  if (!has_same_positions(expected, found)) return false;
  for (index_t i = 0; i < expected.rows(); ++i) {
    double largest = 0.0;
    double worst = 0.0;
    for (offset_t k = expected.row_offsets()[i]; k < expected.row_offsets()[i + 1]; ++k) {
      largest = std::max(largest, std::fabs(expected.values()[k]));
      const double difference = std::fabs(expected.values()[k] - found.values()[k]);
      worst = difference <= worst ? worst : difference;
    }
    if (!(worst <= 1e-12 * largest)) return false;
  }
  return true;
}

struct PaperProduct::Impl {
  std::string name;
  Device device;
  index_t rows;
  index_t cols;
  TileMatrix<double> a;
  TileMatrix<double> b;
  bool squared;
  TiledProduct<double> in_double;
  TiledProduct<float> in_half;
  double to_tiles_ms = 0.0;
  double to_csr_ms = 0.0;
  support::Json error = nullptr;

  [[nodiscard]] TileView<double> right() const { return squared ? a.view() : b.view(); }
};

PaperProduct::PaperProduct(std::string_view name, const Csr<double>& a, const Csr<double>& b, const Device& device)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  impl_->device = device;
  impl_->rows = a.rows();
  impl_->cols = b.cols();
  impl_->squared = &a == &b;
  if (name == tsparse_name) {
    require_half_range(a);
    if (!impl_->squared) require_half_range(b);
  }
  // The first conversion warms the pool.
  for (int round = 0; round < 2; ++round) {
    const Stopwatch watch;
    impl_->a = detail::build_tiles(a.view(), device).matrix;
    if (!impl_->squared) impl_->b = detail::build_tiles(b.view(), device).matrix;
    synchronize(device);
    impl_->to_tiles_ms = watch.milliseconds();
  }
}

PaperProduct::~PaperProduct() = default;

bool PaperProduct::knows(std::string_view name) { return name == bmsparse_name || name == tsparse_name; }

/// The old C is freed first, as the other contenders do.
void PaperProduct::multiply() {
  Impl& own = *impl_;
  if (own.name == bmsparse_name) {
    own.in_double = {};
    own.in_double = multiply_bmsparse(own.device, own.a.view(), own.right());
  } else {
    own.in_half = {};
    own.in_half = multiply_tsparse(own.device, own.a.view(), own.right());
  }
}

std::string PaperProduct::check(const Csr<double>& expected) {
  Impl& own = *impl_;
  Csr<double> found;
  for (int round = 0; round < 2; ++round) {
    const Stopwatch watch;
    found = own.name == bmsparse_name ? csr_of_product(own.device, own.in_double, own.rows, own.cols)
                                      : csr_of_product(own.device, own.in_half, own.rows, own.cols);
    synchronize(own.device);
    own.to_csr_ms = watch.milliseconds();
  }
  const Csr<double> on_host = found.to(Device{});
  if (own.name == bmsparse_name) return agrees(expected, on_host) ? "" : "the product differs from the host's";
  if (!has_same_positions(expected, on_host)) return "the positions differ from the host's";
  const HalfError error = error_of(expected, on_host);
  own.error = {{"smape_percent", error.smape_percent}, {"largest_over_row_largest", error.over_row_largest}};
  return "";
}

support::Json PaperProduct::facts() const {
  const Impl& own = *impl_;
  return {{"from_tiles_to_tiles", true},
          {"tasks", own.name == bmsparse_name ? own.in_double.tasks : own.in_half.tasks},
          {"to_tiles_ms", own.to_tiles_ms},
          {"to_csr_ms", own.to_csr_ms},
          {"half_error", own.error}};
}

}  // namespace tessera::bench
