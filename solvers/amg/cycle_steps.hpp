/// \file
/// Multigrid cycles V(s, s), W and K from the guess 0: the order of their steps, written once for the host and the GPU.
///
/// An Executor runs the operations of cycle_ops.hpp, in order:
///   using Matrix, Dense;                          rows of a matrix, rows of a dense inverse
///   fuses_first_sweep                             whether the first residual forms the first sweep where it reads it
///   rows(matrix, gather, op);                     a row operation without sums; also for a Dense
///   elements(n, op);                              an element operation
///   scalars(matrix, gather, op, scalars);         a row operation, then AmgKrylovScalars::after(sums)
///   last(matrix, gather, make_op);                the row operation make_op(output), which writes the result of the
///                                                 cycle; also for a Dense
#pragma once

#include "solvers/amg/cycle_ops.hpp"
#include "solvers/amg/hierarchy.hpp"
#include "tessera/amg.hpp"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

/// Sweeps before and after on a coarsest level without an inverse.
inline constexpr int amg_coarsest_sweeps = 4;

/// W and K visit level l up to 2^l times. Levels beyond this one are visited once for every visit of the level above:
/// a hierarchy that hardly shrinks would be visited for ever.
inline constexpr std::size_t amg_deepest_double_visit = 6;

/// Factors ω of the sweeps of a level. \param is_smoothed_coarsest whether it is the coarsest and has no inverse
[[nodiscard]] std::vector<double> amg_level_weights(const AmgOptions& options, double rho, bool is_smoothed_coarsest);

/// Whether a level is the coarsest and is solved by its inverse.
template <class T>
[[nodiscard]] bool is_dense_level(const AmgHierarchy<T>& hierarchy, std::size_t level) {
  return level + 1 == hierarchy.levels.size() && !hierarchy.coarsest_inverse.empty();
}

/// What one level holds in the cycle. Vectors that its cycle does not need are empty.
template <class V, class Matrix>
struct AmgCycleLevel {
  index_t rows = 0;
  bool is_dense = false;
  Matrix a;             ///< none where dense
  Matrix transposed_a;  ///< none before the first product with Mᵀ
  Matrix p;
  Matrix r;
  Array<V> m;        ///< of the smoother
  Array<V> weights;  ///< ω of the sweeps, in the order before the coarser level
  Array<V> x;
  Array<V> next_x;
  Array<V> b;
  Array<V> residual;
  Array<V> c;  ///< K: the first direction, and A times it
  Array<V> v;
  Array<AmgKrylovScalars> scalars;

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return a.bytes() + p.bytes() + r.bytes() + m.bytes() + weights.bytes() + x.bytes() + next_x.bytes() + b.bytes() +
           residual.bytes() + c.bytes() + v.bytes() + scalars.bytes();
  }
};

/// \param level with its rows \throws OutOfMemory
template <class T, class V, class Matrix>
void allocate_vectors(AmgCycleLevel<V, Matrix>& level, const Device& device, std::size_t index, std::size_t levels,
                      AmgCycle cycle) {
  const index_t n = level.rows;
  const auto vector = [&] { return Array<V>(n, Init::none, device); };
  const bool is_finest = index == 0;
  const bool is_coarsest = index + 1 == levels;
  if (!is_finest || sizeof(V) != sizeof(T)) level.b = vector();
  if (!is_finest || !level.is_dense) level.x = vector();
  if (level.is_dense) return;
  level.next_x = vector();
  if (!is_coarsest) level.residual = vector();
  if (cycle != AmgCycle::k || is_finest || is_coarsest || index > amg_deepest_double_visit) return;
  level.c = vector();
  level.v = vector();
  level.scalars = Array<AmgKrylovScalars>(1, Init::zero, device);
}

/// One cycle. Its result z goes where Executor::last() puts it.
template <class T, class V, class Executor>
class AmgCycleSteps {
 public:
  using Level = AmgCycleLevel<V, typename Executor::Matrix>;

  using Matrix = typename Executor::Matrix;
  using MatrixOfLevel = Matrix Level::*;  // nvcc repeats the plain type with parentheses, which gcc warns of

  /// \param dense the inverse of the coarsest level, where that is_dense \param a the matrices of the levels: those of
  /// Mᵀ, with the transpose of `dense`, give a product with Mᵀ, but for the cycle K
  AmgCycleSteps(Executor& executor, AmgCycle cycle, std::span<Level> levels, const typename Executor::Dense& dense,
                const T* r, MatrixOfLevel a = &Level::a)
      : executor_(executor), cycle_(cycle), levels_(levels), dense_(dense), r_(r), a_(a) {}

  void run() {
    if (levels_[0].is_dense) return solve_finest();
    begin();
    smooth_from(0, 1);
    descend(0);
    finish();
  }

 private:
  [[nodiscard]] std::size_t sweeps(std::size_t l) const { return static_cast<std::size_t>(levels_[l].weights.size()); }
  [[nodiscard]] bool is_coarsest(std::size_t l) const { return l + 1 == levels_.size(); }
  /// Whether b of the finest level is r.
  [[nodiscard]] static constexpr bool r_is_b() { return sizeof(T) == sizeof(V); }

