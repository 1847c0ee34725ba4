/// \file
/// Outlook on sliced ELL: the census of the rows on the host, and the layouts that a GPU could keep a matrix in.
#include "spmv/common/layout_outlook.hpp"
#include "spmv/sell/sell_layout.hpp"
#include "spmv/sell/sell_slices.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <type_traits>

namespace tessera::detail {

namespace {

constexpr auto algorithm = SpmvAlgorithm::sell;

/// As cuda::take_sell_census(), with the rows of far columns.
struct HostCensus {
  cuda::SellCensus sums;
  std::int64_t far_rows = 0;
};

template <class T>
[[nodiscard]] offset_t whole_length(const CsrView<T>& a, std::int64_t row) noexcept {
  return row < a.rows ? a.row_offsets.data()[row + 1] - a.row_offsets.data()[row] : 0;
}

/// Of a row in slices; 0 for a long one and beyond the end.
template <class T>
[[nodiscard]] index_t sliced_length(const CsrView<T>& a, index_t limit, std::int64_t row) noexcept {
  const offset_t whole = whole_length(a, row);
  return whole > limit ? 0 : static_cast<index_t>(whole);
}

/// Places of the slices of some rows, each padded to its longest.
template <class T>
[[nodiscard]] std::int64_t places_of(const CsrView<T>& a, index_t limit, int slice_rows) {
  std::int64_t places = 0;
  for (std::int64_t first = 0; first < a.rows; first += slice_rows) {
    index_t longest = 0;
    for (int r = 0; r < slice_rows; ++r) longest = std::max(longest, sliced_length(a, limit, first + r));
    places += std::int64_t{slice_rows} * longest;
  }
  return places;
}

template <class T>
[[nodiscard]] HostCensus take_census(const CsrView<T>& a) {
  HostCensus census;
  cuda::SellCensus& sums = census.sums;
  sums.long_rows.limit = longest_sliced_row(static_cast<double>(a.nnz()) / a.rows);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const offset_t whole = whole_length(a, row);
    if (whole > sums.long_rows.limit) {
      ++sums.long_rows.count;
      sums.long_rows.nonzeros += whole;
      sums.long_rows.longest = std::max(sums.long_rows.longest, whole);
    } else if (whole > 0) {
      const index_t* const columns = a.columns.data() + a.row_offsets.data()[row];
      sums.longest = std::max(sums.longest, static_cast<index_t>(whole));
      if (std::max(row - columns[0], columns[whole - 1] - row) > farthest_relative_column) ++census.far_rows;
    }
  }
  sums.nonzeros = a.nnz() - sums.long_rows.nonzeros;
  sums.relative = census.far_rows == 0;
  sums.places_of_64 = places_of(a, sums.long_rows.limit, 64);
  sums.places_of_128 = places_of(a, sums.long_rows.limit, 128);
  return census;
}

/// Places of slices of rows that are sorted by length inside windows.
template <class T>
[[nodiscard]] std::int64_t sorted_places(const CsrView<T>& a, index_t limit, const cuda::SellShape& shape) {
  const int slice_rows = 32 * shape.rows_per_lane;
  std::int64_t places = 0;
  std::vector<index_t> lengths(static_cast<std::size_t>(shape.window_rows));
  for (std::int64_t first = 0; first < a.rows; first += shape.window_rows) {
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      lengths[r] = sliced_length(a, limit, first + static_cast<std::int64_t>(r));
    }
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    for (std::size_t r = 0; r < lengths.size(); r += static_cast<std::size_t>(slice_rows)) {
      places += std::int64_t{slice_rows} * lengths[r];
    }
  }
  return places;
}

/// How rows lie in slices on a GPU.
struct SlicesOnGpu {
  SellPadding padding;
  std::int64_t places = 0;
  std::int64_t extra_bytes = 0;  ///< where slices begin, and the order of sorted rows

  template <class T>
  SlicesOnGpu(const CsrView<T>& a, const cuda::SellCensus& census, int multiprocessors) {
    cuda::SellShape shape = cuda::choose_sell_shape(a.rows, census, multiprocessors);
    if (shape.sorted()) shape.places = sorted_places(a, census.long_rows.limit, shape);
    places = shape.places;
    const std::int64_t slices = shape.slices(a.rows);
    if (shape.width == 0) extra_bytes += (slices + 1) * std::int64_t{sizeof(offset_t)};
    if (shape.sorted()) extra_bytes += slices * 32 * shape.rows_per_lane * std::int64_t{sizeof(std::uint16_t)};
    padding.window_rows = shape.window_rows;
    if (census.nonzeros == 0) return;
    padding.places_per_nonzero = static_cast<double>(places) / static_cast<double>(census.nonzeros);
    padding.among_neighbours =
        static_cast<double>(census.neighbour_places(shape.rows_per_lane)) / static_cast<double>(census.nonzeros);
  }
};

[[nodiscard]] std::string name_of(SellValues values) {
  switch (values) {
    case SellValues::none:
      return "no values";
    case SellValues::coded:
      return "dictionary";
    case SellValues::rounded:
      return "single precision";
    case SellValues::full:
      break;
  }
  return "values in full";
}

}  // namespace

template <class T>
std::vector<LayoutOutlook> outlook_on_sell(const CsrView<T>& a, const ValueFacts& facts, int multiprocessors) {
  if (a.nnz() == 0) return {};
  const HostCensus census = take_census(a);
  try {
    require_few_long_rows(census.sums.long_rows, a.nnz());
  } catch (const NotSupported& refusal) {
    return {{algorithm, "slices", false, false, 0.0, refusal.what()}};
  }
  const SlicesOnGpu slices(a, census.sums, multiprocessors);
  std::vector<LayoutOutlook> result;
  bool taken = false;
  const auto add = [&](SellValues values, bool qualifies, std::string reason) {
    const SellLayout layout{census.sums.relative ? SellColumns::relative : SellColumns::absolute, values};
    LayoutOutlook outlook{algorithm, name_of(values), qualifies, qualifies && !taken, 0.0, std::move(reason)};
    if (qualifies) {
      const auto bytes = layout.bytes_per_entry(sizeof(T)) * static_cast<double>(slices.places);
      outlook.bytes_per_nonzero = (bytes + static_cast<double>(slices.extra_bytes)) / static_cast<double>(a.nnz());
    }
    if (outlook.taken) {
      outlook.reason =
          describe_sell(layout, facts.distinct, slices.padding, census.sums.long_rows.count, outlook.bytes_per_nonzero)
              .substr(2);
    }
    taken = taken || qualifies;
    result.push_back(std::move(outlook));
  };
  if (a.is_pattern()) {
    add(SellValues::none, true, {});
  } else {
    add(SellValues::coded, facts.distinct > 0,
        facts.distinct > 0 ? fmt::format("{} different values", facts.distinct) : why_no_dictionary());
    if (std::is_same_v<T, double>) {
      add(SellValues::rounded, facts.not_floats == 0, why_single_precision(facts, a.nnz()));
    }
    add(SellValues::full, true, "always");
  }
  if (census.far_rows > 0) {
    result.push_back({algorithm, "columns in 16 bits", false, false, 0.0,
                      fmt::format("{} of {} rows have a column farther than {} from their own", census.far_rows, a.rows,
                                  farthest_relative_column)});
  }
  return result;
}

template std::vector<LayoutOutlook> outlook_on_sell(const CsrView<float>&, const ValueFacts&, int);
template std::vector<LayoutOutlook> outlook_on_sell(const CsrView<double>&, const ValueFacts&, int);

}  // namespace tessera::detail
