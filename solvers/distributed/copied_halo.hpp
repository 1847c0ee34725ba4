/// \file
/// The halo by copies: elements are packed, all ranks wait for each other, then each fetches its own. Where a rank
/// needs all elements of another one, they are copied from where they lie, and all wait again.
#pragma once

#include "core/communicator.hpp"
#include "core/group_rank.hpp"
#include "solvers/distributed/halo_columns.hpp"
#include "tessera/array.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

/// Calls are collective.
template <class T>
class CopiedHalo {
 public:
  /// \param rows of the rank \param device of the rank
  CopiedHalo(const ExchangeLists& lists, std::int64_t rows, const Device& device);

  /// Fills the halo from the x of all ranks, each with its own rows.
  void fetch(std::span<const T> x, std::span<T> halo) const;
  /// The same where x has room for the halo around the own rows: elements of lower ranks, own rows, of higher ranks.
  void fetch_around(std::span<T> x) const;
  /// After a fetch(), and the work that reads the halo: from then on x may change. Waits for all ranks only where one
  /// of them needs all elements of another one.
  void release() const;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return rows_.bytes() + packed_[0].bytes() + packed_[1].bytes(); }

 private:
  /// Per rank: where the elements for it begin among the packed ones; `whole`: all of x.
  using Begins = std::array<index_t, most_ranks>;
  static_assert(sizeof(Begins) <= Communicator::value_bytes);
  static constexpr index_t whole = -1;

  struct Source {
    const T* x = nullptr;
    const T* packed = nullptr;
    int gpu = 0;
  };

  [[nodiscard]] const GroupRank& rank() const noexcept { return *rank_of(device_); }
  /// \param lower,higher where the halo of lower and of higher ranks would begin if it began with rank 0
  void fetch_to(const T* x, T* lower, T* higher) const;

  Device device_;
  std::int64_t own_rows_;
  std::vector<index_t> halo_offsets_;
  std::vector<index_t> begins_;  ///< per rank: where the own elements begin among its packed ones, or `whole`
  bool reads_whole_ = false;     ///< whether any rank copies all of another one's x from where it lies
  Array<index_t> rows_;
  /// Of two fetches in turn: who packs for the next one knows that all have reached it, but not that all have copied
  /// what they need for it.
  mutable std::array<Array<T>, 2> packed_;
  mutable std::size_t turn_ = 0;
};

extern template class CopiedHalo<float>;
extern template class CopiedHalo<double>;

}  // namespace tessera::detail
