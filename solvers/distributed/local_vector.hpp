/// \file
/// A rank's elements of a vector on the host.
#pragma once

#include "core/group_rank.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/types.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace tessera::detail {

/// \throws DimensionError for a vector that does not fit A
template <class T>
void check_vector(const char* name, std::size_t size, index_t rows) {
  if (size == static_cast<std::size_t>(rows)) return;
  throw DimensionError(fmt::format("A is {0} x {0}: {1} must have {0} elements, has {2}", rows, name, size));
}

/// In place, or a copy on the rank's GPU.
template <class T>
class LocalVector {
 public:
  LocalVector(std::span<T> of_host, const Device& device) : of_host_(of_host), device_(alone(device)) {
    if (device.is_host()) return;
    copy_ = Array<std::remove_const_t<T>>::copy_of(of_host, device_);
  }
  [[nodiscard]] std::span<T> span() { return device_.is_host() ? of_host_ : copy_.span(); }
  void bring_back() {
    if (!device_.is_host()) copy_bytes(Device{}, of_host_.data(), device_, copy_.data(), copy_.bytes());
  }

 private:
  std::span<T> of_host_;
  Device device_;
  Array<std::remove_const_t<T>> copy_;
};

}  // namespace tessera::detail
