/// \file
/// Residual of a float matrix with sums in double, on the host or on a GPU.
#include "spmv/residual/float_residual.hpp"

#include "core/cuda/memory.hpp"
#include "spmv/residual/residual.hpp"
#include "tessera/array.hpp"

#include <iterator>

namespace tessera::detail {

namespace {

/// Of a matrix on the host, whose vectors lie on `device`.
double residual_on_host(const Device& device, const CsrView<float>& a, int exponent, std::span<const float> b,
                        std::span<const float> x, std::span<float> r) {
  const auto fetched = [&device](std::span<const float> vector) {
    Array<float> copy(std::ssize(vector), Init::none);
    copy_bytes(Device{}, copy.data(), device, vector.data(), vector.size_bytes());
    return copy;
  };
  const Array<float> own_b = fetched(b);
  const Array<float> own_x = fetched(x);
  Array<float> own_r(std::ssize(r), Init::none);
  const double squares = host::csr_residual<float>(Device{}, a, exponent, own_b.span(), own_x.span(), own_r.span());
  copy_bytes(device, r.data(), Device{}, own_r.data(), own_r.bytes());
  return squares;
}

}  // namespace

double float_residual(const Device& device, const Device& place, const CsrView<float>& a, int exponent,
                      std::span<const float> b, std::span<const float> x, std::span<float> r) {
  if (device.is_host()) return host::csr_residual(device, a, exponent, b, x, r);
  return place.is_host() ? residual_on_host(device, a, exponent, b, x, r)
                         : cuda::csr_residual(device, a, exponent, b, x, r);
}

}  // namespace tessera::detail
