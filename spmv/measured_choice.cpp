/// \file
/// Choice of a kernel by measurement: a tournament against the best so far.
#include "spmv/measured_choice.hpp"

#include "core/cuda/memory.hpp"
#include "core/stopwatch.hpp"
#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "spmv/break_even.hpp"
#include "spmv/common/enqueue_product.hpp"
#include "spmv/measured_choices.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "spmv/registry.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// Rounds of two kernels in turn, each a batch of products of about so many milliseconds.
constexpr int rounds = 7;
constexpr double batch_ms = 0.2;
constexpr double most_products_of_batch = 64.0;

/// A kernel whose first batch takes this multiple of the best so far is not timed any further.
constexpr double hopeless = 1.25;

/// Nor is one built that is predicted to take this multiple of the least prediction. Of the products on record the
/// fastest kernel is never predicted at more than 1.25 times the least (tests/spmv/recorded_products_test.cpp).
constexpr double hopeless_prediction = 2.0;

[[nodiscard]] int products_of_batch(double product_ms) {
  return static_cast<int>(std::clamp(std::ceil(batch_ms / std::max(product_ms, 1e-6)), 1.0, most_products_of_batch));
}

/// Times of a kernel in milliseconds.
struct KernelTimes {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  double build = 0.0;
  double product = 0.0;

  [[nodiscard]] double of(std::int64_t applications) const {
    return build + static_cast<double>(applications) * product;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} {:.3g} and {:.3g} ms", to_string(algorithm), product, build);
  }
};

/// Vectors for products with one matrix.
template <class T>
class TrialProducts {
 public:
  TrialProducts(const CsrView<T>& a, const Device& device)
      : a_(a),
        device_(device),
        x_(a.cols, Init::zero, device),
        y_(a.rows, Init::zero, device),
        sums_(1, Init::zero, device) {}

  /// Of one product, in a batch of `count`. Waits.
  [[nodiscard]] double milliseconds(const SpmvKernel<T>& kernel, int count) {
    const Stopwatch watch;
    for (int k = 0; k < count; ++k) multiply(kernel);
    synchronize(device_);
    return watch.milliseconds() / count;
  }

 private:
  void multiply(const SpmvKernel<T>& kernel) {
    const std::span<const T> x = std::as_const(x_).span();
    if (a_.rows != a_.cols) return kernel.apply(a_, T{1}, x, T{0}, y_.span());
    if (device_.is_host()) return static_cast<void>(kernel.apply_and_dot(a_, x, y_.span(), x));
    enqueue_product<T>(device_, kernel, a_, x, y_.span(), x, sums_.data());
  }

  CsrView<T> a_;
  Device device_;
  Array<T> x_;
  Array<T> y_;
  Array<ProductDots> sums_;
};

/// Which kernels a measured choice tries, in which order.
class Candidates {
 public:
  /// Of the host, all. Of a GPU, those that are predicted, the fastest first, then the others. \param a on
  /// options.device
  template <class T>
  Candidates(const CsrView<T>& a, const SpmvOptions& options) {
    const std::span<const SpmvAlgorithm> known = spmv_algorithms(options.device);
    tried_.assign(known.begin(), known.end());
    if (options.device.is_host()) return;
    try {
      predicted_ = predict_products(product_traits(a, options), device_figures(options.device));
    } catch (const OutOfMemory&) {  // of the samples: all are tried
      return;
    }
    std::erase_if(predicted_, [&](const PredictedProduct& each) {
      return std::find(known.begin(), known.end(), each.algorithm) == known.end() ||
             spmv_kernel_entry(each.algorithm).cuda.strongest < options.determinism;
    });
    if (predicted_.empty()) return;
    const double most = hopeless_prediction * predicted_.front().ms;
    std::erase_if(tried_, [&](SpmvAlgorithm each) { return prediction_of(each) > most; });
    std::stable_sort(tried_.begin(), tried_.end(),
                     [&](SpmvAlgorithm one, SpmvAlgorithm other) { return prediction_of(one) < prediction_of(other); });
    for (const PredictedProduct& each : predicted_) {
      if (each.ms > most) left_out_.push_back(each);
    }
  }

  [[nodiscard]] const std::vector<SpmvAlgorithm>& tried() const noexcept { return tried_; }

