// Products in less than working precision on the host: values are rounded, then multiplied as by the workflow `tiles`
// in single precision, in which products of two numbers in half precision are exact.
#include "spgemm/host/workflows/narrow_product.hpp"

#include "core/narrow_floats.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/loss_sample.hpp"
#include "spgemm/host/job.hpp"
#include "spgemm/host/workflows/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

namespace tessera::host {

namespace {

/// What rounding lost, of some values.
struct RoundingLoss {
  double largest = 0.0;
  offset_t to_zero = 0;
  offset_t to_subnormal = 0;
  bool beyond = false;  ///< whether a finite value became infinite

  RoundingLoss& operator+=(const RoundingLoss& other) noexcept {
    largest = std::max(largest, other.largest);
    to_zero += other.to_zero;
    to_subnormal += other.to_subnormal;
    beyond = beyond || other.beyond;
    return *this;
  }
};

/// A value in half precision; notes what that lost.
template <class T>
float round_value(T value, RoundingLoss& loss) noexcept {
  const detail::Half half = detail::half_of(static_cast<double>(value));
  const float rounded = detail::float_of(half);
  if (!std::isfinite(value) || value == T{0}) return rounded;
  if (!detail::is_finite(half)) {
    loss.beyond = true;
    return rounded;
  }
  loss.to_zero += detail::is_zero(half) ? 1 : 0;
  loss.to_subnormal += detail::is_subnormal(half) ? 1 : 0;
  loss.largest = std::max(loss.largest, static_cast<double>(std::fabs((static_cast<T>(rounded) - value) / value)));
  return rounded;
}

/// Values of a factor in half precision, as numbers in single; none of a pattern.
template <class T>
Array<float> round_values(const CsrView<T>& matrix, const Device& device, RoundingLoss& loss) {
  const auto nnz = static_cast<std::int64_t>(matrix.values.size());
  Array<float> result(nnz, Init::none);
  loss = parallel_sum<RoundingLoss>(device, nnz, [&](Range range) {
    RoundingLoss of_range;
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      result[k] = round_value(matrix.values[static_cast<std::size_t>(k)], of_range);
    }
    return of_range;
  });
  return result;
}

/// A matrix with other values. \param values none for a pattern
template <class T>
CsrView<float> with_values(const CsrView<T>& matrix, std::span<const float> values) noexcept {
  return {matrix.rows, matrix.cols, matrix.storage, matrix.row_offsets, matrix.columns, values};
}

template <class T>
class NarrowProduct {
 public:
  NarrowProduct(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options)
      : options_(options),
        a_(a.view()),
        b_(b.view()),
        same_(&a == &b),
        job_(start_job(with_values(a_, {}), with_values(b_, {}), options)) {
    fit_workspaces<NoValue>(job_, 0);
  }

  [[nodiscard]] SpgemmResult<T> run() {
    take_values();
    report_.workflow = SpgemmWorkflow::tiles;
    report_.precision = options_.precision;
    report_.reason = options_.workflow == SpgemmWorkflow::tiles
                         ? "chosen by name"
                         : fmt::format("{} is for tiles", to_string(options_.precision));
    report_.products = job_.analysis.total();
    if (!a_.columns.empty()) {
      report_.expansion = static_cast<double>(report_.products) / static_cast<double>(a_.columns.size());
    }
    report_.analysis_ms = total_.milliseconds();
    // Throws where tiles do not fit into memory.
    Csr<float> c = tile_product<float>(job_, report_).value();
    report_.reason += is_half() ? ", entry by entry in half precision, sums in single"
                                : ", entry by entry in single precision: the host has no tensor instructions";
    return finish(std::move(c));
  }

 private:
  [[nodiscard]] bool is_half() const noexcept { return options_.precision == SpgemmPrecision::fp16_fp32; }

  void take_values() {
    loss_.values = static_cast<offset_t>(a_.values.size() + (same_ ? 0 : b_.values.size()));
    if (is_half()) {
      job_.budget.reserve(static_cast<std::uint64_t>(loss_.values) * sizeof(float), "rounded values");
      RoundingLoss of_a;
      RoundingLoss of_b;
      a_rounded_ = round_values(a_, options_.device, of_a);
      if (of_a.beyond) detail::refuse_beyond_half(a_, "A");
      if (!same_) b_rounded_ = round_values(b_, options_.device, of_b);
      if (of_b.beyond) detail::refuse_beyond_half(b_, "B");
      of_a += of_b;
      loss_.largest_rounding = of_a.largest;
      loss_.to_zero = of_a.to_zero;
      loss_.to_subnormal = of_a.to_subnormal;
      job_.a.values = a_rounded_.span();
      job_.b.values = same_ ? a_rounded_.span() : b_rounded_.span();
    } else if constexpr (std::is_same_v<T, float>) {
      job_.a.values = a_.values;
      job_.b.values = b_.values;
    }
  }

  [[nodiscard]] SpgemmResult<T> finish(Csr<float> sums) {
    SpgemmResult<T> result;
    if constexpr (std::is_same_v<T, float>) {
      result.matrix = std::move(sums);
    } else {
      job_.budget.reserve(static_cast<std::uint64_t>(sums.nnz()) * sizeof(T), "sparse product");
      Array<T> values(sums.nnz(), Init::none);
      std::copy(sums.values().begin(), sums.values().end(), values.begin());
      result.matrix = sums.template with_values<T>(std::move(values));
    }
    detail::measure_loss(a_, b_, result.matrix.view(), loss_);
    report_.loss = loss_;
    report_.nnz = result.matrix.nnz();
    report_.threads = job_.workers;
    report_.peak_bytes = job_.budget.peak();
    report_.total_ms = total_.milliseconds();
    result.report = std::move(report_);
    return result;
  }

  Stopwatch total_;
  SpgemmOptions options_;
  CsrView<T> a_;
  CsrView<T> b_;
  bool same_;  ///< whether A and B are one matrix
  HostJob<float> job_;
  Array<float> a_rounded_;
  Array<float> b_rounded_;  ///< none where A and B are one matrix
  SpgemmLoss loss_;
  SpgemmReport report_;
};

}  // namespace

template <class T>
SpgemmResult<T> narrow_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  return NarrowProduct<T>(a, b, options).run();
}

template SpgemmResult<float> narrow_product(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> narrow_product(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera::host
