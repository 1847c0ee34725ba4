/// \file
/// Halos of vectors that have room for them: elements of lower ranks, own rows, elements of higher ranks.
#pragma once

#include "solvers/distributed/copied_halo.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Of one level of a cycle and one rank. Calls are collective, and in the same order in every cycle.
template <class V>
class VectorHalo {
 public:
  VectorHalo() = default;
  VectorHalo(const VectorHalo&) = delete;
  VectorHalo& operator=(const VectorHalo&) = delete;
  virtual ~VectorHalo() = default;

  /// Before the first fetch of a cycle.
  virtual void begin_cycle() const {}
  /// Fills the room for the halo.
  virtual void fetch(std::span<V> x) const = 0;
  /// After a fetch and the work that reads the halo: from then on x may change.
  virtual void release() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
};

/// By copies.
template <class V>
class CopiedVectorHalo final : public VectorHalo<V> {
 public:
  /// Made by all ranks at once. \param rows of the rank \param device of the rank
  CopiedVectorHalo(const ExchangeLists& lists, std::int64_t rows, const Device& device) : halo_(lists, rows, device) {}
  void fetch(std::span<V> x) const override { halo_.fetch_around(x); }
  void release() const override { halo_.release(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return halo_.bytes(); }

 private:
  CopiedHalo<V> halo_;
};

}  // namespace tessera::detail
