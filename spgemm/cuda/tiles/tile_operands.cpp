#include "spgemm/cuda/tiles/tile_operands.hpp"

#include "spgemm/cuda/tiles/loss_sample.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>

namespace tessera::cuda {

namespace {

/// From which on GPUs have the tensor instructions in double precision and TF32.
constexpr int tensor_capability = 80;

template <class T>
detail::CsrStructurePointers structure_of(const CsrView<T>& matrix) noexcept {
  return {matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
}

template <class T>
const T* values_of(const CsrView<T>& matrix) noexcept {
  return matrix.is_pattern() ? nullptr : matrix.values.data();
}

template <class T>
Array<T> fetched(std::span<const T> source, const Device& device) {
  Array<T> result(static_cast<std::int64_t>(source.size()), Init::none);
  detail::copy_bytes(Device{}, result.data(), device, source.data(), source.size_bytes());
  return result;
}

/// The host finds the value that half precision does not hold.
template <class T>
[[noreturn]] void refuse_on_host(const CsrView<T>& matrix, const Device& device, const char* name) {
  const Array<offset_t> offsets = fetched(matrix.row_offsets, device);
  const Array<index_t> columns = fetched(matrix.columns, device);
  const Array<T> values = fetched(matrix.values, device);
  detail::refuse_beyond_half(
      CsrView<T>{matrix.rows, matrix.cols, matrix.storage, offsets.span(), columns.span(), values.span()}, name);
}

template <class E>
Array<E> operand_array(unsigned tiles, const Device& device) {
  return Array<E>(detail::tile_entries * std::int64_t{tiles}, Init::none, device);
}

}  // namespace

template <class T>
bool TileOperands<T>::wanted(const SpgemmOptions& options, const DeviceLimits& limits) noexcept {
  if (options.precision != SpgemmPrecision::working) return true;
  return std::is_same_v<T, float> && options.determinism != Determinism::gpu_to_gpu && has_fast_fp64_tensor(limits);
}

template <class T>
std::uint64_t TileOperands<T>::bytes(const TileTotals& totals) const noexcept {
  const std::uint64_t tiles = std::uint64_t{totals.tiles[0]} + totals.tiles[same_ ? 0 : 1];
  return tiles * detail::tile_entries * (is_half() ? sizeof(Half) : sizeof(float));
}

template <class T>
void TileOperands<T>::allocate(const TileTotals& totals) {
  const unsigned a_tiles = totals.tiles[0];
  const unsigned b_tiles = totals.tiles[same_ ? 0 : 1];
  if (is_half()) {
    a_halves_ = operand_array<Half>(a_tiles, options_.device);
    b_halves_ = operand_array<Half>(b_tiles, options_.device);
  } else {
    a_singles_ = operand_array<float>(a_tiles, options_.device);
    b_singles_ = operand_array<float>(b_tiles, options_.device);
  }
}

template <class T>
void TileOperands<T>::enqueue_copies(const Context& context, SideStreams::Fork& fork, const CsrView<T>& a,
                                     const TilePositions& a_tiles, const CsrView<T>& b, const TilePositions& b_tiles,
                                     TileTotals* totals) {
  const auto copy = [&](auto* by_rows, auto* by_columns) {
    using E = std::remove_pointer_t<decltype(by_rows)>;
    const OperandCopies<E> of_a{by_rows, same_ ? by_columns : nullptr};
    const OperandCopies<E> of_b{nullptr, by_columns};
    fork.run(
        0, [&] { enqueue_operand_tiles<E>(context, structure_of(a), values_of(a), a_tiles, of_a, totals->operands); });
    if (same_) return;
    fork.run(1, [&] {
      enqueue_operand_tiles<E>(context, structure_of(b), values_of(b), b_tiles, of_b, totals->operands + 1);
    });
  };
  if (is_half()) {
    copy(a_halves_.data(), b_halves_.data());
  } else if constexpr (std::is_same_v<T, float>) {
    copy(a_singles_.data(), b_singles_.data());
  }
}

template <class T>
void TileOperands<T>::take(const TileTotals& totals, const CsrView<T>& a, const CsrView<T>& b) {
  of_a_ = totals.operands[0];
  of_b_ = totals.operands[1];
  if (of_a_.beyond_half != 0) refuse_on_host(a, options_.device, "A");
  if (of_b_.beyond_half != 0) refuse_on_host(b, options_.device, "B");
}

template <class T>
OperandArithmetic TileOperands<T>::arithmetic() const noexcept {
  const bool finite = (of_a_.not_finite | of_b_.not_finite) == 0;
  if (!finite || capability_ < tensor_capability || options_.determinism == Determinism::gpu_to_gpu) {
    return OperandArithmetic::scalar;
  }
  if (is_half()) return OperandArithmetic::half;
  if (options_.precision == SpgemmPrecision::working) return OperandArithmetic::fp64;
  return (of_a_.beyond_tf32 | of_b_.beyond_tf32) == 0 ? OperandArithmetic::tf32x3 : OperandArithmetic::scalar;
}

template <class T>
void TileOperands<T>::enqueue_product(const Context& context, const TilePositions& a, const TilePositions& b,
                                      const CTiles& c, const offset_t* offsets, index_t* columns, T* values) const {
  if (is_half()) {
    enqueue_operand_product(context, arithmetic(), a, a_halves_.data(), b, b_halves_.data(), c, offsets, columns,
                            values);
  } else if constexpr (std::is_same_v<T, float>) {
    enqueue_operand_product(context, arithmetic(), a, a_singles_.data(), b, b_singles_.data(), c, offsets, columns,
                            values);
  }
}

template <class T>
std::string TileOperands<T>::text() const {
  const std::string numbers = is_half() ? "half precision, sums in single" : "single precision";
  switch (arithmetic()) {
    case OperandArithmetic::half:
      return "tensor instructions in " + numbers;
    case OperandArithmetic::tf32x3:
      return "tensor instructions in TF32, two numbers per value";
    case OperandArithmetic::fp64:
      return "tensor instructions in double precision on numbers in single";
    case OperandArithmetic::scalar:
      break;
  }
  const std::string how = "entry by entry in " + numbers;
  if ((of_a_.not_finite | of_b_.not_finite) != 0) return how + ", since a value is not finite";
  if (options_.determinism == Determinism::gpu_to_gpu) return how + " for the bits of the host";
  if (capability_ < tensor_capability) return how + ", for want of tensor instructions";
  return how + ", since a value lies outside 2^-50 ... 2^62";
}

template <class T>
SpgemmLoss TileOperands<T>::loss(const Context& context, const CsrView<T>& a, const CsrView<T>& b,
                                 const offset_t* c_offsets, const index_t* c_columns, const T* c_values) const {
  SpgemmLoss result;
  result.values = static_cast<offset_t>(a.values.size() + (same_ ? 0 : b.values.size()));
  result.to_zero = static_cast<offset_t>(of_a_.to_zero + of_b_.to_zero);
  result.to_subnormal = static_cast<offset_t>(of_a_.to_subnormal + of_b_.to_subnormal);
  if (is_half() || arithmetic() == OperandArithmetic::tf32x3) {
    const unsigned bits = std::max(of_a_.largest_rounding, of_b_.largest_rounding);
    result.largest_rounding = static_cast<double>(std::bit_cast<float>(bits));
  }
  const LossSample sample{a.rows};
  Array<SampledEntry> entries(std::int64_t{sample.rows()} * LossSample::row_entries, Init::none, options_.device);
  enqueue_loss_sample(context, sample, detail::factors_of<T>(a, b), c_offsets, c_columns, c_values, entries.data());
  const Array<SampledEntry> on_host = entries.to(Device{});
  detail::summarise(on_host.span(), result);
  return result;
}

template class TileOperands<float>;
template class TileOperands<double>;

}  // namespace tessera::cuda
