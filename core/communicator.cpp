/// Communicator: arrivals are counted in one word, waits spin for some microseconds, then sleep.
#include "core/communicator.hpp"

#include "core/group_rank.hpp"
#include "core/no_signals.hpp"
#include "core/relax.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace tessera::detail {

namespace {

/// About what going to sleep and waking costs.
constexpr int spins = 2000;

/// What a rank throws that waits for one that has failed. The cause is in the communicator.
class OtherRankFailed : public Error {
 public:
  OtherRankFailed() : Error("another device of the group has failed") {}
};

}  // namespace

Communicator::Communicator(std::vector<std::string> names) : names_(std::move(names)) {
  if (names_.empty() || names_.size() > most_ranks) {
    throw InvalidArgument(fmt::format("a group has 1 to {} devices, got {}", most_ranks, names_.size()));
  }
}

void Communicator::reset() noexcept {
  turns_ = {};
  arrivals_.store(0);
  cause_ = nullptr;
  failed_rank_ = -1;
}

void Communicator::run(const std::function<void(int)>& body) {
  reset();
  const auto guarded = [&](int rank) noexcept {
    try {
      body(rank);
    } catch (const OtherRankFailed&) {
      fail(rank, nullptr);
    } catch (...) {
      fail(rank, std::current_exception());
    }
  };
  std::vector<std::thread> others;
  others.reserve(names_.size());
  try {
    const host::NoSignals no_signals;
    for (int rank = 1; rank < size(); ++rank) others.emplace_back(guarded, rank);
  } catch (...) {
    fail(static_cast<int>(others.size()) + 1, std::current_exception());
  }
  if (!has_failed()) guarded(0);
  for (std::thread& other : others) other.join();
  if (cause_ == nullptr) return;
  const std::exception_ptr cause = std::exchange(cause_, nullptr);
  try {
    std::rethrow_exception(cause);
  } catch (const CudaError& error) {
    throw DeviceFailure(name(failed_rank_), error.what());
  }
}

void Communicator::fail(int rank, std::exception_ptr cause) noexcept {
  bool is_first = false;
  {
    const std::scoped_lock lock(failure_);
    is_first = (arrivals_.fetch_or(failed_bit) & failed_bit) == 0;
    if (cause_ == nullptr && cause != nullptr) {
      cause_ = std::move(cause);
      failed_rank_ = rank;
    }
  }
  arrivals_.notify_all();
  if (!is_first || !on_failure_) return;
  try {
    on_failure_();
  } catch (...) {
    return;  // the waits of other kinds end by their own limits
  }
}

void Communicator::wait(int rank) { arrive(rank); }

void require_answers(const GroupRank& rank) {
  const std::uint32_t lost = *rank.lost;
  if (lost == 0) return;
  if (lost > static_cast<std::uint32_t>(rank.communicator->size())) throw OtherRankFailed();
  throw DeviceFailure(
      rank.communicator->name(static_cast<int>(lost) - 1),
      fmt::format("it did not answer {} within {:.3g} s", rank.communicator->name(rank.number), rank.patience_seconds));
}

std::byte* Communicator::hand_in(int rank, const void* own, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(rank);
  std::byte* const values = values_[turns_[index].calls % 2].data();
  std::memcpy(values + index * value_bytes, own, bytes);
  arrive(rank);
  return values;
}

void Communicator::arrive(int rank) {
  const std::uint64_t call = ++turns_[static_cast<std::size_t>(rank)].calls;
  const std::uint64_t all = call * names_.size();
  const auto is_over = [&](std::uint64_t word) {
    if ((word & failed_bit) != 0) throw OtherRankFailed();
    return word >= all;
  };
  std::uint64_t word = arrivals_.fetch_add(1) + 1;
  if (is_over(word)) return arrivals_.notify_all();
  for (int spin = 0; spin < spins; ++spin) {
    if (is_over(arrivals_.load())) return;
    host::relax();
  }
  while (!is_over(word = arrivals_.load())) arrivals_.wait(word);
}

}  // namespace tessera::detail
