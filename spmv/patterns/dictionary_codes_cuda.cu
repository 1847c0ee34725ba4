/// \file
/// Codes of values of row patterns by slices, on a GPU.
#include "spmv/patterns/dictionary_codes.hpp"
#include "spmv/patterns/fill_slices.cuh"

namespace tessera::cuda {

using namespace detail;

namespace {

/// The code of a value; sets *missing where it has none.
template <class T>
struct CodeOf {
  static constexpr bool packed = true;
  ValueCoder<T> coder;
  unsigned* missing;

  [[nodiscard]] __device__ std::uint8_t operator()(T value) const {
    const int code = coder.code(value);
    if (code < 0) *missing = 1;
    return static_cast<std::uint8_t>(code);
  }
};

}  // namespace

template <class T>
bool fill_value_codes(const Device& device, const SlicedRows& rows, const ValueDictionary<T>& dictionary,
                      std::span<const T> from, std::span<std::uint8_t> to) {
  Array<unsigned> missing(1, Init::zero, device);
  fill_slices<T, std::uint8_t>(device, rows, from.data(), to.data(), CodeOf<T>{dictionary.coder(), missing.data()});
  unsigned here = 0;
  detail::copy_bytes(Device{}, &here, device, missing.data(), sizeof(here));
  return here == 0;
}

template bool fill_value_codes(const Device&, const SlicedRows&, const ValueDictionary<float>&, std::span<const float>,
                               std::span<std::uint8_t>);
template bool fill_value_codes(const Device&, const SlicedRows&, const ValueDictionary<double>&,
                               std::span<const double>, std::span<std::uint8_t>);

}  // namespace tessera::cuda
