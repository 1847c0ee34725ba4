/// \file
/// Value dictionary: its hash table, and the dictionary of a matrix on the host, where each thread collects the values
/// of its part.
#include "spmv/common/value_dictionary.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// A set of keys that is full when it holds more than a dictionary may.
class KeySet {
 public:
  /// \returns whether there was room
  bool insert(std::uint64_t key) {
    if (key == 0) return false;
    unsigned slot = dictionary_slot(key);
    for (; keys_[slot] != 0; slot = (slot + 1) % dictionary_slots) {
      if (keys_[slot] == key) return true;
    }
    if (count_ == most_dictionary_values) return false;
    keys_[slot] = key;
    ++count_;
    return true;
  }
  /// function(key) for all keys.
  template <class Function>
  void for_each(const Function& function) const {
    for (const std::uint64_t key : keys_) {
      if (key != 0) function(key);
    }
  }

 private:
  std::array<std::uint64_t, dictionary_slots> keys_{};
  int count_ = 0;
};

/// Keys of a part of the values; none where there are too many. \param stop set by others, or here where there are
template <class T>
[[nodiscard]] KeySet keys_of(std::span<const T> values, host::Range range, std::atomic<bool>& stop) {
  constexpr std::int64_t values_per_glance = 4096;
  KeySet found;
  std::uint64_t last = 0;
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    if ((k - range.begin) % values_per_glance == 0 && stop.load(std::memory_order_relaxed)) break;
    const std::uint64_t key = dictionary_key(values[static_cast<std::size_t>(k)]);
    if (key == last && key != 0) continue;
    last = key;
    if (found.insert(key)) continue;
    stop = true;
    break;
  }
  return found;
}

}  // namespace

template <class T>
ValueDictionary<T> detail::dictionary_of(std::vector<std::uint64_t> keys, const Device& device) {
  std::sort(keys.begin(), keys.end());
  std::vector<T> values;
  std::vector<std::uint64_t> slots(dictionary_slots, 0);
  std::vector<std::uint8_t> codes(dictionary_slots, 0);
  for (const std::uint64_t key : keys) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    unsigned slot = dictionary_slot(key);
    while (slots[slot] != 0) slot = (slot + 1) % dictionary_slots;
    slots[slot] = key;
    codes[slot] = static_cast<std::uint8_t>(values.size());
    const auto bits = static_cast<Bits>(key - 1);
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    values.push_back(value);
  }
  return {Array<T>::copy_of(values, device), Array<std::uint64_t>::copy_of(slots, device),
          Array<std::uint8_t>::copy_of(codes, device)};
}

template ValueDictionary<float> detail::dictionary_of(std::vector<std::uint64_t>, const Device&);
template ValueDictionary<double> detail::dictionary_of(std::vector<std::uint64_t>, const Device&);

namespace host {

template <class T>
std::optional<ValueDictionary<T>> find_value_dictionary(const Device& device, std::span<const T> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  if (n == 0) return std::nullopt;
  std::atomic<bool> too_many{false};
  KeySet all;
  const std::int64_t sampled = std::min(n, sampled_values);
  for (std::int64_t i = 0; i < sampled; ++i) {
    if (!all.insert(dictionary_key(values[static_cast<std::size_t>(sampled_position(i, sampled, n))]))) {
      return std::nullopt;
    }
  }
  std::mutex mutex;
  parallel_for(device, n, [&](Range range) {
    const KeySet own = keys_of(values, range, too_many);
    const std::scoped_lock lock(mutex);
    own.for_each([&](std::uint64_t key) {
      if (!all.insert(key)) too_many = true;
    });
  });
  if (too_many) return std::nullopt;
  std::vector<std::uint64_t> keys;
  all.for_each([&keys](std::uint64_t key) { keys.push_back(key); });
  return dictionary_of<T>(std::move(keys), device);
}

template std::optional<ValueDictionary<float>> find_value_dictionary(const Device&, std::span<const float>);
template std::optional<ValueDictionary<double>> find_value_dictionary(const Device&, std::span<const double>);

}  // namespace host
}  // namespace tessera
