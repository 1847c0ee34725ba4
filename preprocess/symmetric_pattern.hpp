/// \file
/// The pattern of A + Aᵀ: the undirected graph that orderings work on.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <limits>
#include <span>
#include <vector>

namespace tessera::detail {

/// Neighbours of vertex v: the j ≠ v with a_vj or a_jv stored, ascending.
class SymmetricPattern {
 public:
  /// \param matrix square, on the host. O(nnz)
  template <class T>
  explicit SymmetricPattern(const CsrView<T>& matrix);

  [[nodiscard]] index_t vertices() const noexcept { return static_cast<index_t>(offsets_.size() - 1); }
  /// Number of (v, j) pairs: every edge counts twice.
  [[nodiscard]] offset_t nnz() const noexcept { return neighbours_.size(); }
  [[nodiscard]] index_t degree(index_t v) const noexcept {
    return static_cast<index_t>(offsets_[std::int64_t{v} + 1] - offsets_[v]);
  }
  [[nodiscard]] std::span<const index_t> neighbours(index_t v) const noexcept {
    return {neighbours_.data() + offsets_[v], static_cast<std::size_t>(degree(v))};
  }

 private:
  Array<offset_t> offsets_;
  Array<index_t> neighbours_;
};

/// Reverse Cuthill-McKee; entry k is the vertex that becomes number k.
[[nodiscard]] std::vector<index_t> rcm_ordering(const SymmetricPattern& graph);

/// Limits on an order and on L + U in it.
struct FillLimits {
  double entries = std::numeric_limits<double>::infinity();
  double flops = std::numeric_limits<double>::infinity();
  double steps_per_entry = std::numeric_limits<double>::infinity();  ///< entries read for one of A + Aᵀ
};

/// Approximate minimum degree. Vertices with over 64 and 2 √n neighbours, and ten times the mean, come last; limits do
/// not count their columns. Has an interruption point at every pivot.
/// \throws BudgetExceeded as soon as a limit is passed
[[nodiscard]] std::vector<index_t> amd_ordering(const SymmetricPattern& graph, const FillLimits& limits = {});

}  // namespace tessera::detail
