/// \file
/// Products in slices of rows: foreseen, cut, formed, and cut again where they turn out too large.
#include "spgemm/common/slices.hpp"

#include "core/borrowed_csr.hpp"
#include "core/cuda/memory.hpp"
#include "core/memory_budget.hpp"
#include "core/row_slice.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tessera {

namespace detail {

namespace {

/// Of the memory that a device has free, what slices may take: other users of it come and go.
constexpr double free_share = 0.9;

[[nodiscard]] std::uint64_t free_bytes(const Device& device) {
  const std::uint64_t bytes = device.is_host() ? available_host_memory_bytes() : cuda::available_bytes(device);
  return static_cast<std::uint64_t>(free_share * static_cast<double>(bytes));
}

/// Every row of A brings as many products as the mean row of B has entries: of no memory but the sums.
template <class T>
[[nodiscard]] RowPrediction predict_by_a(const Csr<T>& a, const Csr<T>& b) {
  RowPrediction result;
  const Array<offset_t> copied = a.device().is_host() ? Array<offset_t>() : a.row_offsets().to(Device{});
  const offset_t* const offsets = copied.empty() ? a.row_offsets().data() : copied.data();
  const double mean = b.rows() == 0 ? 0.0 : static_cast<double>(b.nnz()) / b.rows();
  result.rows = a.rows();
  for (index_t begin = 0; begin < a.rows(); begin += prediction_group_rows) {
    const index_t end = begin + std::min(prediction_group_rows, a.rows() - begin);
    double entries = 0.0;
    for (index_t i = begin; i < end; ++i) {
      const double products = static_cast<double>(offsets[i + 1] - offsets[i]) * mean;
      entries += std::min(products, static_cast<double>(b.cols()));
    }
    result.add_group(entries);
    if (end == a.rows()) break;  // before begin overflows
  }
  result.row_bytes = 5 * sizeof(offset_t);
  result.source = "entries of A times the mean row of B";
  return result;
}

void add_use(std::vector<SpgemmAccumulatorUse>& sum, const SpgemmAccumulatorUse& use) {
  const auto at = std::lower_bound(sum.begin(), sum.end(), use.accumulator,
                                   [](const auto& other, SpgemmAccumulator name) { return other.accumulator < name; });
  if (at == sum.end() || at->accumulator != use.accumulator) {
    sum.insert(at, use);
    return;
  }
  at->rows += use.rows;
  at->products += use.products;
}

/// Adds the report of a slice to that of the product.
void add_report(SpgemmReport& sum, const SpgemmReport& slice, bool first) {
  if (first) {
    const std::uint64_t peak = sum.peak_bytes;
    sum = slice;
    sum.peak_bytes = std::max(peak, slice.peak_bytes);
    return;
  }
  sum.products += slice.products;
  sum.nnz += slice.nnz;
  sum.overflow_rows += slice.overflow_rows;
  sum.peak_bytes = std::max(sum.peak_bytes, slice.peak_bytes);
  sum.analysis_ms += slice.analysis_ms;
  sum.sizing_ms += slice.sizing_ms;
  sum.numeric_ms += slice.numeric_ms;
  sum.compaction_ms += slice.compaction_ms;
  if (sum.fallback.empty()) sum.fallback = slice.fallback;
  if (slice.determinism < sum.determinism) sum.determinism = slice.determinism;
  for (const SpgemmAccumulatorUse& use : slice.accumulators) add_use(sum.accumulators, use);
}

template <class T>
class Slicing {
 public:
  Slicing(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, std::optional<RowPrediction> prediction,
          const std::function<void(SpgemmSlice<T>)>& consume, const std::function<void()>& release)
      : a_(a), b_(b), options_(options), consume_(consume), release_(release), prediction_(std::move(prediction)) {
    options_.asynchronous = false;
  }

  [[nodiscard]] SlicedReport run() {
    if (options_.memory_limit_bytes == 0 && !prediction_ && form(0, a_.rows(), 0.0)) {
      report_.reason = "the product fits into the memory that is free";
    } else {
      form_all();
    }
    SpgemmReport& product = report_.product;
    product.expansion = a_.nnz() > 0 ? static_cast<double>(product.products) / static_cast<double>(a_.nnz()) : 0.0;
    product.total_ms = total_.milliseconds();
    return std::move(report_);
  }