  /// Part of a reason: "; predicted 0.289 ms, merbit 0.482 ms; too slow by prediction: sell 1.24 ms".
  [[nodiscard]] std::string text(SpmvAlgorithm chosen) const {
    std::string text = describe_prediction(predicted_, chosen);
    if (!text.empty()) text = "; " + text;
    for (const PredictedProduct& each : left_out_) {
      text += fmt::format("{} {} {:.3g} ms", &each == left_out_.data() ? "; too slow by prediction:" : ",",
                          to_string(each.algorithm), each.ms);
    }
    return text;
  }

 private:
  /// Kernels without a prediction come last, and are tried.
  [[nodiscard]] double prediction_of(SpmvAlgorithm algorithm) const {
    const auto found = std::find_if(predicted_.begin(), predicted_.end(),
                                    [algorithm](const PredictedProduct& each) { return each.algorithm == algorithm; });
    return found == predicted_.end() ? hopeless_prediction * predicted_.front().ms : found->ms;
  }

  std::vector<SpmvAlgorithm> tried_;
  std::vector<PredictedProduct> predicted_;
  std::vector<PredictedProduct> left_out_;
};

template <class T>
class Tournament {
 public:
  Tournament(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options)
      : a_(a), on_host_(on_host), options_(options), products_(a, options.device) {
    options_.algorithm = SpmvAlgorithm::automatic;
    // The strongest class costs nothing on the host, as in plan_kernel().
    if (options_.device.is_host()) options_.determinism = Determinism::gpu_to_gpu;
    best_times_.build = build(best_);
    best_times_.algorithm = best_.algorithm;
    automatic_ = best_.algorithm;
    static_cast<void>(products_.milliseconds(*best_.kernel, 1));  // warm-up
    const int count = products_of_batch(products_.milliseconds(*best_.kernel, 1));
    std::vector<double> samples;
    samples.reserve(rounds);
    for (int round = 0; round < rounds; ++round) samples.push_back(products_.milliseconds(*best_.kernel, count));
    best_times_.product = median(std::move(samples));
    needs_rank_products_ = options.rank_products && best_.kernel->make_rank_product(a, 1) != nullptr;
  }

  void challenge(SpmvAlgorithm algorithm) {
    if (was_measured(algorithm) || !suits(algorithm)) return;
    options_.algorithm = algorithm;
    try {
      PlannedKernel<T> challenger;
      KernelTimes times{algorithm, build(challenger), 0.0};
      if (needs_rank_products_ && challenger.kernel->make_rank_product(a_, 1) == nullptr) return;
      measure(*challenger.kernel, times);
      const bool wins = times.of(options_.expected_applications) < best_times_.of(options_.expected_applications);
      if (wins) {
        std::swap(best_, challenger);
        std::swap(best_times_, times);
      }
      losers_.push_back(times);
    } catch (const NotSupported&) {  // the matrix does not suit
    } catch (const OutOfMemory&) {   // beside the best so far
    }
  }

