/// \file
/// The V(s, s) cycle from the guess 0 on several devices: the order of its steps for one rank, written once for the
/// host and the GPU, with the operations of one device (solvers/amg/cycle_ops.hpp) and in its order, so that rows on
/// the host get the same bits. Before a matrix is multiplied by a vector, the vector's halo travels. The right-hand
/// side of the first replicated level is gathered by every rank, which then runs the rest of the cycle as one device
/// does.
///
/// An executor has rows() and elements() of solvers/amg/cycle_steps.hpp.
#pragma once

#include "solvers/amg/cycle.hpp"
#include "solvers/amg/cycle_ops.hpp"
#include "solvers/distributed/vector_halo.hpp"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

/// Vectors with a halo hold elements of lower ranks, own rows, elements of higher ranks.
template <class V, class Matrix>
struct DistributedLevel {
  index_t rows = 0;   ///< own
  index_t lower = 0;  ///< elements of lower ranks
  Matrix a;
  Matrix p;
  Matrix r;
  Array<V> m;        ///< of the smoother
  Array<V> weights;  ///< ω of the sweeps, in the order before the coarser level
  Array<V> b;        ///< own rows; none where r of the cycle serves
  Array<V> x;        ///< with a halo, as the next two
  Array<V> next_x;
  Array<V> residual;  ///< none on the coarsest
  std::unique_ptr<VectorHalo<V>> halo;

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return a.bytes() + p.bytes() + r.bytes() + m.bytes() + weights.bytes() + b.bytes() + x.bytes() + next_x.bytes() +
           residual.bytes() + halo->bytes();
  }
};

/// The rest of the cycle, which every rank runs on all rows.
template <class V>
struct ReplicatedLevels {
  index_t first = 0;  ///< own row
  index_t rows = 0;   ///< own
  Array<V> b;         ///< of all ranks
  Array<V> x;
  std::unique_ptr<VectorHalo<V>> halo;
  std::unique_ptr<AmgCycleOperator<V>> cycle;

  /// Beside those of the cycle.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return b.bytes() + x.bytes() + halo->bytes(); }
};

/// One cycle.
template <class T, class V, class Executor>
class DistributedCycleSteps {
 public:
  using Level = DistributedLevel<V, typename Executor::Matrix>;

  /// \param rest null: all levels are shared out
  DistributedCycleSteps(Executor& executor, std::span<Level> levels, ReplicatedLevels<V>* rest, const T* r, T* z)
      : executor_(executor), levels_(levels), rest_(rest), r_(r), z_(z) {}

  void run() {
    if (levels_.empty()) return run_replicated();
    executor_.elements(levels_[0].rows, AmgBegin<T, V>{r_, sweep(0, 0), levels_[0].b.data(), own(0, levels_[0].x)});
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      for (std::size_t k = 1; k < sweeps(l); ++k) smooth(l, k);
      if (has_coarser(l)) restrict_from(l);
    }
    if (rest_ != nullptr) solve_rest();
    for (std::size_t l = levels_.size(); l-- > 0;) {
      if (has_coarser(l)) prolong_to(l);
      for (std::size_t back = sweeps(l); back-- > (l == 0 ? 1U : 0U);) smooth(l, back);
    }
    finish();
  }

 private:
  [[nodiscard]] bool has_coarser(std::size_t l) const { return l + 1 < levels_.size() || rest_ != nullptr; }
  [[nodiscard]] std::size_t sweeps(std::size_t l) const { return static_cast<std::size_t>(levels_[l].weights.size()); }
  [[nodiscard]] V* own(std::size_t l, Array<V>& vector) const { return vector.data() + levels_[l].lower; }
  [[nodiscard]] const V* b(std::size_t l) const {
    if constexpr (sizeof(T) == sizeof(V)) {
      if (l == 0) return r_;
    }
    return levels_[l].b.data();
  }
  [[nodiscard]] AmgSweep<V> sweep(std::size_t l, std::size_t k) const {
    return {levels_[l].m.data(), levels_[l].weights.data() + k};
  }
  [[nodiscard]] AmgSmooth<V> smoothing(std::size_t l, std::size_t k) const {
    return {own(l, levels_[l].x), b(l), sweep(l, k), own(l, levels_[l].next_x)};
  }

  /// A row operation of a matrix in the columns of level l. \param x of that level
  template <class Op>
  void multiply(const typename Executor::Matrix& matrix, std::size_t l, Array<V>& x, const Op& op) {
    const VectorHalo<V>& halo = *levels_[l].halo;
    halo.fetch(x.span());
    executor_.rows(matrix, AmgVector<V>{x.data()}, op);
    halo.release();
  }

  void smooth(std::size_t l, std::size_t k) {
    Level& level = levels_[l];
    multiply(level.a, l, level.x, smoothing(l, k));
    std::swap(level.x, level.next_x);
  }

  /// b of the coarser level and, where it is shared out, its first sweep.
  void restrict_from(std::size_t l) {
    Level& level = levels_[l];
    multiply(level.a, l, level.x, AmgResidual<V>{b(l), own(l, level.residual)});
    if (l + 1 < levels_.size()) {
      Level& coarse = levels_[l + 1];
      multiply(level.r, l, level.residual, AmgRestrict<V>{sweep(l + 1, 0), coarse.b.data(), own(l + 1, coarse.x)});
    } else {
      multiply(level.r, l, level.residual, AmgRestrict<V>{{}, rest_->b.data() + rest_->first, nullptr});
    }
  }

  void prolong_to(std::size_t l) {
    const AmgProlong<V> op{own(l, levels_[l].x)};
    if (l + 1 < levels_.size()) return multiply(levels_[l].p, l + 1, levels_[l + 1].x, op);
    executor_.rows(levels_[l].p, AmgVector<V>{rest_->x.data()}, op);
  }

  void solve_rest() {
    rest_->halo->fetch(rest_->b.span());
    rest_->cycle->apply(std::as_const(rest_->b).span(), rest_->x.span());
    rest_->halo->release();
  }

  /// The last sweep of the finest level, which writes z.
  void finish() {
    multiply(levels_[0].a, 0, levels_[0].x, AmgSmoothLast<V, AmgOutput<T>>{smoothing(0, 0), AmgOutput<T>{z_}});
  }

  /// Every rank has the whole hierarchy.
  void run_replicated() {
    executor_.elements(rest_->rows, AmgBegin<T, V>{r_, {}, rest_->b.data() + rest_->first, nullptr});
    solve_rest();
    executor_.elements(rest_->rows, AmgBegin<V, T>{rest_->x.data() + rest_->first, {}, z_, nullptr});
  }

  Executor& executor_;
  std::span<Level> levels_;
  ReplicatedLevels<V>* rest_;
  const T* r_;
  T* z_;
};

}  // namespace tessera::detail
