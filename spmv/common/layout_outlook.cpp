/// \file
/// Outlook on layouts: what the values of a matrix allow, and bitmap tiles, which have one layout.
#include "spmv/common/layout_outlook.hpp"

#include "core/parallel.hpp"
#include "spmv/common/value_bytes.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <fmt/format.h>

namespace tessera::detail {

namespace {

struct Count {
  offset_t of = 0;
  Count& operator+=(const Count& other) {
    of += other.of;
    return *this;
  }
};

}  // namespace

template <class T>
ValueFacts value_facts(const CsrView<T>& a, const Device& threads) {
  ValueFacts facts;
  if (a.is_pattern() || a.nnz() == 0) return facts;
  if (const auto dictionary = host::find_value_dictionary<T>(threads, a.values)) facts.distinct = dictionary->count();
  const auto count = [&](host::Range range) {
    Count others;
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      if (!is_float(a.values[static_cast<std::size_t>(k)])) ++others.of;
    }
    return others;
  };
  facts.not_floats = host::parallel_sum<Count>(threads, a.nnz(), count).of;
  return facts;
}

std::string why_no_dictionary() { return fmt::format("more than {} different values", most_dictionary_values); }

std::string why_single_precision(const ValueFacts& facts, offset_t nnz) {
  return facts.not_floats == 0 ? std::string("it holds all values exactly")
                               : fmt::format("it holds {} of {} values exactly", nnz - facts.not_floats, nnz);
}

template <class T>
LayoutOutlook outlook_on_tiles(const CsrView<T>& a, double fill) {
  const double bytes = tile_bytes_per_nonzero(value_bytes_of(a, SpmvOptions{}), fill);
  return {SpmvAlgorithm::tiles,
          a.is_pattern() ? "no values" : "values in full",
          true,
          true,
          bytes,
          fmt::format("filled by {:.2g}: {:.3g} bytes per nonzero", fill, bytes)};
}

template ValueFacts value_facts(const CsrView<float>&, const Device&);
template ValueFacts value_facts(const CsrView<double>&, const Device&);
template LayoutOutlook outlook_on_tiles(const CsrView<float>&, double);
template LayoutOutlook outlook_on_tiles(const CsrView<double>&, double);

}  // namespace tessera::detail