  /// \param key by which the choice is remembered
  [[nodiscard]] PlannedKernel<T> finish(std::string key, const Candidates& candidates) {
    std::string text = fmt::format(", per product and set-up: {}", best_times_.text());
    for (const KernelTimes& times : losers_) text += ", " + times.text();
    if (losers_.empty()) text += ", which nothing else suits";
    text += fmt::format("; least for {} products", options_.expected_applications) + candidates.text(best_.algorithm);
    best_.reason = "measured" + text;
    remember_choice(std::move(key), {best_.algorithm, best_.algorithm == automatic_, std::move(text)});
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool was_measured(SpmvAlgorithm algorithm) const {
    return algorithm == best_.algorithm ||
           std::any_of(losers_.begin(), losers_.end(),
                       [algorithm](const KernelTimes& times) { return times.algorithm == algorithm; });
  }

  /// \returns milliseconds
  [[nodiscard]] double build(PlannedKernel<T>& into) {
    const Stopwatch watch;
    into = plan_kernel(a_, on_host_, options_);
    synchronize(options_.device);
    return watch.milliseconds();
  }

  /// Whether it can be built, keeps the class asked for, and is worth the memory.
  [[nodiscard]] bool suits(SpmvAlgorithm algorithm) const {
    if (algorithm == SpmvAlgorithm::streamed) return false;  // never faster than what fits
    const SpmvBackend& backend = spmv_kernel_entry(algorithm).on(options_.device);
    if (!backend.offered() || backend.strongest < options_.determinism) return false;
    // Copies as large as the matrix, which a host reads more slowly than CSR.
    if (algorithm == SpmvAlgorithm::csr5) return !options_.device.is_host();
    if (algorithm == SpmvAlgorithm::blocked && !options_.device.is_host()) {
      const cuda::BlockedForecast forecast = cuda::forecast_blocked(a_, options_.device);
      return forecast.blocked_ms < forecast.gather_ms;
    }
    if (algorithm != SpmvAlgorithm::tiles) return true;
    return bitmap_tiles_pay(value_bytes_of(a_, options_), estimate_tiles(a_, options_.device).fill);
  }

  /// In turn with the best so far, first in turn, so that what disturbs the machine disturbs both alike. All times are
  /// multiples of that of the first kernel, so a slower hour of the machine favours none.
  void measure(const SpmvKernel<T>& challenger, KernelTimes& times) {
    static_cast<void>(products_.milliseconds(challenger, 1));  // warm-up
    const int count = products_of_batch(best_times_.product);
    times.product = products_.milliseconds(challenger, count);
    if (times.product > hopeless * best_times_.product) return;
    std::vector<double> own;
    std::vector<double> of_best;
    for (int round = 0; round < rounds; ++round) {
      if (round % 2 == 0) own.push_back(products_.milliseconds(challenger, count));
      of_best.push_back(products_.milliseconds(*best_.kernel, count));
      if (round % 2 != 0) own.push_back(products_.milliseconds(challenger, count));
    }
    times.product = best_times_.product * median(std::move(own)) / median(std::move(of_best));
  }

  CsrView<T> a_;
  CsrView<T> on_host_;
  SpmvOptions options_;
  TrialProducts<T> products_;
  PlannedKernel<T> best_;
  KernelTimes best_times_;
  SpmvAlgorithm automatic_ = SpmvAlgorithm::csr;  ///< what `automatic` takes
  std::vector<KernelTimes> losers_;
  bool needs_rank_products_ = false;
};

/// The kernel that was remembered; none where it does not suit the matrix, which is then forgotten.
template <class T>
std::optional<PlannedKernel<T>> plan_remembered(const CsrView<T>& a, const CsrView<T>& on_host, SpmvOptions options,
                                                const std::string& key) {
  const std::optional<MeasuredChoice> choice = recall_choice(key);
  if (!choice) return std::nullopt;
  // As in the tournament: by the same way, a sample's promise included, and with the same class.
  options.algorithm = choice->is_automatic ? SpmvAlgorithm::automatic : choice->algorithm;
  if (options.device.is_host()) options.determinism = Determinism::gpu_to_gpu;
  try {
    check_spmv_options(options);
    PlannedKernel<T> planned = plan_kernel(a, on_host, options);
    if (planned.algorithm == choice->algorithm) {
      planned.reason = "measured before" + choice->reason;
      return planned;
    }
  } catch (const NotSupported&) {  // such a kernel was not chosen for this matrix
  } catch (const OutOfMemory&) {   // less is free than when it was chosen
  }
  forget_choice(key);
  return std::nullopt;
}

}  // namespace

template <class T>
PlannedKernel<T> measure_kernels(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options) {
  if (a.rows == 0 || a.nnz() == 0) {
    SpmvOptions automatic = options;
    automatic.algorithm = SpmvAlgorithm::automatic;
    return plan_kernel(a, on_host, automatic);
  }
  std::string key = choice_key(a, options);
  if (std::optional<PlannedKernel<T>> remembered = plan_remembered(a, on_host, options, key)) {
    return *std::move(remembered);
  }
  const Candidates candidates(a, options);
  Tournament<T> tournament(a, on_host, options);
  for (const SpmvAlgorithm algorithm : candidates.tried()) tournament.challenge(algorithm);
  return tournament.finish(std::move(key), candidates);
}

template PlannedKernel<float> measure_kernels(const CsrView<float>&, const CsrView<float>&, const SpmvOptions&);
template PlannedKernel<double> measure_kernels(const CsrView<double>&, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::detail