  [[nodiscard]] const V* b(std::size_t l) const {
    if constexpr (r_is_b()) {
      if (l == 0) return r_;
    }
    return levels_[l].b.data();
  }
  [[nodiscard]] AmgSweep<V> sweep(std::size_t l, std::size_t k) const {
    return {levels_[l].m.data(), levels_[l].weights.data() + k};
  }
  [[nodiscard]] AmgVector<V> x(std::size_t l) const { return {levels_[l].x.data()}; }
  [[nodiscard]] AmgSmooth<V> smoothing(std::size_t l, std::size_t k) const {
    return {levels_[l].x.data(), b(l), sweep(l, k), levels_[l].next_x.data()};
  }
  /// Whether a visit of the level is two cycles: on the coarsest, a second one would do little or nothing.
  [[nodiscard]] bool is_visited_twice(std::size_t l) const {
    return cycle_ != AmgCycle::v && !is_coarsest(l) && l <= amg_deepest_double_visit;
  }

  /// Whether the first operation gives the residual, too.
  [[nodiscard]] bool begins_with_residual() const {
    return Executor::fuses_first_sweep && sweeps(0) == 1 && !is_coarsest(0);
  }

  /// b and the first sweep of the finest level.
  void begin() {
    Level& level = levels_[0];
    if (begins_with_residual()) {
      executor_.rows(level.*a_, AmgFirstSweep<T, V>{r_, level.m.data(), level.weights.data()},
                     AmgBeginResidual<T, V>{r_, sweep(0, 0), level.b.data(), level.x.data(), level.residual.data()});
    } else {
      executor_.elements(level.rows, AmgBegin<T, V>{r_, sweep(0, 0), level.b.data(), level.x.data()});
    }
  }

  /// Sweeps k, k + 1, ... before the coarser level.
  void smooth_from(std::size_t l, std::size_t k) {
    for (; k < sweeps(l); ++k) smooth(l, k);
  }

  void smooth(std::size_t l, std::size_t k) {
    executor_.rows(levels_[l].*a_, x(l), smoothing(l, k));
    std::swap(levels_[l].x, levels_[l].next_x);
  }

  /// The correction from the coarser level; none on the coarsest.
  void descend(std::size_t l) {
    if (is_coarsest(l)) return;
    Level& level = levels_[l];
    if (l > 0 || !begins_with_residual()) executor_.rows(level.*a_, x(l), AmgResidual<V>{b(l), level.residual.data()});
    Level& coarse = levels_[l + 1];
    V* const swept = coarse.is_dense ? nullptr : coarse.x.data();
    executor_.rows(level.r, AmgVector<V>{level.residual.data()},
                   AmgRestrict<V>{sweep(l + 1, 0), coarse.b.data(), swept});
    visit(l + 1);
    executor_.rows(level.p, x(l + 1), AmgProlong<V>{level.x.data()});
  }

  /// A⁻¹ b approximately, where the first sweep is done.
  void visit(std::size_t l) {
    if (levels_[l].is_dense) {
      executor_.rows(dense_, AmgVector<V>{b(l)}, AmgSolveDense<V>{levels_[l].x.data()});
      return;
    }
    cycle_from(l, 1);
    if (!is_visited_twice(l)) return;
    if (cycle_ == AmgCycle::w) return cycle_from(l, 0);
    second_step(l);
  }

  /// \param k the first sweep to do: 1 from the guess 0, whose first sweep came with b
  void cycle_from(std::size_t l, std::size_t k) {
    smooth_from(l, k);
    descend(l);
    for (std::size_t back = sweeps(l); back-- > 0;) smooth(l, back);
  }

  /// K: the first cycle gave c in x.
  void second_step(std::size_t l) {
    Level& level = levels_[l];
    AmgKrylovScalars* const scalars = level.scalars.data();
    std::swap(level.c, level.x);
    executor_.scalars(level.*a_, AmgVector<V>{level.c.data()},
                      AmgFirstStep<V>{level.c.data(), level.b.data(), level.v.data()}, scalars);
    executor_.elements(level.rows,
                       AmgSecondBegin<V>{sweep(l, 0), scalars, level.v.data(), level.b.data(), level.x.data()});
    cycle_from(l, 1);
    executor_.scalars(level.*a_, x(l), AmgSecondStep<V>{level.x.data(), level.v.data(), level.b.data()}, scalars);
    executor_.elements(level.rows, AmgCombine<V>{scalars, level.c.data(), level.x.data()});
  }

  /// The sweeps after the coarser level, the last of which writes z.
  void finish() {
    for (std::size_t back = sweeps(0); back-- > 1;) smooth(0, back);
    executor_.last(levels_[0].*a_, x(0), [this](const auto& output) {
      return AmgSmoothLast<V, std::remove_cvref_t<decltype(output)>>{smoothing(0, 0), output};
    });
  }

  void solve_finest() {
    if constexpr (!r_is_b()) {
      executor_.elements(levels_[0].rows, AmgBegin<T, V>{r_, {}, levels_[0].b.data(), nullptr});
    }
    executor_.last(dense_, AmgVector<V>{b(0)}, [](const auto& output) {
      return AmgSolveDenseLast<V, std::remove_cvref_t<decltype(output)>>{output};
    });
  }

  Executor& executor_;
  AmgCycle cycle_;
  std::span<Level> levels_;
  const typename Executor::Dense& dense_;
  const T* r_;
  MatrixOfLevel a_;
};

}  // namespace tessera::detail
