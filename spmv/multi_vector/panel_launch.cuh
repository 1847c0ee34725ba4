/// \file
/// Products with panels of columns: plan and launches of both forms, for one type of values.
#pragma once

#include "core/cuda/reduce.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/multi_vector/panel_kernels.cuh"
#include "spmv/multi_vector/panel_path_kernel.cuh"
#include "spmv/multi_vector/panel_product.hpp"
#include "tessera/array.hpp"

#include <bit>
#include <mutex>
#include <type_traits>

namespace tessera::cuda {

/// Carries of a panel, joined level by level until one block per column joins all.
template <class T>
class PanelCarries {
 public:
  PanelCarries() = default;
  /// \param count carries per column
  PanelCarries(std::int64_t count, const Device& device)
      : sums_(above(count, true) * detail::panel_columns, Init::none, device),
        rows_(above(count, false), Init::none, device) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept { return sums_.bytes() + rows_.bytes(); }
  /// Of the first level: count per column, column by column.
  [[nodiscard]] T* sums() noexcept { return sums_.data(); }

  /// \param count carries per column, at most those that this was made for
  template <class RowOf>
  void join(const Context& context, std::int64_t count, RowOf row_of, index_t rows, const PanelUpdate<T>& out) {
    if (count == 0) return;
    T* sums = sums_.data();
    index_t* open_rows = rows_.data();
    std::int64_t blocks = launch_level(context, count, row_of, sums, rows, out, open_rows);
    while (blocks > 1) {
      sums += count * detail::panel_columns;
      count = blocks;
      const RowArray level{open_rows};
      open_rows += blocks;
      blocks = launch_level(context, count, level, sums, rows, out, open_rows);
    }
  }

 private:
  [[nodiscard]] static std::int64_t above(std::int64_t count, bool all) {
    std::int64_t sum = all ? count : 0;
    while (count > carries_per_block) {
      count = blocks_for(count, carries_per_block);
      sum += count;
    }
    return sum;
  }

  /// \param sums of the level; those of the next one follow \returns the number of blocks per column
  template <class RowOf>
  static std::int64_t launch_level(const Context& context, std::int64_t count, RowOf row_of, T* sums, index_t rows,
                                   const PanelUpdate<T>& out, index_t* open_rows) {
    const unsigned blocks = blocks_for(count, carries_per_block);
    launch("adding carries to rows of several columns", context,
           Grid{blocks * static_cast<unsigned>(out.columns), carries_per_block}, join_panel_carries_kernel<RowOf, T>,
           count, row_of, sums, rows, out, blocks, blocks > 1 ? open_rows : nullptr,
           sums + count * detail::panel_columns);
    return blocks;
  }

  Array<T> sums_;
  Array<index_t> rows_;
};

/// Strands per row: the fewest that take a row of mean length in four flights each.
[[nodiscard]] constexpr int panel_strands(index_t rows, offset_t nnz) noexcept {
  int strands = 1;
  while (strands < 8 && nnz > 32 * offset_t{rows} * strands) strands *= 2;
  return strands;
}

/// Path items per strand.
inline constexpr int panel_items = 32;

/// Above this spread of row lengths (row_length_spread()) equal shares are faster than rows.
inline constexpr double panel_spread = 2.0;

template <class T>
class GpuPanelProduct final : public PanelProduct<T> {
  static constexpr int width = detail::panel_columns;

 public:
  GpuPanelProduct(const Device& device, const CsrView<T>& a, const PanelTuning& tuning)
      : device_(device), form_(tuning.form ? *tuning.form : chosen_form(a)) {
    const DeviceGuard current(device_);
    if (form_ == PanelForm::path) {
      plan_path(a, tuning.items > 0 ? tuning.items : panel_items);
    } else {
      plan_rows(a, tuning.strands);
    }
    packs_columns_ = form_ == PanelForm::path || tuning.packs_columns.value_or(true);
    panel_ = Array<T>(std::int64_t{a.cols} * width, Init::none, device_);
  }

