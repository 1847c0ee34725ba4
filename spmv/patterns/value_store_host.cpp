/// \file
/// Values of row patterns on the host: which layout holds them, and how it is filled.
#include "spmv/patterns/value_store_host.hpp"

#include "core/parallel.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/patterns.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

namespace tessera::host {

using namespace detail;

namespace {

/// As cuda::enqueue_value_sample().
template <class T>
[[nodiscard]] ValueSample sample_values(std::span<const T> values) {
  const auto all = static_cast<std::int64_t>(values.size());
  const std::int64_t count = std::min(all, sampled_values);
  ValueSample sample;
  std::unordered_set<std::uint64_t> keys;
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = values[static_cast<std::size_t>(sampled_position(i, count, all))];
    const std::uint64_t key = dictionary_key(value);
    if (key == 0) sample.distinct = most_dictionary_values + 1;
    if (keys.size() <= most_dictionary_values) keys.insert(key);
    if (!is_float(value)) ++sample.not_as_float;
  }
  sample.distinct = std::max(sample.distinct, static_cast<int>(keys.size()));
  return sample;
}

}  // namespace

/// Rows on lists, and where their values begin in CSR.
template <class T>
struct PatternValueStore<T>::Rows {
  const Device& device;
  const RowPatterns<T>& found;
  std::int64_t count;
  Array<offset_t> begin;  ///< of the first row of each slice

  Rows(const Device& threads, const RowPatterns<T>& patterns, std::span<const offset_t> exception_lengths)
      : device(threads),
        found(patterns),
        count(patterns.codes.size()),
        begin((count + slice_rows - 1) / slice_rows, Init::none) {
    std::size_t exception = 0;
    offset_t next = 0;
    for (std::int64_t row = 0; row < count; ++row) {
      if (row % slice_rows == 0) begin[row / slice_rows] = next;
      next += found.codes[row] == found.lists ? exception_lengths[exception++] : list(row)[0];
    }
    lengths = exception_lengths;
  }

  std::span<const offset_t> lengths;  ///< of exceptions

  [[nodiscard]] const index_t* list(std::int64_t row) const noexcept {
    return found.table.data() + std::int64_t{found.codes[row]} * found.stride();
  }
  [[nodiscard]] offset_t exception_length(std::int64_t row) const noexcept {
    const index_t* const first = found.exceptions.data();
    const index_t* const own = std::lower_bound(first, first + found.exceptions.size(), row);
    return lengths[static_cast<std::size_t>(own - first)];
  }

  /// body(row, list, first nonzero in CSR) for all rows on lists. \returns whether all of them returned true
  template <class Body>
  bool all_of(const Body& body) const {
    std::atomic<bool> holds{true};
    parallel_for(device, begin.size(), [&](Range slices) {
      offset_t next = slices.size() > 0 ? begin[slices.begin] : 0;
      const std::int64_t end = std::min(count, slices.end * slice_rows);
      for (std::int64_t row = slices.begin * slice_rows; row < end; ++row) {
        if (found.codes[row] == found.lists) {
          next += exception_length(row);
          continue;
        }
        const index_t* const own = list(row);
        if (!body(row, own, next)) {
          holds = false;
          return;
        }
        next += own[0];
        if (row % slice_rows == 0 && !holds) return;
      }
    });
    return holds;
  }

  /// Part of the rows whose next row is on the same list.
  [[nodiscard]] double share_of_alike() const {
    std::int64_t alike = 0;
    for (std::int64_t row = 1; row < count; ++row) alike += found.codes[row] == found.codes[row - 1] ? 1 : 0;
    return count > 1 ? static_cast<double>(alike) / static_cast<double>(count) : 1.0;
  }
  [[nodiscard]] std::int64_t places() const noexcept { return begin.size() * slice_rows * found.width; }
  [[nodiscard]] bool fits(double most_places_per_nonzero, std::size_t nnz) const noexcept {
    return !cuda::is_padded_beyond(most_places_per_nonzero, static_cast<index_t>(count), static_cast<offset_t>(nnz),
                                   found.width);
  }
};

namespace {

template <class T>
[[nodiscard]] bool are_floats(const Device& device, std::span<const T> values) {
  constexpr std::int64_t values_per_glance = 4096;
  std::atomic<bool> holds{true};
  parallel_for(device, std::ssize(values), [&](Range range) {
    for (std::int64_t k = range.begin; k < range.end; k += values_per_glance) {
      const T* const first = values.data() + k;
      const T* const last = values.data() + std::min(range.end, k + values_per_glance);
      if (!std::all_of(first, last, [](T value) { return is_float(value); })) holds = false;
      if (!holds) return;
    }
  });
  return holds;
}

}  // namespace

template <class T>
void PatternValueStore<T>::release() noexcept {
  keeps_half_ = false;
  dictionary_ = ValueDictionary<T>();
  codes_ = Array<std::uint8_t>();
  values_ = Array<T>();
  floats_ = Array<float>();
}

template <class T>
void PatternValueStore<T>::keep(const Device& device, const RowPatterns<T>& found,
                                std::span<const offset_t> exception_lengths, std::span<const T> values) {
  if (found.width == 0) return;
  const Rows rows(device, found, exception_lengths);
  if (rows.share_of_alike() < least_alike_on_host) return release();
  may_have_codes_ = may_have_codes_ && rows.fits(most_padding_of_codes, values.size()) && keep_codes(rows, values);
  if (may_have_codes_) return;
  codes_ = Array<std::uint8_t>();
  dictionary_ = ValueDictionary<T>();
  may_be_floats_ = may_be_floats_ && are_floats(device, values);
  if (!may_be_floats_) floats_ = Array<float>();
  may_have_half_ = may_have_half_ && found.exceptions.empty() &&
                   (may_be_floats_ ? keep_half(rows, values, floats_) : keep_half(rows, values, values_));
  if (may_have_half_) return;
  if (std::exchange(keeps_half_, false)) {
    values_ = Array<T>();
    floats_ = Array<float>();
  }
  if (!rows.fits(most_padding_on_host, values.size())) return release();
  if (may_be_floats_) {
    keep_slices(rows, values, floats_);
  } else {
    keep_slices(rows, values, values_);
  }
}

