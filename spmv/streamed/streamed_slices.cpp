/// \file
/// Slices of a CSR matrix: the format that keeps it exactly, the cuts, and the packing.
#include "spmv/streamed/streamed_slices.hpp"

#include "core/parallel.hpp"
#include "core/partition_point.hpp"
#include "spmv/streamed/streamed_tuning.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>

namespace tessera::detail {

namespace {

/// The most rows and entries of a slice: they are numbered by 32 bits.
constexpr offset_t most_entries = std::numeric_limits<std::int32_t>::max();

/// Whether every element of [0, n) passes; ranges end early.
template <class Test>
[[nodiscard]] bool all_of_range(const Device& host, std::int64_t n, const Test& test) {
  std::atomic<bool> passes = true;
  tessera::host::parallel_for(host, n, [&](tessera::host::Range range) {
    constexpr std::int64_t block = 4096;
    for (std::int64_t begin = range.begin; begin < range.end && passes.load(std::memory_order_relaxed);
         begin += block) {
      const std::int64_t end = std::min(begin + block, range.end);
      bool all = true;
      for (std::int64_t i = begin; i < end; ++i) all = test(i) && all;
      if (!all) passes.store(false, std::memory_order_relaxed);
    }
  });
  return passes.load();
}

[[nodiscard]] bool is_near(std::int64_t distance) noexcept {
  return distance >= std::numeric_limits<std::int16_t>::min() && distance <= std::numeric_limits<std::int16_t>::max();
}

/// Columns ascend, so the first and the last of a row tell.
template <class T>
[[nodiscard]] bool has_near_columns(const Device& host, const CsrView<T>& a) {
  return all_of_range(host, a.rows, [&](std::int64_t row) {
    const offset_t begin = a.row_offsets[static_cast<std::size_t>(row)];
    const offset_t end = a.row_offsets[static_cast<std::size_t>(row) + 1];
    return begin == end || (is_near(a.columns[static_cast<std::size_t>(begin)] - row) &&
                            is_near(a.columns[static_cast<std::size_t>(end) - 1] - row));
  });
}

/// Bit by bit, so that a NaN keeps its bits too.
[[nodiscard]] bool is_float(double value) noexcept {
  return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value))) ==
         std::bit_cast<std::uint64_t>(value);
}

[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + slice_section_bytes - 1) / slice_section_bytes * slice_section_bytes;
}

template <class To>
[[nodiscard]] To* section(std::byte* target, std::uint64_t offset) noexcept {
  return reinterpret_cast<To*>(target + offset);
}

/// Walks over rows and closes slices where they are full.
template <class T>
class SliceWalk {
 public:
  SliceWalk(const CsrView<T>& a, const SliceFormat& format, std::uint64_t bytes, const std::optional<LongRowRule>& rule)
      : a_(a), format_(format), bytes_(bytes), rule_(rule) {}

  [[nodiscard]] std::vector<Slice> run() {
    for (index_t row = 0; row < a_.rows; ++row) add_row(row);
    if (slice_.rows > 0) close(false);
    return std::move(slices_);
  }

 private:
  void add_row(index_t row) {
    const offset_t* const offsets = a_.row_offsets.data() + row;
    offset_t entry = offsets[0];
    const offset_t end = offsets[1];
    const bool is_long = rule_ && end - entry > rule_->longer_than;
    if (slice_.rows == 0) begin_at(row, entry, false);
    while (!take(end - entry, is_long)) {
      if (slice_.rows == 0 && !is_long) {  // a slice by itself
        add(end - entry, false);
        return;
      }
      const offset_t taken = is_long ? take_parts(end - entry) : 0;
      entry += taken;
      close(taken > 0);
      begin_at(row, entry, taken > 0);
    }
  }

  void begin_at(index_t row, offset_t entry, bool continues) {
    slice_ = {};
    slice_.first_row = row;
    slice_.begin = slice_.end = entry;
    slice_.continues = continues;
  }

