/// \file
/// Values of row patterns on a GPU: which layout holds them.
#include "spmv/patterns/value_store.hpp"

#include "spmv/patterns/dictionary_codes.hpp"
#include "spmv/patterns/patterns.hpp"

#include <type_traits>

namespace tessera::cuda {

using namespace detail;

namespace {

template <class T>
[[nodiscard]] ValueSample sample_of(const Device& device, std::span<const T> values) {
  Array<ValueSample> sample(1, Init::none, device);
  enqueue_value_sample(device, values, sample.data());
  ValueSample result;
  detail::copy_bytes(Device{}, &result, device, sample.data(), sizeof(result));
  return result;
}

}  // namespace

template <class T>
void ValueStore<T>::set_up(const SlicedRows& rows, const CsrView<T>& a) {
  const ValueSample sample = sample_of(device_, a.values);
  half_ = find_symmetric_half(device_, rows, a);
  if (sample.promises_dictionary() && a.nnz() >= least_nonzeros_of_dictionary) {
    dictionary_ = find_value_dictionary(device_, a.values);
    if (dictionary_ && store_codes(rows, a.values)) return;
  }
  if constexpr (std::is_same_v<T, double>) {
    are_floats_ = !as_float_ && sample.promises_float() && are_floats(device_, a.values);
  }
  store(rows, a.values);
}

template <class T>
void ValueStore<T>::update(const SlicedRows& rows, std::span<const T> values) {
  if (dictionary_) {
    if (store_codes(rows, values)) return;
    if constexpr (std::is_same_v<T, double>) are_floats_ = !as_float_;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (are_floats_ && !are_floats(device_, values)) {
      are_floats_ = false;
      release();
    }
  }
  store(rows, values);
}

template <class T>
void ValueStore<T>::release() {
  values_ = Array<T>();
  floats_ = Array<float>();
}

template <class T>
SlicedRows ValueStore<T>::in_slices_of_codes(SlicedRows rows, offset_t nnz) {
  has_jagged_codes_ = is_padded_beyond(most_padding_of_codes, rows.rows, nnz, rows.width);
  rows.shape.jagged = has_jagged_codes_;
  return rows;
}

template <class T>
bool ValueStore<T>::store_codes(const SlicedRows& of_values, std::span<const T> values) {
  const auto nnz = static_cast<offset_t>(values.size());
  const SlicedRows rows = in_slices_of_codes(of_values, nnz);
  if (codes_.empty()) {
    codes_ = Array<std::uint8_t>(value_places(rows.rows, nnz, rows.width, rows.shape), Init::zero, device_);
  }
  if (fill_value_codes<T>(device_, rows, *dictionary_, values, codes_.span())) return true;
  dictionary_ = find_value_dictionary(device_, values);
  if (dictionary_ && fill_value_codes<T>(device_, rows, *dictionary_, values, codes_.span())) return true;
  dictionary_.reset();
  codes_ = Array<std::uint8_t>();
  return false;
}

template <class T>
void ValueStore<T>::store(const SlicedRows& rows, std::span<const T> values) {
  if (half_) {
    allocate(rows, 0);
    fill(rows, values);
    if (half_holds(rows, values)) return;
    half_.reset();
    release();
  }
  allocate(rows, static_cast<offset_t>(values.size()));
  fill(rows, values);
}

template <class T>
void ValueStore<T>::allocate(const SlicedRows& rows, offset_t nnz) {
  if (bytes_read() > 0) return;
  const std::int64_t places = half_ ? half_->size() : value_places(rows.rows, nnz, rows.width, rows.shape);
  if (keeps_floats()) {
    floats_ = Array<float>(places, Init::none, device_);
  } else {
    values_ = Array<T>(places, Init::none, device_);
  }
}

template <class T>
void ValueStore<T>::fill(const SlicedRows& rows, std::span<const T> values) {
  const auto fill_as = [&](auto& target) {
    using To = typename std::remove_cvref_t<decltype(target)>::value_type;
    if (half_) return fill_symmetric_half<T, To>(device_, rows, *half_, values, target.span());
    fill_pattern_values<T, To>(device_, rows, values, target.span());
  };
  if (keeps_floats()) return fill_as(floats_);
  fill_as(values_);
}

template <class T>
bool ValueStore<T>::half_holds(const SlicedRows& rows, std::span<const T> values) const {
  if (keeps_floats()) return symmetric_half_holds<T, float>(device_, rows, *half_, values, floats_.span());
  return symmetric_half_holds<T, T>(device_, rows, *half_, values, values_.span());
}

template <class T>
void ValueStore<T>::show(PatternOperand<T>& operand) const {
  if (dictionary_) {
    operand.shape.jagged = has_jagged_codes_;
    operand.value_codes = codes_.data();
    operand.dictionary = dictionary_->values.data();
    operand.dictionary_size = dictionary_->count();
    operand.dictionary_shift = dictionary_shift(dictionary_->count(), sizeof(T));
    return;
  }
  operand.values = values_.data();
  operand.floats = floats_.data();
  if (half_) operand.half_places = half_->places.data();
}

template <class T>
std::uint64_t ValueStore<T>::bytes() const noexcept {
  return bytes_read() + (half_ ? half_->bytes() : 0) + (dictionary_ ? dictionary_->bytes() : 0);
}

template <class T>
std::string ValueStore<T>::describe() const {
  return describe_layout({dictionary_ ? dictionary_->count() : 0, half_ ? half_->diagonals : 0, are_floats_});
}

template <class T>
double promised_value_bytes(const CsrView<T>& on_device, const Device& device) {
  const ValueSample sample = sample_of(device, on_device.values);
  if (sample.promises_dictionary() && on_device.nnz() >= least_nonzeros_of_dictionary) return sizeof(std::uint8_t);
  return sample.promises_float() ? sizeof(float) : sizeof(T);
}

template double promised_value_bytes(const CsrView<float>&, const Device&);
template double promised_value_bytes(const CsrView<double>&, const Device&);
template class ValueStore<float>;
template class ValueStore<double>;

}  // namespace tessera::cuda
