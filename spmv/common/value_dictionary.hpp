/// \file
/// Value dictionary: the distinct values of a matrix, at most 255 and equal bit by bit, each named by a code of one
/// byte. -0 and 0 are two values, and so are NaNs of different bits; a matrix that holds the NaN of which all bits are
/// set has no dictionary. A sample decides early, then every value is looked at.
#pragma once

#include "core/host_device.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace tessera::detail {

/// One code is left to whoever stores codes.
inline constexpr int most_dictionary_values = 255;

/// Slots of the hash table (open addressing), of which at most a quarter is taken.
inline constexpr unsigned dictionary_slots = 1024;

/// Values of the sample.
inline constexpr std::int64_t sampled_values = 4096;

/// Position number `number` of the sample: one at random in each of `count` nearly equal parts of all.
[[nodiscard]] TESSERA_HOST_DEVICE inline std::int64_t sampled_position(std::int64_t number, std::int64_t count,
                                                                       std::int64_t all) noexcept {
  // Parts need not be exact, but number * all must not overflow.
  const std::int64_t size = all / count;
  const std::int64_t begin = number * size + number * (all % count) / count;
  // Multiplicative hashing (Knuth), which differs from part to part.
  const std::uint32_t random = static_cast<std::uint32_t>(number + 1) * 2654435769U;
  return begin + (size >> 31) * (random >> 1) + ((size & 0x7fffffff) * static_cast<std::int64_t>(random >> 1) >> 31);
}

/// The bits of a value and 1; 0 for the one value that no dictionary holds.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint64_t dictionary_key(T value) noexcept {
  if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits + 1;
  } else {
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits == 0xffffffffU ? 0 : std::uint64_t{bits} + 1;
  }
}

/// The first slot that may hold a key (Fibonacci hashing, Knuth).
[[nodiscard]] TESSERA_HOST_DEVICE inline unsigned dictionary_slot(std::uint64_t key) noexcept {
  return static_cast<unsigned>((key ^ (key >> 29)) * 0x9e3779b97f4a7c15ULL >> 54);
}

/// Codes of values, for the host and inside kernels.
template <class T>
struct ValueCoder {
  const std::uint64_t* keys = nullptr;  ///< dictionary_slots; 0: vacant
  const std::uint8_t* codes = nullptr;  ///< of the keys

  /// \returns -1 for a value that the dictionary lacks
  [[nodiscard]] TESSERA_HOST_DEVICE int code(T value) const noexcept {
    const std::uint64_t key = dictionary_key(value);
    if (key == 0) return -1;
    for (unsigned slot = dictionary_slot(key); keys[slot] != 0; slot = (slot + 1) % dictionary_slots) {
      if (keys[slot] == key) return codes[slot];
    }
    return -1;
  }
};

/// Plain data on one device.
template <class T>
struct ValueDictionary {
  Array<T> values;  ///< by code; ascending by their bits, so that codes do not depend on any order of work
  Array<std::uint64_t> keys;
  Array<std::uint8_t> codes;

  [[nodiscard]] int count() const noexcept { return static_cast<int>(values.size()); }
  [[nodiscard]] bool empty() const noexcept { return values.empty(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return values.bytes() + keys.bytes() + codes.bytes(); }
  [[nodiscard]] ValueCoder<T> coder() const noexcept { return {keys.data(), codes.data()}; }
};

/// The dictionary of some keys, on a device. \param keys distinct, at most most_dictionary_values, none 0
template <class T>
[[nodiscard]] ValueDictionary<T> dictionary_of(std::vector<std::uint64_t> keys, const Device& device);

/// What a sample of values promises.
struct ValueSample {
  int distinct = 0;      ///< values; more than most_dictionary_values: no dictionary
  int not_as_float = 0;  ///< values that change, in any bit, when rounded to float and back

  [[nodiscard]] bool promises_dictionary() const noexcept { return distinct <= most_dictionary_values; }
  [[nodiscard]] bool promises_float() const noexcept { return not_as_float == 0; }
};

/// Whether a value stays the same, bit by bit, when it is rounded to float and back.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline bool is_float(T value) noexcept {
  return dictionary_key(static_cast<T>(static_cast<float>(value))) == dictionary_key(value);
}

}  // namespace tessera::detail

namespace tessera::host {

/// The dictionary of all values; none where there are more than most_dictionary_values, or no values. O(n) work by
/// the threads of the device.
template <class T>
[[nodiscard]] std::optional<detail::ValueDictionary<T>> find_value_dictionary(const Device& device,
                                                                              std::span<const T> values);

}  // namespace tessera::host

namespace tessera::cuda {

/// As host::find_value_dictionary(), found and left on the device. Waits: once where the sample has too many values.
/// \param values on the device \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::optional<detail::ValueDictionary<T>> find_value_dictionary(const Device& device,
                                                                              std::span<const T> values);

/// Looks at sampled_values of the values, by one block; neither waits nor allocates. \param values at least one, on
/// the device \param to on the device
template <class T>
void enqueue_value_sample(const Device& device, std::span<const T> values, detail::ValueSample* to);

/// Whether all values stay the same, bit by bit, when rounded to float and back. Waits. \param values on the device
[[nodiscard]] bool are_floats(const Device& device, std::span<const double> values);

}  // namespace tessera::cuda