  [[nodiscard]] std::uint64_t bytes_with(offset_t entries, bool is_long) const {
    const std::uint64_t parts = is_long ? parts_of(entries) : 0;
    return slice_layout(std::uint64_t{slice_.rows} + 1, static_cast<std::uint64_t>(slice_.nnz() + entries),
                        slice_.parts + parts, std::uint64_t{slice_.long_rows} + (is_long ? 1 : 0), format_, sizeof(T))
        .bytes;
  }

  [[nodiscard]] std::uint64_t parts_of(offset_t entries) const {
    return static_cast<std::uint64_t>((entries + rule_->part - 1) / rule_->part);
  }

  void add(offset_t entries, bool is_long) {
    ++slice_.rows;
    slice_.end += entries;
    if (!is_long) return;
    slice_.parts += static_cast<std::uint32_t>(parts_of(entries));
    ++slice_.long_rows;
  }

  /// The rest of a row, where it fits.
  [[nodiscard]] bool take(offset_t entries, bool is_long) {
    if (slice_.nnz() + entries > most_entries || bytes_with(entries, is_long) > bytes_) return false;
    add(entries, is_long);
    return true;
  }

  /// As many parts of a long row as fit. \returns their entries
  [[nodiscard]] offset_t take_parts(offset_t entries) {
    const offset_t most = std::min(entries / rule_->part, (most_entries - slice_.nnz()) / rule_->part);
    const offset_t parts = partition_point(offset_t{1}, most + 1,
                                           [&](offset_t k) { return bytes_with(k * rule_->part, true) <= bytes_; }) -
                           1;
    if (parts > 0) add(parts * rule_->part, true);
    return parts * rule_->part;
  }

  void close(bool is_open) {
    slice_.is_open = is_open;
    slice_.layout = slice_layout(slice_.rows, static_cast<std::uint64_t>(slice_.nnz()), slice_.parts, slice_.long_rows,
                                 format_, sizeof(T));
    slices_.push_back(slice_);
    slice_ = {};
  }

  const CsrView<T>& a_;
  SliceFormat format_;
  std::uint64_t bytes_;
  const std::optional<LongRowRule>& rule_;
  Slice slice_;
  std::vector<Slice> slices_;
};

/// Lists the long rows of a slice and their parts.
template <class T>
void list_long_rows(const CsrView<T>& a, const LongRowRule& rule, const Slice& slice, SlicePart* part,
                    SliceLongRow* long_row) {
  std::uint32_t parts = 0;
  for (std::uint32_t r = 0; r < slice.rows; ++r) {
    const offset_t* const offsets = a.row_offsets.data() + slice.first_row + r;
    if (offsets[1] - offsets[0] <= rule.longer_than) continue;
    const offset_t begin = std::max(offsets[0], slice.begin);
    const offset_t end = std::min(offsets[1], slice.end);
    const std::uint32_t first = parts;
    for (offset_t entry = begin; entry < end; entry += rule.part) {
      part[parts++] = {r, static_cast<std::uint32_t>(entry - slice.begin)};
    }
    *long_row++ = {r, first, parts - first, slice.is_open && r + 1 == slice.rows ? 1U : 0U};
  }
}

template <class T, class To>
void pack_columns(const Device& host, const CsrView<T>& a, const Slice& slice, To* target) {
  const index_t* const columns = a.columns.data() + slice.begin;
  if constexpr (sizeof(To) == sizeof(index_t)) {
    tessera::host::parallel_for(host, slice.nnz(), [=](tessera::host::Range range) {
      std::copy(columns + range.begin, columns + range.end, target + range.begin);
    });
  } else {
    tessera::host::parallel_for(host, slice.rows, [&a, &slice, target](tessera::host::Range range) {
      for (std::int64_t r = range.begin; r < range.end; ++r) {
        const std::int64_t row = slice.first_row + r;
        const offset_t begin = std::max(a.row_offsets[static_cast<std::size_t>(row)], slice.begin);
        const offset_t end = std::min(a.row_offsets[static_cast<std::size_t>(row) + 1], slice.end);
        for (offset_t k = begin; k < end; ++k) {
          target[k - slice.begin] = static_cast<To>(a.columns[static_cast<std::size_t>(k)] - row);
        }
      }
    });
  }
}

