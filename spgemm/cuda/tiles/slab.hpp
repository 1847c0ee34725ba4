/// \file
/// Several arrays in one allocation: small products wait for allocations longer than for kernels.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Memory on a device that is handed out in pieces, one after the other.
class Slab {
 public:
  Slab() = default;
  /// \param bytes the sum of bytes_of() of all pieces
  Slab(std::uint64_t bytes, const Device& device) : memory_(static_cast<std::int64_t>(bytes), Init::none, device) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes(); }

  template <class T>
  [[nodiscard]] static constexpr std::uint64_t bytes_of(std::int64_t count) noexcept {
    return (static_cast<std::uint64_t>(count) * sizeof(T) + alignment - 1) / alignment * alignment;
  }

  /// The next piece, aligned as allocations are.
  template <class T>
  [[nodiscard]] T* take(std::int64_t count) noexcept {
    auto* const piece = reinterpret_cast<T*>(memory_.data() + taken_);
    taken_ += bytes_of<T>(count);
    return piece;
  }

 private:
  static constexpr std::uint64_t alignment = 256;

  Array<unsigned char> memory_;
  std::uint64_t taken_ = 0;
};

}  // namespace tessera::cuda