 private:
  void form_all() {
    report_.limit_bytes = options_.memory_limit_bytes != 0 ? options_.memory_limit_bytes : free_bytes(options_.device);
    predict();
    SliceCutter cutter(*prediction_, sizeof(index_t) + sizeof(T), left_beside(held_bytes_));
    if (release_ && cutter.end_of(0) < a_.rows()) {  // two at a time
      cutter = SliceCutter(*prediction_, sizeof(index_t) + sizeof(T), left_beside(held_bytes_) / 2);
    }
    index_t begin = 0;
    std::int64_t most_rows = a_.rows();  // few after a split: what was foreseen too small once is so again
    do {
      auto end = static_cast<index_t>(std::min<std::int64_t>(cutter.end_of(begin), begin + most_rows));
      const index_t splits = report_.splits;
      while (!form(begin, end, prediction_->entries_of(begin, end))) {
        if (give_up_kept()) continue;
        if (end - begin <= 1) throw_too_large(begin);
        end = cutter.middle_of(begin, end);
        ++report_.splits;
      }
      cutter.learn(report_.slices.back().predicted_nnz, report_.slices.back().nnz);
      most_rows = report_.splits > splits ? end - begin : std::min<std::int64_t>(2 * most_rows, a_.rows());
      begin = end;
    } while (begin < a_.rows());
    const double entries = prediction_->entries_of(0, a_.rows());
    report_.reason =
        fmt::format("{:.3g} entries are foreseen ({}), {} bytes are the limit{}", entries, prediction_->source,
                    report_.limit_bytes, report_.slices.size() == 1 ? ": the product fits" : "");
  }

  void predict() {
    const Stopwatch timer;
    const bool on_host = options_.device.is_host();
    // The sums lie on the host.
    held_bytes_ = on_host ? (static_cast<std::uint64_t>(RowPrediction::groups(a_.rows())) + 1) * sizeof(double) : 0;
    if (!prediction_) {
      const std::uint64_t left = left_beside(held_bytes_);
      prediction_ = on_host ? host::predict_rows(a_.view(), b_.view(), options_, left)
                            : cuda::predict_rows(a_.view(), b_.view(), options_, left);
    }
    if (!prediction_) prediction_ = predict_by_a(a_, b_);
    report_.product.peak_bytes = held_bytes_ + prediction_->peak_bytes;
    report_.predict_ms = timer.milliseconds();
  }

  [[nodiscard]] std::uint64_t left_beside(std::uint64_t held) const noexcept {
    return report_.limit_bytes > held ? report_.limit_bytes - held : 0;
  }

  /// \returns whether the consumer had kept a slice, which it does no longer
  [[nodiscard]] bool give_up_kept() {
    if (kept_bytes_ == 0) return false;
    release_();
    kept_bytes_ = 0;
    return true;
  }

  /// Forms rows [begin, end) and hands them over. \returns false where they do not fit; `short_of_` says why
  [[nodiscard]] bool form(index_t begin, index_t end, double predicted_nnz) {
    const Stopwatch timer;
    std::optional<SpgemmResult<T>> product;
    std::uint64_t held = held_bytes_ + kept_bytes_;
    try {
      if (begin == 0 && end == a_.rows()) {
        product = multiply(a_, held);
      } else {
        held += (static_cast<std::uint64_t>(end - begin) + 1) * sizeof(offset_t);
        const RowSlice<T> rows = slice_rows(a_.view(), a_.device(), begin, end - begin);
        product = multiply(borrow_csr(rows.view, options_.device), held);
      }
    } catch (const OutOfMemory& error) {
      short_of_ = held + error.requested_bytes();
    }
    report_.multiply_ms += timer.milliseconds();
    if (!product) return false;
    product->report.peak_bytes += held;
    add_report(report_.product, product->report, report_.slices.empty());
    report_.slices.push_back({begin, end - begin, predicted_nnz, product->report.nnz});
    const Stopwatch consuming;
    if (release_) kept_bytes_ = product->matrix.bytes();
    consume_({begin, std::move(product->matrix), std::move(product->report)});
    report_.consume_ms += consuming.milliseconds();
    return true;
  }

  /// \param held bytes of the limit that the slicing itself takes
  [[nodiscard]] SpgemmResult<T> multiply(const Csr<T>& rows, std::uint64_t held) const {
    SpgemmOptions options = options_;
    if (report_.limit_bytes != 0) {
      options.memory_limit_bytes = left_beside(held);
      if (options.memory_limit_bytes == 0) {
        throw OutOfMemory(1, report_.limit_bytes, "slices of a sparse product");
      }
    }
    return options.device.is_host() ? host::multiply<T>(rows, b_, options) : cuda::multiply<T>(rows, b_, options);
  }

  [[noreturn]] void throw_too_large(index_t row) const {
    throw OutOfMemory(short_of_, report_.limit_bytes,
                      fmt::format("row {} of a sparse product, a slice by itself,", std::int64_t{row} + 1));
  }

  const Csr<T>& a_;
  const Csr<T>& b_;
  SpgemmOptions options_;
  const std::function<void(SpgemmSlice<T>)>& consume_;
  const std::function<void()>& release_;
  std::optional<RowPrediction> prediction_;
  Stopwatch total_;
  SlicedReport report_;
  std::uint64_t held_bytes_ = 0;  ///< of the limit, beside slices
  std::uint64_t kept_bytes_ = 0;  ///< of the slice that the consumer keeps
  std::uint64_t short_of_ = 0;    ///< what the last slice that did not fit asked for
};

}  // namespace

template <class T>
SlicedReport form_slices(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                         std::optional<RowPrediction> prediction, const std::function<void(SpgemmSlice<T>)>& consume,
                         const std::function<void()>& release) {
  return Slicing<T>(a, b, options, std::move(prediction), consume, release).run();
}

template SlicedReport form_slices(const Csr<float>&, const Csr<float>&, const SpgemmOptions&,
                                  std::optional<RowPrediction>, const std::function<void(SpgemmSlice<float>)>&,
                                  const std::function<void()>&);
template SlicedReport form_slices(const Csr<double>&, const Csr<double>&, const SpgemmOptions&,
                                  std::optional<RowPrediction>, const std::function<void(SpgemmSlice<double>)>&,
                                  const std::function<void()>&);

}  // namespace detail

