/// \file
/// Numbers in the bytes of a file: of either byte order, of any type, at any position.
#pragma once

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::io {

enum class NumberType { boolean, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 };

[[nodiscard]] constexpr std::size_t size_of(NumberType type) noexcept {
  switch (type) {
    case NumberType::boolean:
    case NumberType::int8:
    case NumberType::uint8:
      return 1;
    case NumberType::int16:
    case NumberType::uint16:
      return 2;
    case NumberType::int32:
    case NumberType::uint32:
    case NumberType::float32:
      return 4;
    case NumberType::int64:
    case NumberType::uint64:
    case NumberType::float64:
      break;
  }
  return 8;
}

/// Whether numbers may count: neither fractions nor truth values.
[[nodiscard]] constexpr bool is_whole(NumberType type) noexcept {
  return type != NumberType::float32 && type != NumberType::float64 && type != NumberType::boolean;
}

/// An array of numbers that lies in the bytes of a file.
class PackedNumbers {
 public:
  PackedNumbers() = default;
  PackedNumbers(const char* bytes, std::int64_t count, NumberType type, std::endian order)
      : bytes_(bytes), count_(count), type_(type), swapped_(order != std::endian::native) {}

  [[nodiscard]] std::int64_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] NumberType type() const noexcept { return type_; }

  /// Number k converted to U: a whole number to an integer type that has it, or any to a floating type. \param U
  /// double, float or std::int64_t
  template <class U>
  [[nodiscard]] U get(std::int64_t k) const noexcept {
    switch (type_) {
      case NumberType::boolean:
        return static_cast<U>(load<std::uint8_t>(k) != 0 ? 1 : 0);
      case NumberType::int8:
        return static_cast<U>(load<std::int8_t>(k));
      case NumberType::uint8:
        return static_cast<U>(load<std::uint8_t>(k));
      case NumberType::int16:
        return static_cast<U>(load<std::int16_t>(k));
      case NumberType::uint16:
        return static_cast<U>(load<std::uint16_t>(k));
      case NumberType::int32:
        return static_cast<U>(load<std::int32_t>(k));
      case NumberType::uint32:
        return static_cast<U>(load<std::uint32_t>(k));
      case NumberType::int64:
        return static_cast<U>(load<std::int64_t>(k));
      case NumberType::uint64:
        return static_cast<U>(load<std::uint64_t>(k));
      case NumberType::float32:
        return static_cast<U>(std::bit_cast<float>(load<std::uint32_t>(k)));
      case NumberType::float64:
        break;
    }
    return static_cast<U>(std::bit_cast<double>(load<std::uint64_t>(k)));
  }

 private:
  template <class U>
  [[nodiscard]] U load(std::int64_t k) const noexcept {
    U value;
    char raw[sizeof(U)];
    std::memcpy(raw, bytes_ + static_cast<std::size_t>(k) * sizeof(U), sizeof(U));
    if (swapped_) {
      for (std::size_t b = 0; b < sizeof(U) / 2; ++b) std::swap(raw[b], raw[sizeof(U) - 1 - b]);
    }
    std::memcpy(&value, raw, sizeof(U));
    return value;
  }

  const char* bytes_ = nullptr;
  std::int64_t count_ = 0;
  NumberType type_ = NumberType::float64;
  bool swapped_ = false;
};

/// Takes numbers from the front of a file. What a header claims is compared with the bytes that are there before it is
/// used.
class ByteReader {
 public:
  /// \param name of the file, for messages
  ByteReader(std::string_view bytes, const std::string& name, std::endian order)
      : bytes_(bytes), name_(&name), order_(order) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return bytes_.size() - position_; }

  /// \throws ParseError for a byte of the file
  [[noreturn]] void fail_at(std::uint64_t byte, const std::string& message) const {
    throw ParseError::at_byte(*name_, byte, message);
  }

  /// \param what for messages: "row offsets" \throws ParseError where the file ends before \param count of them
  [[nodiscard]] PackedNumbers numbers(std::int64_t count, NumberType type, const char* what) {
    const std::uint64_t size = size_of(type);
    if (count < 0 || static_cast<std::uint64_t>(count) > left() / size) {
      fail_at(position_, fmt::format("expected {} numbers of {} bytes ({}), found {} bytes to the end of the file",
                                     count, size, what, left()));
    }
    const PackedNumbers result(bytes_.data() + position_, count, type, order_);
    position_ += static_cast<std::uint64_t>(count) * size;
    return result;
  }

  [[nodiscard]] std::int64_t integer(NumberType type, const char* what) {
    return numbers(1, type, what).get<std::int64_t>(0);
  }

  /// An integer in 0 ... most. \throws ParseError naming its byte
  [[nodiscard]] std::int64_t size(NumberType type, const char* what, std::int64_t most) {
    const std::uint64_t at = position_;
    const std::int64_t value = integer(type, what);
    if (value < 0 || value > most) fail_at(at, fmt::format("expected {} in 0 ... {}, found {}", what, most, value));
    return value;
  }

  void skip(std::uint64_t bytes) noexcept { position_ += bytes < left() ? bytes : left(); }

 private:
  std::string_view bytes_;
  const std::string* name_;
  std::endian order_;
  std::uint64_t position_ = 0;
};

}  // namespace tessera::io
