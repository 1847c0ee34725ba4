/// \file
/// The accumulators of one thread behind one interface.
#pragma once

#include "spgemm/host/accumulators/choice.hpp"
#include "spgemm/host/accumulators/dense.hpp"
#include "spgemm/host/accumulators/esc.hpp"
#include "spgemm/host/accumulators/hash.hpp"
#include "spgemm/host/accumulators/merge.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::host {

/// The largest row of each accumulator.
struct WorkspaceSizes {
  std::int64_t merge_entries = 0;
  std::int64_t dense_width = 0;
  std::int64_t hash_entries = 0;
  std::int64_t esc_products = 0;

  WorkspaceSizes& operator+=(const WorkspaceSizes& other) noexcept {
    merge_entries = std::max(merge_entries, other.merge_entries);
    dense_width = std::max(dense_width, other.dense_width);
    hash_entries = std::max(hash_entries, other.hash_entries);
    esc_products = std::max(esc_products, other.esc_products);
    return *this;
  }
};

/// Sums rows of C one at a time; allocates nothing once made.
template <class V>
class RowWorkspace {
 public:
  explicit RowWorkspace(const WorkspaceSizes& sizes)
      : merge_(sizes.merge_entries), dense_(sizes.dense_width), hash_(sizes.hash_entries), esc_(sizes.esc_products) {}

  [[nodiscard]] static std::uint64_t bytes(const WorkspaceSizes& sizes) noexcept {
    return MergeAccumulator<V>::bytes(sizes.merge_entries) + DenseAccumulator<V>::bytes(sizes.dense_width) +
           HashAccumulator<V>::bytes(sizes.hash_entries) + EscAccumulator<V>::bytes(sizes.esc_products);
  }

  /// \returns the entries of the row, which emit() or discard() has to follow, or row_overflow
  offset_t accumulate(const Factors<V>& factors, const RowTask& row, SpgemmAccumulator accumulator) noexcept {
    current_ = accumulator;
    switch (accumulator) {
      case SpgemmAccumulator::merge:
        return merge_.accumulate(factors, row);
      case SpgemmAccumulator::dense:
        return dense_.accumulate(factors, row);
      case SpgemmAccumulator::esc:
        return esc_.accumulate(factors, row);
      default:
        return hash_.accumulate(factors, row);
    }
  }

  /// Writes the row in ascending order of columns. \param columns may be null: values only
  void emit(index_t* columns, V* values) noexcept {
    switch (current_) {
      case SpgemmAccumulator::merge:
        return merge_.emit(columns, values);
      case SpgemmAccumulator::dense:
        return dense_.emit(columns, values);
      case SpgemmAccumulator::esc:
        return esc_.emit(columns, values);
      default:
        return hash_.emit(columns, values);
    }
  }

  /// Forgets the row.
  void discard() noexcept {
    if (current_ == SpgemmAccumulator::dense) dense_.discard();
  }

 private:
  MergeAccumulator<V> merge_;
  DenseAccumulator<V> dense_;
  HashAccumulator<V> hash_;
  EscAccumulator<V> esc_;
  SpgemmAccumulator current_ = SpgemmAccumulator::merge;
};

}  // namespace tessera::host
