/// \file
/// The last level of ESC: rows with more products than a block holds, done by all blocks together in slices that fit
/// into memory (optimized-esc-spgemm.txt, algorithm 1).
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"
#include "spgemm/esc/levels.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <vector>

namespace tessera::cuda {

/// The rows of B that some rows of A name, and the products before each of them.
class DeviceRows {
 public:
  /// Products that a slice has where nothing else bounds it: 6 GB.
  static constexpr offset_t usual_slice = offset_t{1} << 28;

  /// Waits, and keeps a list of the entries of these rows of A. \param batch may have products of any number, and its
  /// `most_products` is not looked at
  DeviceRows(const Device& device, const Factors<NoValue>& factors, const RowBatch& batch);

  /// What the constructor takes for `lists` entries of A.
  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows, std::int64_t lists) noexcept;
  /// What a slice takes. \param value_bytes of a value; 0 for a pattern
  [[nodiscard]] static std::uint64_t slice_bytes(offset_t products, std::size_t value_bytes) noexcept;

  [[nodiscard]] offset_t products() const noexcept { return products_.back(); }
  /// Products of the largest row.
  [[nodiscard]] offset_t largest() const noexcept { return largest_; }
  /// Whether keys of 64 bits hold a column and a place of the largest row.
  [[nodiscard]] bool keys_fit() const noexcept { return slice_fits(batch_.widest, 1, largest_); }

  /// The pass `claim`: expands, sorts and contracts one slice after the other. \param slice products of a slice; one
  /// row may have more of them \throws OutOfMemory
  template <class V>
  void claim(const Factors<V>& factors, const RowOutput<V>& out, offset_t slice) const;

 private:
  /// Rows first ... last - 1 of the batch.
  struct Slice {
    index_t first = 0;
    index_t last = 0;
  };
  [[nodiscard]] Slice next_slice(index_t first, offset_t products) const noexcept;

  Device device_;
  RowBatch batch_;
  Array<offset_t> row_lists_;       ///< entries of A before each row, and at last all
  Array<offset_t> list_products_;   ///< products before each of these entries, and at last all
  Array<offset_t> row_products_;    ///< products before each row, and at last all
  std::vector<offset_t> products_;  ///< the same on the host
  offset_t largest_ = 0;
};

}  // namespace tessera::cuda