  void multiply(const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                const MultiVectorView<T>& y) const override {
    const DeviceGuard current(device_);
    const std::scoped_lock lock(mutex_);
    for_each_panel(x, y, [&](const StridedVectors<const T>& source, const StridedVectors<T>& target, int columns) {
      const bool groups = target.column_stride == 1 && is_aligned(target.first, target.row_stride) && beta == T{0};
      const auto with_width = [&](auto constant) {
        constexpr int panel = decltype(constant)::value;
        const PanelUpdate<T> out{{target, alpha, beta}, columns, groups && columns == panel};
        if (a.is_pattern())
          return multiply_panel<panel>(a, PanelNonzeros<T, false>{nullptr, a.columns.data()}, source, out);
        multiply_panel<panel>(a, PanelNonzeros<T, true>{a.values.data(), a.columns.data()}, source, out);
      };
      if (columns > 4) {
        with_width(std::integral_constant<int, 8>{});
      } else {
        with_width(std::integral_constant<int, 4>{});
      }
    });
  }

  [[nodiscard]] PanelForm form() const noexcept override { return form_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return panel_.bytes() + first_rows_.bytes() + long_rows_.bytes() + carries_.bytes();
  }

 private:
  [[nodiscard]] PanelForm chosen_form(const CsrView<T>& a) const {
    return row_length_spread(device_, a.row_offsets) > panel_spread ? PanelForm::path : PanelForm::rows;
  }

  void plan_path(const CsrView<T>& a, int items) {
    items_ = items;
    shares_ = (detail::path_length(a.rows, a.nnz()) + items - 1) / items;
    first_rows_ = Array<index_t>(shares_ + 1, Init::none, device_);
    launch("searching the merge path", Context::of(device_),
           Grid{blocks_for(shares_ + 1, panel_threads), panel_threads}, share_starts_kernel, a.rows, a.nnz(),
           a.row_offsets.data(), shares_, items, first_rows_.data());
    carries_ = PanelCarries<T>(blocks_for(shares_, Strand<T, width>::per_warp), device_);
  }

  void plan_rows(const CsrView<T>& a, int strands) {
    const RowLengths lengths = row_lengths(device_, a.row_offsets);
    strands_ = strands > 0 ? strands : panel_strands(a.rows, lengths.typical);
    lanes_ = csr_vector_lanes(a.rows, lengths.typical);
    long_rows_ = find_long_rows(device_, a.row_offsets, csr_vector_typical_row, csr_vector_part);
    carries_ = PanelCarries<T>(long_rows_.parts(), device_);
  }

  /// Whether rows at a stride begin at multiples of 16 bytes.
  [[nodiscard]] static bool is_aligned(const void* first, std::int64_t stride) {
    return reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && stride * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  }

  /// The caller holds the mutex, here and below.
  template <int Width, class Nonzeros>
  void multiply_panel(const CsrView<T>& a, const Nonzeros& nonzeros, const StridedVectors<const T>& x,
                      const PanelUpdate<T>& out) const {
    if (x.row_stride == 1 && !packs_columns_) return multiply_columns<Width>(a, nonzeros, x, out);
    RowPanel<T> panel{x.first, x.row_stride};
    if (x.column_stride != 1 || out.columns < Width || !is_aligned(x.first, x.row_stride)) {
      launch("packing columns", Context::of(device_),
             Grid{blocks_for(std::int64_t{a.cols} * Strand<T, Width>::lanes, panel_threads), panel_threads},
             pack_panel_kernel<Width, T>, std::int64_t{a.cols}, x, out.columns, panel_.data());
      panel = {panel_.data(), Width};
    }
    if (form_ == PanelForm::path) return multiply_path<Width>(a, nonzeros, panel, out);
    using S = Strand<T, Width>;
    const auto multiply_segments = [&]<class Segments>(const Segments& segments, std::int64_t count, int strands) {
      launch("product of rows with several columns", Context::of(device_),
             Grid{blocks_for(count * strands * S::lanes, panel_threads), panel_threads},
             panel_segments_kernel<Width, std::is_same_v<Nonzeros, PanelNonzeros<T, true>>, T, Segments>, segments,
             nonzeros, panel, strands);
    };
    multiply_rows(a, out, multiply_segments, strands_ < S::per_warp ? strands_ : S::per_warp, S::per_warp);
  }

