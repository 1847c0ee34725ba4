/// \file
/// Slices of consecutive rows of a product: what their sizes are foreseen from, and where they are cut.
#pragma once

#include "core/partition_point.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spgemm_slices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::detail {

/// Rows of C that are foreseen together: running sums of single ones would take longer than the estimates.
inline constexpr index_t prediction_group_rows = 64;

/// Sizes of the rows of C, as foreseen.
struct RowPrediction {
  index_t rows = 0;
  std::vector<double> entries{0.0};  ///< running sum over groups of rows
  std::uint64_t row_bytes = 0;       ///< of a product per row of C, its offsets included, beside the entries
  std::uint64_t fixed_bytes = 0;     ///< of a product, whatever its rows
  std::uint64_t peak_bytes = 0;      ///< of the prediction, beside the sums
  std::string source;                ///< what the prediction is made of, for the reason

  [[nodiscard]] static constexpr std::int64_t groups(index_t rows) noexcept {
    return (std::int64_t{rows} + prediction_group_rows - 1) / prediction_group_rows;
  }
  /// Appends the next group.
  void add_group(double group_entries) { entries.push_back(entries.back() + group_entries); }
  /// Entries of rows [begin, end); rows of a group share its entries evenly.
  [[nodiscard]] double entries_of(index_t begin, index_t end) const noexcept { return before(end) - before(begin); }

 private:
  [[nodiscard]] double before(index_t row) const noexcept {
    const index_t group = row / prediction_group_rows;
    const index_t first = group * prediction_group_rows;
    const double low = entries[static_cast<std::size_t>(group)];
    if (row == first) return low;
    const double share = static_cast<double>(row - first) / std::min(prediction_group_rows, rows - first);
    return low + share * (entries[static_cast<std::size_t>(group) + 1] - low);
  }
};

/// Registers of a sketch unless the options say more: a slice sums many estimates.
inline constexpr int slice_registers = 32;

/// Sums of many estimates err less than each of them; a slice that errs more is split.
inline constexpr double slice_margin = 1.05;

/// Where slices end: as few as possible, of equal foreseen bytes.
class SliceCutter {
 public:
  /// \param entry_bytes of an entry of C \param limit_bytes of a slice
  SliceCutter(const RowPrediction& prediction, std::size_t entry_bytes, std::uint64_t limit_bytes)
      : prediction_(&prediction),
        entry_bytes_(static_cast<double>(entry_bytes)),
        room_(limit_bytes > prediction.fixed_bytes ? static_cast<double>(limit_bytes - prediction.fixed_bytes) : 0.0) {}

  /// End of the slice that begins with row `begin`, at least begin + 1.
  [[nodiscard]] index_t end_of(index_t begin) const {
    const index_t rows = prediction_->rows;
    const double rest = bytes_of(begin, rows);
    if (rest <= room_) return rows;
    // Equal parts of the rest; a part that a long row makes too large is left smaller.
    const double parts = room_ > 0.0 ? std::ceil(rest / room_) : static_cast<double>(rows - begin);
    const index_t end = first_beyond(begin, rest / parts);
    return std::max(begin + 1, bytes_of(begin, end) <= room_ ? end : first_beyond(begin, room_) - 1);
  }
  /// The rows that follow are foreseen as much too small as these were.
  void learn(double predicted_nnz, offset_t nnz) noexcept {
    if (predicted_nnz > 0.0) scale_ = slice_margin * std::max(1.0, static_cast<double>(nnz) / predicted_nnz);
  }
  /// Where rows [begin, end), at least two, are cut in two.
  [[nodiscard]] index_t middle_of(index_t begin, index_t end) const {
    return std::clamp(first_beyond(begin, bytes_of(begin, end) / 2.0), begin + 1, end - 1);
  }

 private:
  /// Foreseen for rows [begin, end).
  [[nodiscard]] double bytes_of(index_t begin, index_t end) const {
    return prediction_->entries_of(begin, end) * scale_ * entry_bytes_ +
           static_cast<double>(prediction_->row_bytes) * static_cast<double>(end - begin);
  }
  /// First end beyond `begin` with bytes_of(begin, end) >= bytes.
  [[nodiscard]] index_t first_beyond(index_t begin, double bytes) const {
    return partition_point(begin + 1, prediction_->rows, [&](index_t end) { return bytes_of(begin, end) < bytes; });
  }

  const RowPrediction* prediction_;
  double entry_bytes_;
  double scale_ = slice_margin;
  double room_;
};

/// spgemm_sliced() for checked factors that lie on the device of the options.
/// \param prediction none: made when it is needed
/// \param release    of a consumer that keeps a slice until it gets the next one, which then fits beside it: gives that
///                   slice up at once; empty for one that keeps none
template <class T>
SlicedReport form_slices(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                         std::optional<RowPrediction> prediction, const std::function<void(SpgemmSlice<T>)>& consume,
                         const std::function<void()>& release = {});

}  // namespace tessera::detail

namespace tessera::host {
/// Entries of the rows of C by sketches. None where their bytes go beyond the limit. \throws InvalidArgument as
/// spgemm()
template <class T>
[[nodiscard]] std::optional<detail::RowPrediction> predict_rows(const CsrView<T>& a, const CsrView<T>& b,
                                                                const SpgemmOptions& options,
                                                                std::uint64_t limit_bytes);
}  // namespace tessera::host

namespace tessera::cuda {
/// The same on a GPU, where both factors lie. Waits.
template <class T>
[[nodiscard]] std::optional<detail::RowPrediction> predict_rows(const CsrView<T>& a, const CsrView<T>& b,
                                                                const SpgemmOptions& options,
                                                                std::uint64_t limit_bytes);

/// Brings slices to the host, one at a time, through page-locked memory and beside the work of the device's stream.
template <class T>
class SliceDownload {
 public:
  SliceDownload() = default;
  SliceDownload(const SliceDownload&) = delete;
  SliceDownload& operator=(const SliceDownload&) = delete;
  virtual ~SliceDownload() = default;
  /// Begins; none may be on its way. The slice stays on the device until finish(). \throws OutOfMemory, CudaError
  virtual void start(Csr<T> slice) = 0;
  /// Whether one is on its way.
  [[nodiscard]] virtual bool is_pending() const noexcept = 0;
  /// Waits for it. \returns it, on the host
  [[nodiscard]] virtual Csr<T> finish() = 0;
};
/// \throws DeviceUnavailable in a build without CUDA; CudaError
template <class T>
[[nodiscard]] std::unique_ptr<SliceDownload<T>> make_slice_download(const Device& device);
}  // namespace tessera::cuda