template <class T, class To>
void pack_values(const Device& host, const CsrView<T>& a, const Slice& slice, To* target) {
  const T* const values = a.values.data() + slice.begin;
  tessera::host::parallel_for(host, slice.nnz(), [=](tessera::host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) target[k] = static_cast<To>(values[k]);
  });
}

}  // namespace

template <class T>
SliceFormat slice_format(const Device& host, const CsrView<T>& a) {
  SliceFormat format;
  if (has_near_columns(host, a)) format.columns = SliceColumns::relative;
  if (a.is_pattern()) {
    format.values = SliceValues::none;
  } else if constexpr (std::is_same_v<T, double>) {
    const double* const values = a.values.data();
    if (all_of_range(host, a.nnz(), [values](std::int64_t k) { return is_float(values[k]); })) {
      format.values = SliceValues::single;
    }
  }
  return format;
}

SliceLayout slice_layout(std::uint64_t rows, std::uint64_t entries, std::uint64_t parts, std::uint64_t long_rows,
                         const SliceFormat& format, std::size_t element) {
  SliceLayout layout;
  layout.columns = aligned((rows + 1) * sizeof(std::uint32_t));
  layout.values = layout.columns + aligned(entries * format.column_bytes());
  layout.parts = layout.values + aligned(entries * format.value_bytes(element));
  layout.long_rows = layout.parts + aligned(parts * sizeof(SlicePart));
  layout.bytes = layout.long_rows + aligned(long_rows * sizeof(SliceLongRow));
  return layout;
}

template <class T>
std::vector<Slice> cut_slices(const CsrView<T>& a, const SliceFormat& format, std::uint64_t bytes,
                              const std::optional<LongRowRule>& rule) {
  return SliceWalk<T>(a, format, bytes, rule).run();
}

template <class T>
void pack_slice(const Device& host, const CsrView<T>& a, const SliceFormat& format, const LongRowRule& rule,
                const Slice& slice, std::byte* target) {
  auto* const row_offsets = section<std::uint32_t>(target, 0);
  tessera::host::parallel_for(host, std::int64_t{slice.rows} + 1, [&](tessera::host::Range range) {
    for (std::int64_t r = range.begin; r < range.end; ++r) {
      const offset_t entry = a.row_offsets[static_cast<std::size_t>(slice.first_row + r)];
      row_offsets[r] = static_cast<std::uint32_t>(std::clamp(entry, slice.begin, slice.end) - slice.begin);
    }
  });
  if (format.columns == SliceColumns::full) {
    pack_columns(host, a, slice, section<index_t>(target, slice.layout.columns));
  } else {
    pack_columns(host, a, slice, section<std::int16_t>(target, slice.layout.columns));
  }
  if (format.values == SliceValues::full) pack_values(host, a, slice, section<T>(target, slice.layout.values));
  if (format.values == SliceValues::single) pack_values(host, a, slice, section<float>(target, slice.layout.values));
  if (slice.long_rows == 0) return;
  list_long_rows(a, rule, slice, section<SlicePart>(target, slice.layout.parts),
                 section<SliceLongRow>(target, slice.layout.long_rows));
}

template SliceFormat slice_format(const Device&, const CsrView<float>&);
template SliceFormat slice_format(const Device&, const CsrView<double>&);
template std::vector<Slice> cut_slices(const CsrView<float>&, const SliceFormat&, std::uint64_t,
                                       const std::optional<LongRowRule>&);
template std::vector<Slice> cut_slices(const CsrView<double>&, const SliceFormat&, std::uint64_t,
                                       const std::optional<LongRowRule>&);
template void pack_slice(const Device&, const CsrView<float>&, const SliceFormat&, const LongRowRule&, const Slice&,
                         std::byte*);
template void pack_slice(const Device&, const CsrView<double>&, const SliceFormat&, const LongRowRule&, const Slice&,
                         std::byte*);

}  // namespace tessera::detail
