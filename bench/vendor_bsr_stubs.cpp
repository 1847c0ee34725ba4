/// \file
/// Stands in for cuSPARSE's product in blocks in a build without it: no size of blocks is offered.
#include "bench/vendor_bsr.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {

template <class T>
std::vector<BlockSize> block_sizes(const CsrView<T>& /*a*/) {
  return {};
}

template <class T>
struct VendorBsr<T>::Impl {};

template <class T>
VendorBsr<T>::VendorBsr(const CsrView<T>& /*a*/, int /*block_size*/, const Device& /*device*/) {
  throw NotSupported("this build has no cuSPARSE");
}
template <class T>
VendorBsr<T>::~VendorBsr() = default;
template <class T>
std::int64_t VendorBsr<T>::rows() const {
  return 0;
}
template <class T>
std::int64_t VendorBsr<T>::cols() const {
  return 0;
}
template <class T>
Device VendorBsr<T>::device() const {
  return Device{};
}
template <class T>
std::uint64_t VendorBsr<T>::bytes() const noexcept {
  return 0;
}
template <class T>
void VendorBsr<T>::do_apply(T /*alpha*/, std::span<const T> /*x*/, T /*beta*/, std::span<T> /*y*/) const {}

template std::vector<BlockSize> block_sizes(const CsrView<float>&);
template std::vector<BlockSize> block_sizes(const CsrView<double>&);
template class VendorBsr<float>;
template class VendorBsr<double>;

}  // namespace tessera::bench
