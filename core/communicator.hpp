/// \file
/// Ranks: host threads that run one program on parts of its data (SPMD), each with a device of its own. A communicator
/// sums, shares and waits over all of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::detail {

/// Ranks of a group, at most.
inline constexpr int most_ranks = 16;

/// Collective calls: every rank makes the same ones in the same order. All ranks get the same bits. Where a rank has
/// failed, the others leave their collective calls by an exception that run() takes; nobody waits for ever.
class Communicator {
 public:
  /// Of a value, at most.
  static constexpr std::size_t value_bytes = 64;

  /// \param names of the devices of the ranks, for messages \throws InvalidArgument for none or too many
  explicit Communicator(std::vector<std::string> names);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(names_.size()); }
  [[nodiscard]] const std::string& name(int rank) const { return names_[static_cast<std::size_t>(rank)]; }

  /// Calls body(rank) once per rank, each on a thread of its own; rank 0 on the calling one. Not concurrent with
  /// itself. \throws what the first rank that failed has thrown; DeviceFailure, which names its device, for a CudaError
  void run(const std::function<void(int rank)>& body);

  /// Returns once all ranks have called.
  void wait(int rank);

  /// Values of all ranks, in their order. \param all size() elements
  template <class Value>
  void gather(int rank, const Value& own, std::span<Value> all) {
    static_assert(sizeof(Value) <= value_bytes && std::is_trivially_copyable_v<Value>);
    std::byte* const values = hand_in(rank, &own, sizeof(Value));
    for (std::size_t other = 0; other < all.size(); ++other) {
      std::memcpy(&all[other], values + other * value_bytes, sizeof(Value));
    }
  }

  /// The sum by +=, added in the order of ranks.
  template <class Value>
  [[nodiscard]] Value sum(int rank, const Value& own) {
    std::array<Value, most_ranks> all{};
    gather(rank, own, std::span<Value>(all.data(), names_.size()));
    Value total = all[0];
    for (std::size_t other = 1; other < names_.size(); ++other) total += all[other];
    return total;
  }

  /// The value of rank 0.
  template <class Value>
  [[nodiscard]] Value of_first(int rank, const Value& own) {
    std::array<Value, most_ranks> all{};
    gather(rank, own, std::span<Value>(all.data(), names_.size()));
    return all[0];
  }

  /// This rank takes part no longer: the others leave their collective calls. The first cause that is not null counts.
  void fail(int rank, std::exception_ptr cause) noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return (arrivals_.load() & failed_bit) != 0; }
  /// Called once by the first rank that fails, in each run: to end waits of other kinds.
  void on_failure(std::function<void()> action) { on_failure_ = std::move(action); }

 private:
  /// The rest counts arrivals.
  static constexpr std::uint64_t failed_bit = std::uint64_t{1} << 63;

  /// Of one rank; nobody else writes it.
  struct alignas(128) Turn {
    std::uint64_t calls = 0;  ///< collective calls so far
  };
  using Values = std::array<std::byte, most_ranks * value_bytes>;

  /// \returns the values of all ranks, value_bytes apart; valid until the next but one collective call
  std::byte* hand_in(int rank, const void* own, std::size_t bytes);
  void arrive(int rank);
  void reset() noexcept;

  std::array<Turn, most_ranks> turns_;
  alignas(128) std::atomic<std::uint64_t> arrivals_{0};
  /// Of two calls in turn: a rank may be one call ahead of another.
  std::array<Values, 2> values_{};
  std::vector<std::string> names_;
  std::mutex failure_;
  std::exception_ptr cause_;
  std::function<void()> on_failure_;
  int failed_rank_ = -1;
};

}  // namespace tessera::detail
