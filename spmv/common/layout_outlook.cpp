/// \file
/// Outlook on layouts: what the values of a matrix allow.
#include "spmv/common/layout_outlook.hpp"

#include "core/parallel.hpp"

#include <fmt/format.h>

namespace tessera::detail {

namespace {

struct ValueCount {
  offset_t of = 0;
  ValueCount& operator+=(const ValueCount& other) {
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
    ValueCount others;
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      if (!is_float(a.values[static_cast<std::size_t>(k)])) ++others.of;
    }
    return others;
  };
  facts.not_floats = host::parallel_sum<ValueCount>(threads, a.nnz(), count).of;
  return facts;
}

std::string why_no_dictionary() { return fmt::format("more than {} different values", most_dictionary_values); }

std::string why_single_precision(const ValueFacts& facts, offset_t nnz) {
  return facts.not_floats == 0 ? std::string("it holds all values exactly")
                               : fmt::format("it holds {} of {} values exactly", nnz - facts.not_floats, nnz);
}

template ValueFacts value_facts(const CsrView<float>&, const Device&);
template ValueFacts value_facts(const CsrView<double>&, const Device&);

}  // namespace tessera::detail