  template <int Width, class Nonzeros>
  void multiply_columns(const CsrView<T>& a, const Nonzeros& nonzeros, const StridedVectors<const T>& x,
                        const PanelUpdate<T>& out) const {
    const auto multiply_segments = [&]<class Segments>(const Segments& segments, std::int64_t count, int lanes) {
      launch("product of rows with several columns", Context::of(device_),
             Grid{blocks_for(count * lanes, panel_threads), panel_threads},
             column_segments_kernel<Width, std::is_same_v<Nonzeros, PanelNonzeros<T, true>>, T, Segments>, segments,
             nonzeros, x, out.columns, lanes);
    };
    PanelUpdate<T> one_by_one = out;
    one_by_one.stores_groups = false;
    multiply_rows(a, one_by_one, multiply_segments, lanes_, warp_size);
  }

  /// The rows, then the long ones. \param multiply_segments of segments, their number and what is said of each here
  template <class Multiply>
  void multiply_rows(const CsrView<T>& a, const PanelUpdate<T>& out, const Multiply& multiply_segments, int per_row,
                     int per_part) const {
    multiply_segments(RowSegments<T>{a.rows, a.row_offsets.data(), long_rows_.longer_than, out}, a.rows, per_row);
    const std::int64_t parts = long_rows_.parts();
    if (parts == 0) return;
    multiply_segments(PartSegments<T>{parts, long_rows_.row.data(), long_rows_.begin.data(), a.row_offsets.data(),
                                      csr_vector_part, carries_.sums()},
                      parts, per_part);
    carries_.join(Context::of(device_), parts, RowArray{long_rows_.row.data()}, a.rows, out);
  }

  template <int Width, bool Weighted>
  void multiply_path(const CsrView<T>& a, const PanelNonzeros<T, Weighted>& nonzeros, const RowPanel<T>& x,
                     const PanelUpdate<T>& out) const {
    const Context& context = Context::of(device_);
    constexpr int per_warp = Strand<T, Width>::per_warp;
    const std::int64_t warps = (shares_ + per_warp - 1) / per_warp;
    const PathShares shares{
        a.rows, detail::path_length(a.rows, a.nnz()), a.row_offsets.data(), first_rows_.data(), shares_, items_};
    launch("product along the merge path with several columns", context,
           Grid{blocks_for(warps, panel_threads / warp_size), panel_threads}, panel_path_kernel<Width, Weighted, T>,
           shares, nonzeros, x, out, warps, carries_.sums());
    carries_.join(context, warps, RowAfterShares{first_rows_.data(), shares_, per_warp}, a.rows, out);
  }

  Device device_;
  PanelForm form_;
  bool packs_columns_ = true;
  int strands_ = 1;  ///< per row
  int lanes_ = 1;    ///< per row, of a column-major X
  LongRows long_rows_;
  int items_ = 0;  ///< of the path, per share
  std::int64_t shares_ = 0;
  Array<index_t> first_rows_;
  mutable std::mutex mutex_;  ///< of what follows, from the first launch of a product to its last
  mutable Array<T> panel_;
  mutable PanelCarries<T> carries_;
};

template <class T>
std::unique_ptr<PanelProduct<T>> make_panel_product(const Device& device, const CsrView<T>& a,
                                                    const PanelTuning& tuning) {
  return std::make_unique<GpuPanelProduct<T>>(device, a, tuning);
}

template <class T>
void scale_columns(const Device& device, T beta, const MultiVectorView<T>& y) {
  const StridedVectors<T> target{y.data(), y.row_stride(), y.column_stride()};
  const bool by_rows = y.column_stride() == 1;
  const std::int64_t inner = by_rows ? y.columns() : y.rows();
  for_each(device, y.rows() * y.columns(), [=] __device__(std::int64_t i) {
    const std::int64_t outer = i / inner;
    const std::int64_t own = i % inner;
    T* const element =
        by_rows ? target.first + outer * target.row_stride + own : target.first + own + outer * target.column_stride;
    *element = beta == T{0} ? T{0} : beta * *element;
  });
}

}  // namespace tessera::cuda
