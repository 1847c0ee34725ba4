/// \file
/// Values of the rows on lists of a matrix of row patterns, on a GPU, in the layout of the fewest bytes that holds
/// them.
#pragma once

#include "spmv/common/value_dictionary.hpp"
#include "spmv/patterns/pattern_product.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/symmetric_half.hpp"

#include <optional>
#include <span>
#include <string>

namespace tessera::cuda {

/// Chosen once for a matrix; new values that a layout does not hold go to the next larger one, from which there is no
/// way back. \tparam T of the matrix
template <class T>
class ValueStore {
 public:
  ValueStore() = default;
  /// \param as_float rounded, as asked for
  ValueStore(const Device& device, bool as_float) : device_(device), as_float_(as_float) {}

  /// Chooses and fills. \param a with the values \throws OutOfMemory, CudaError
  void set_up(const SlicedRows& rows, const CsrView<T>& a);

  /// Values in full where nothing was chosen at set-up, or new values. May allocate where the layout changes.
  /// \param values in the order of CSR \throws OutOfMemory
  void update(const SlicedRows& rows, std::span<const T> values);

  /// Of the symmetric half: SymmetricHalf::places; null where values do not lie in one, as long as a dictionary holds
  /// them.
  [[nodiscard]] const Array<index_t>* half_places() const noexcept {
    return half_ && !dictionary_ ? &half_->places : nullptr;
  }

  /// What a product reads.
  void show(PatternOperand<T>& operand) const;

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Of these, what a product reads of memory.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return codes_.bytes() + values_.bytes() + floats_.bytes(); }
  /// ", values as a symmetric half of 3 diagonals", for the reason of a plan; empty for values in full.
  [[nodiscard]] std::string describe() const;

 private:
  /// \returns false where a dictionary does not hold the values; then there is none
  [[nodiscard]] bool store_codes(const SlicedRows& of_values, std::span<const T> values);
  /// The rows with slices as codes lie in them.
  [[nodiscard]] SlicedRows in_slices_of_codes(SlicedRows rows, offset_t nnz);
  void store(const SlicedRows& rows, std::span<const T> values);
  void allocate(const SlicedRows& rows, offset_t nnz);
  void fill(const SlicedRows& rows, std::span<const T> values);
  void release();
  /// Of what is stored.
  [[nodiscard]] bool half_holds(const SlicedRows& rows, std::span<const T> values) const;

  [[nodiscard]] bool keeps_floats() const noexcept { return as_float_ || are_floats_; }

  Device device_;
  bool as_float_ = false;
  bool are_floats_ = false;  ///< single precision holds all values exactly
  std::optional<detail::ValueDictionary<T>> dictionary_;
  Array<std::uint8_t> codes_;  ///< by slices, with dictionary_
  bool has_jagged_codes_ = false;
  std::optional<SymmetricHalf> half_;
  Array<T> values_;
  Array<float> floats_;  ///< instead of values_
};

}  // namespace tessera::cuda