template <class T>
bool PatternValueStore<T>::keep_codes(const Rows& rows, std::span<const T> values) {
  if (static_cast<offset_t>(values.size()) < least_nonzeros_of_dictionary) return false;
  auto dictionary = find_value_dictionary<T>(rows.device, values);
  if (!dictionary) return false;
  if (codes_.empty()) codes_ = Array<std::uint8_t>(rows.places(), Init::zero);
  dictionary_ = *std::move(dictionary);
  const ValueCoder<T> coder = dictionary_.coder();
  return rows.all_of([&](std::int64_t row, const index_t* list, offset_t from) {
    std::uint8_t* const to = codes_.data() + place_in_slices(row, rows.found.width);
    for (index_t k = 0; k < list[0]; ++k) {
      to[std::int64_t{k} * slice_rows] = static_cast<std::uint8_t>(coder.code(values.data()[from + k]));
    }
    return true;
  });
}

template <class T>
template <class V>
void PatternValueStore<T>::keep_slices(const Rows& rows, std::span<const T> values, Array<V>& to) {
  if (to.empty()) to = Array<V>(rows.places(), Init::zero);
  rows.all_of([&](std::int64_t row, const index_t* list, offset_t from) {
    V* const own = to.data() + place_in_slices(row, rows.found.width);
    for (index_t k = 0; k < list[0]; ++k) own[std::int64_t{k} * slice_rows] = static_cast<V>(values.data()[from + k]);
    return true;
  });
}

template <class T>
template <class V>
bool PatternValueStore<T>::keep_half(const Rows& rows, std::span<const T> values, Array<V>& to) {
  using Source = RowSource<V, true>;
  const auto nnz = static_cast<double>(values.size());
  const auto offsets =
      half_offsets(rows.found.table.span(), rows.found.width, static_cast<index_t>(rows.count), most_half_share * nnz);
  if (!offsets) return false;
  // A place of a diagonal that no row has stays 0.
  if (to.empty()) to = Array<V>(offsets->size(), Init::zero);
  half_places_ = offsets->places;
  half_diagonals_ = static_cast<int>(offsets->diagonals.size());
  keeps_half_ = true;
  const std::int64_t stride = rows.found.stride();
  const auto places = [&](std::int64_t row) { return half_places_.data() + rows.found.codes[row] * stride + 1; };
  rows.all_of([&](std::int64_t row, const index_t* list, offset_t from) {
    const index_t* const place = places(row);
    for (index_t k = 0; k < list[0]; ++k) {
      if (list[1 + k] >= 0) to[row + place[k]] = static_cast<V>(values.data()[from + k]);
    }
    return true;
  });
  return rows.all_of([&](std::int64_t row, const index_t* list, offset_t from) {
    const index_t* const place = places(row);
    for (index_t k = 0; k < list[0] && list[1 + k] < 0; ++k) {
      const auto own = static_cast<V>(values.data()[from + k]);
      if (Source::bits_of(own) != Source::bits_of(to[row + place[k]])) return false;
    }
    return true;
  });
}

template <class T>
std::uint64_t PatternValueStore<T>::bytes() const noexcept {
  return codes_.bytes() + values_.bytes() + floats_.bytes() + dictionary_.bytes() +
         half_places_.size() * sizeof(index_t);
}

template <class T>
double PatternValueStore<T>::bytes_read(double nnz) const noexcept {
  if (has_codes()) return nnz;
  if (has_half()) return static_cast<double>(values_.bytes() + floats_.bytes());
  return nnz * static_cast<double>(floats_.empty() ? sizeof(T) : sizeof(float));
}

template <class T>
std::string PatternValueStore<T>::describe() const {
  return cuda::describe_layout(
      {has_codes() ? dictionary_.count() : 0, has_half() ? half_diagonals_ : 0, sizeof(T) == 8 && !floats_.empty()});
}

template <class T>
double promised_value_bytes(const CsrView<T>& a) {
  const ValueSample sample = sample_values(a.values);
  if (sample.promises_dictionary() && a.nnz() >= least_nonzeros_of_dictionary) return sizeof(std::uint8_t);
  const double full = sizeof(T) == 8 && sample.promises_float() ? sizeof(float) : sizeof(T);
  const SampledRows rows = sample_for_half(a.rows);
  const SortedColumns columns{a.row_offsets.data(), a.columns.data()};
  index_t unlike = 0;
  for (index_t i = 0; i < rows.count; ++i) {
    if (!equals_mirror_image(columns, a.values.data(), rows[i], longest_row_list)) ++unlike;
    if (unlike > most_unlike_in_sample * rows.count) return full;
  }
  const double mean = static_cast<double>(a.nnz()) / a.rows;
  return full * (mean + 1.0) / (2.0 * mean);
}

template double promised_value_bytes(const CsrView<float>&);
template double promised_value_bytes(const CsrView<double>&);
template class PatternValueStore<float>;
template class PatternValueStore<double>;

}  // namespace tessera::host