namespace {

/// spgemm_sliced(); `release` as of form_slices().
template <class T>
SlicedReport multiply_in_slices(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                                const std::function<void(SpgemmSlice<T>)>& consume,
                                const std::function<void()>& release) {
  detail::check_product(a, b, options);
  if (!consume) throw InvalidArgument("spgemm_sliced needs a function that takes the slices, got none");
  if (options.precision != SpgemmPrecision::working) {
    throw NotSupported(
        fmt::format("slices of a product are formed in working precision, not in '{}'", to_string(options.precision)));
  }
  const Stopwatch uploading;
  std::optional<Csr<T>> left;
  std::optional<Csr<T>> right;
  if (!(a.device() == options.device) && !options.device.is_host()) left = a.to(options.device);
  if (&a != &b && !(b.device() == options.device) && !options.device.is_host()) right = b.to(options.device);
  const Csr<T>& on_device = left ? *left : a;
  const double upload_ms = left || right ? uploading.milliseconds() : 0.0;
  SlicedReport report = detail::form_slices(on_device,
                                            &a == &b ? on_device
                                            : right  ? *right
                                                     : b,
                                            options, std::nullopt, consume, release);
  report.product.upload_ms = upload_ms;
  report.product.total_ms += upload_ms;
  return report;
}

/// Joins slices on the host. Memory of C that is not written yet takes no pages, so that little lies there twice.
template <class T>
[[nodiscard]] Csr<T> join_slices(std::vector<Csr<T>> slices, index_t rows, index_t cols) {
  offset_t nnz = 0;
  for (const Csr<T>& slice : slices) nnz += slice.nnz();
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none);
  Array<index_t> columns(nnz, Init::none);
  Array<T> values(nnz, Init::none);
  offset_t entry = 0;
  std::int64_t row = 0;
  offsets[0] = 0;
  for (Csr<T>& slice : slices) {
    const Csr<T> part = std::move(slice);
    std::copy(part.columns().begin(), part.columns().end(), columns.begin() + entry);
    std::copy(part.values().begin(), part.values().end(), values.begin() + entry);
    for (std::int64_t i = 0; i < part.rows(); ++i) offsets[row + i + 1] = entry + part.row_offsets()[i + 1];
    entry += part.nnz();
    row += part.rows();
  }
  return Csr<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

/// Slices of a GPU come to the host while the next one is formed.
template <class T>
[[nodiscard]] SlicedReport gather_slices(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                                         std::vector<Csr<T>>& slices) {
  const auto download = cuda::make_slice_download<T>(options.device);
  const auto finish = [&] {
    if (download->is_pending()) slices.push_back(download->finish());
  };
  SlicedReport report = multiply_in_slices<T>(
      a, b, options,
      [&](SpgemmSlice<T> slice) {
        finish();
        if (slice.matrix.rows() == a.rows()) {
          slices.push_back(slice.matrix.to(Device{}));  // alone: nothing to overlap with
        } else {
          download->start(std::move(slice.matrix));
        }
      },
      finish);
  const Stopwatch waiting;
  finish();
  report.consume_ms += waiting.milliseconds();
  report.product.total_ms += waiting.milliseconds();
  return report;
}

}  // namespace

template <class T>
SlicedReport spgemm_sliced(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                           const std::type_identity_t<std::function<void(SpgemmSlice<T>)>>& consume) {
  return multiply_in_slices<T>(a, b, options, consume, {});
}

template <class T>
GatheredProduct<T> spgemm_to_host(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  std::vector<Csr<T>> slices;
  SlicedReport report =
      options.device.is_host()
          ? spgemm_sliced(a, b, options, [&](SpgemmSlice<T> slice) { slices.push_back(std::move(slice.matrix)); })
          : gather_slices(a, b, options, slices);
  if (slices.size() == 1) return {std::move(slices.front()), std::move(report)};
  return {join_slices(std::move(slices), a.rows(), b.cols()), std::move(report)};
}

template SlicedReport spgemm_sliced(const Csr<float>&, const Csr<float>&, const SpgemmOptions&,
                                    const std::function<void(SpgemmSlice<float>)>&);
template SlicedReport spgemm_sliced(const Csr<double>&, const Csr<double>&, const SpgemmOptions&,
                                    const std::function<void(SpgemmSlice<double>)>&);
template GatheredProduct<float> spgemm_to_host(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template GatheredProduct<double> spgemm_to_host(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera
