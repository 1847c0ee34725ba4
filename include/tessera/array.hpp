/// \file
/// Owning storage on a device.
#pragma once

#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera {

namespace detail {
/// Aligned memory on `device`. Host: 64 bytes; from 4 MiB on, huge pages of 2 MiB if the system has them. GPU: 256
/// bytes, in stream order. \throws OutOfMemory, InvalidArgument when count * size overflows
void* allocate_bytes(const Device& device, std::int64_t count, std::size_t element_bytes);
/// \param bytes as allocated
void deallocate_bytes(const Device& device, void* data, std::uint64_t bytes) noexcept;
/// Sets bytes to zero with the threads of the device; on the host this also places the pages near them.
void zero_bytes(const Device& device, void* data, std::uint64_t bytes);
void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes);
}  // namespace detail

/// Contents of freshly allocated memory.
enum class Init { zero, none };

/// A fixed-size array of trivially copyable elements. It owns memory on one device, or shares memory of another owner
/// (adopt). Movable; copied only by an explicit to(device). Elements on the host are accessed by span() or operator[].
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>, "Array<T> holds trivially copyable elements");

 public:
  using value_type = T;

  Array() = default;

  /// \param size number of elements, at least 0
  /// \throws InvalidArgument when negative or when the byte count overflows; OutOfMemory
  explicit Array(std::int64_t size, Init init = Init::zero, const Device& device = Device{}) : device_(device) {
    if (size < 0) throw InvalidArgument("Array: negative size " + std::to_string(size));
    if (size == 0) return;
    data_ = static_cast<T*>(detail::allocate_bytes(device_, size, sizeof(T)));
    size_ = size;
    if (init == Init::zero) detail::zero_bytes(device_, data_, bytes());
  }

  /// Copies host elements to `device`.
  [[nodiscard]] static Array copy_of(std::span<const T> source, const Device& device = Device{}) {
    Array result(static_cast<std::int64_t>(source.size()), Init::none, device);
    detail::copy_bytes(device, result.data_, Device{}, source.data(), result.bytes());
    return result;
  }

  /// Memory of another owner, used in place: neither copied nor freed.
  /// \param owner kept alive by this array; empty when the caller keeps the memory alive
  /// \param device where the memory lies
  [[nodiscard]] static Array adopt(std::span<T> memory, std::shared_ptr<const void> owner,
                                   const Device& device = Device{}) {
    Array result;
    result.device_ = device;
    result.data_ = memory.data();
    result.size_ = static_cast<std::int64_t>(memory.size());
    result.owner_.swap(owner);
    result.adopted_ = true;
    return result;
  }

  Array(Array&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        owner_(std::move(other.owner_)),
        adopted_(std::exchange(other.adopted_, false)) {}
  Array& operator=(Array&& other) noexcept {
    if (this != &other) {
      release();
      device_ = other.device_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      owner_ = std::move(other.owner_);
      adopted_ = std::exchange(other.adopted_, false);
    }
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { release(); }

  /// A copy on `target` (which may be the same device).
  [[nodiscard]] Array to(const Device& target) const {
    Array result(size_, Init::none, target);
    detail::copy_bytes(target, result.data_, device_, data_, bytes());
    return result;
  }

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(size_) * sizeof(T); }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data_, static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, static_cast<std::size_t>(size_)}; }

  /// Host arrays only; unchecked.
  T& operator[](std::int64_t i) noexcept { return data_[i]; }
  const T& operator[](std::int64_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }

 private:
  void release() noexcept {
    if (data_ != nullptr && !adopted_) detail::deallocate_bytes(device_, data_, bytes());
    data_ = nullptr;
    size_ = 0;
    owner_.reset();
    adopted_ = false;
  }

  Device device_;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  std::shared_ptr<const void> owner_;
  bool adopted_ = false;
};

}  // namespace tessera
