/// \file
/// The solves of the columns of a panel. Each is a KrylovSolve, as the only one of a function is; the iterations run
/// for all columns together, on blocks. Where a column has halted, its vectors are copied from the blocks, and the host
/// deals with it as with a single solve: residuals, checks and restarts have the same order of sums. Columns that have
/// ended leave the blocks, which become narrower. On a GPU a loop of another width is recorded anew, so there a few
/// short columns stay until it pays.
#pragma once

#include "core/stopwatch.hpp"
#include "solvers/krylov.hpp"
#include "solvers/panel/panel_loop.hpp"
#include "solvers/panel/panel_vectors.hpp"
#include "tessera/multi_vector.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::detail {

/// Column j of a multivector to a vector.
template <class T>
void copy_column(const Device& device, const MultiVectorView<const T>& from, std::int64_t j, std::span<T> to) {
  fused::transform_reduce(device, from.rows(),
                          fused::CopyStrided<T>{.from = from.data() + j * from.column_stride(),
                                                .to = to.data(),
                                                .from_stride = from.row_stride(),
                                                .to_stride = 1});
}
/// The way back.
template <class T>
void copy_to_column(const Device& device, std::span<const T> from, const MultiVectorView<T>& to, std::int64_t j) {
  fused::transform_reduce(device, to.rows(),
                          fused::CopyStrided<T>{.from = from.data(),
                                                .to = to.data() + j * to.column_stride(),
                                                .from_stride = 1,
                                                .to_stride = to.row_stride()});
}

/// Elements of columns that have ended, above which a GPU leaves them out at once: some microseconds per iteration,
/// where recording the loop takes about half a millisecond. Below, they leave when at most half of the columns iterate.
inline constexpr std::int64_t narrowing_elements = std::int64_t{1} << 18;

/// \tparam Method CgPanel, BicgstabPanel or GmresPanel
template <class T, class Method>
class PanelSolve {
 public:
  using State = typename Method::State;

  /// \param A,M checked, square and on one device; on a GPU they can be enqueued
  /// \param options for every column; its observer is that of the panel
  /// \param b,x  1 to most_panel_columns columns, checked
  PanelSolve(const LinearOperator<T>& A, const LinearOperator<T>& M, const SolverOptions& options,
             const MultiVectorView<const T>& b, const MultiVectorView<T>& x)
      : observer_(options.observer),
        options_(without_observer(options)),
        problem_(KrylovArguments<T>(A, M, options_)),
        a_(A, problem_.a),
        m_(M, problem_.m),
        b_(b),
        x_(x),
        vectors_(x.rows(), static_cast<int>(x.columns()), Method::blocks(problem_.preconditioner), Method::lasting,
                 Method::host_vectors(problem_.preconditioner), problem_.device()),
        gathered_b_(b.has_contiguous_columns() ? 0 : b.rows(), Init::none, problem_.device()),
        loop_(problem_.device(), problem_.iterations_per_check()) {
    problem_.x = vectors_.column(Method::x);
    for (std::int64_t j = 0; j < x.columns(); ++j) columns_.push_back(std::make_unique<Column>(*this, j));
  }

  /// Once. \param interrupted whether an observer has stopped the panels before; out: or this one
  /// \returns a report per column
  [[nodiscard]] std::vector<SolveReport> run(bool& interrupted) {
    const InUserUnits at_the_end(*this);
    interrupted_ = interrupted;
    reports_.resize(columns_.size());
    begin();
    while (!iterating_.empty()) {
      attends_all_ = false;
      loop_.run([this](fused::PanelLoop<State>& loop) { iterate(loop); },
                [this](std::span<const double> norms, double seconds) { return note(norms, seconds); });
      attend();
    }
    interrupted = interrupted_;
    return std::move(reports_);
  }

 private:
  /// One right-hand side.
  struct Column {
    std::int64_t index;
    State state;
    KrylovSolve<T> solve;
    typename Method::Memory memory;
    std::int64_t iteration = 0;  ///< that note() has heard of
    double norm = 0.0;           ///< of that iteration, in scaled units

    Column(PanelSolve& panel, std::int64_t j)
        : index(j),
          solve(panel.problem_, state, panel.vectors_.column(Method::r), panel.vectors_.column(Method::kept)),
          memory(panel.problem_) {}
  };

  /// Brings every x that is still in the blocks to the caller when a solve ends by an exception.
  class InUserUnits {
   public:
    explicit InUserUnits(PanelSolve& panel) noexcept : panel_(panel) {}
    InUserUnits(const InUserUnits&) = delete;
    InUserUnits& operator=(const InUserUnits&) = delete;
    /// Throws only on a device that has failed; nobody can read x there any more.
    ~InUserUnits() {
      try {
        panel_.restore_all();
      } catch (...) {
        return;
      }
    }

   private:
    PanelSolve& panel_;
  };

  [[nodiscard]] static SolverOptions without_observer(const SolverOptions& options) {
    SolverOptions result = options;
    result.observer = {};
    return result;
  }

  void begin() {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      Column& column = *columns_[j];
      look_at(column);
      copy_column<T>(problem_.device(), x_, column.index, problem_.x);
      iterating_.push_back(settle(column, column.solve.open(), static_cast<int>(j)));
      in_blocks_.push_back(&column);
    }
    drop_ended();
    if (iterating_.empty()) return;
    show();
    if (interrupted_) {
      attends_all_ = true;
      attend();
    }
  }

  void iterate(fused::PanelLoop<State>& loop) {
    const fused::PanelProblem<T> problem{a_, m_, {problem_.preconditioner, loop.columns()}};
    std::array<typename Method::Memory*, most_panel_columns> memories{};
    for (std::size_t slot = 0; slot < in_blocks_.size(); ++slot) memories[slot] = &in_blocks_[slot]->memory;
    Method::iterate(loop, problem, vectors_, std::span(memories).first(in_blocks_.size()));
  }

  /// History, observer and time limits after an iteration. \returns whether to go on
  bool note(std::span<const double> norms, double seconds) {
    ++iteration_;
    bool proceed = true;
    for (std::size_t slot = 0; slot < iterating_.size(); ++slot) {
      if (iterating_[slot] == nullptr || norms[slot] == fused::no_iteration) continue;
      Column& column = *iterating_[slot];
      column.norm = norms[slot];
      proceed = column.solve.note({++column.iteration, column.norm, seconds}) && proceed;
    }
    show();
    if (!proceed || interrupted_) attends_all_ = true;
    return !attends_all_;
  }

  /// The observer sees the column whose residual is the largest multiple of its target.
  void show() {
    if (!observer_ || interrupted_) return;
    double worst = -1.0;
    double target = 0.0;
    for (const Column* const column : iterating_) {
      if (column == nullptr) continue;
      const double residual = column->solve.user_units(column->norm);
      const double its_target = column->solve.report().target;
      if (worst >= 0.0 && !(residual * target > worst * its_target)) continue;
      worst = residual;
      target = its_target;
    }
    const IterationInfo info{iteration_, options_.max_iterations, worst, target, watch_.seconds()};
    interrupted_ = observer_(info) == Control::stop;
  }

  /// Deals with the columns that have halted, or with all.
  void attend() {
    for (std::size_t slot = 0; slot < iterating_.size(); ++slot) {
      const int j = static_cast<int>(slot);
      if (iterating_[slot] == nullptr || !(attends_all_ || loop_.state(j).halted())) continue;
      Column& column = *iterating_[slot];
      column.state = loop_.state(j);
      vectors_.gather(j);
      look_at(column);
      if (interrupted_) column.solve.interrupt();
      auto steps = host_steps(column);
      iterating_[slot] = settle(column, column.solve.leave_loop(steps), j);
    }
    drop_ended();
  }

  /// The operations of the host are those of this column from now on.
  void look_at(Column& column) {
    looked_at_ = &column;
    problem_.b = b_.has_contiguous_columns() ? b_.column(column.index) : std::span<const T>(gathered_b_.span());
    if (!b_.has_contiguous_columns()) copy_column<T>(problem_.device(), b_, column.index, gathered_b_.span());
  }

  [[nodiscard]] auto host_steps(Column& column) {
    return Method::host_steps(column.solve, column.state, column.memory, vectors_);
  }

  /// Restarts a column, as often as it halts at once, and puts it into the blocks. \returns null if it has ended
  [[nodiscard]] Column* settle(Column& column, Next next, int slot) {
    auto steps = host_steps(column);
    while (next != Next::stop) {
      column.solve.enter_loop(steps, next);
      if (!column.state.halted()) {
        vectors_.scatter(slot);
        loop_.state(slot) = column.state;
        column.iteration = column.state.iteration;
        column.norm = column.state.norm;
        looked_at_ = nullptr;
        return &column;
      }
      next = column.solve.leave_loop(steps);
    }
    copy_to_column<T>(problem_.device(), problem_.x, x_, column.index);
    looked_at_ = nullptr;
    reports_[static_cast<std::size_t>(column.index)] = column.solve.take_report();
    return nullptr;
  }

  /// Makes the blocks narrower, where that pays.
  void drop_ended() {
    std::array<int, most_panel_columns> slots{};
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < iterating_.size(); ++slot) {
      if (iterating_[slot] != nullptr) {
        slots[count++] = static_cast<int>(slot);
      } else {
        loop_.state(static_cast<int>(slot)).halt = fused::Halt::done;
      }
    }
    const auto left = std::span<const int>(slots).first(count);
    const std::size_t width = iterating_.size();
    const bool is_recorded = loop_.columns() > 0 && !problem_.device().is_host();
    const std::int64_t ended = static_cast<std::int64_t>(width - count) * x_.rows();
    if (is_recorded && 2 * count > width && ended < narrowing_elements) return;
    if (count < width && count > 0) {
      vectors_.narrow(left);
      for (std::size_t slot = 0; slot < count; ++slot) {
        iterating_[slot] = in_blocks_[slot] = iterating_[static_cast<std::size_t>(left[slot])];
        loop_.state(static_cast<int>(slot)) = loop_.state(left[slot]);
      }
    }
    iterating_.resize(count);
    in_blocks_.resize(count);
    if (count < width || loop_.columns() == 0) loop_.forget(static_cast<int>(count));
  }

  void restore_all() {
    if (looked_at_ != nullptr) restore(*looked_at_);
    for (std::size_t slot = 0; slot < iterating_.size(); ++slot) {
      Column* const column = iterating_[slot];
      if (column == nullptr || column == looked_at_) continue;
      vectors_.gather(Method::x, static_cast<int>(slot));
      restore(*column);
    }
  }
  void restore(Column& column) {
    static_cast<void>(column.solve.restore_units());
    copy_to_column<T>(problem_.device(), problem_.x, x_, column.index);
  }

  Observer observer_;
  SolverOptions options_;
  KrylovProblem<T> problem_;  ///< b and x are those of the column that the host looks at
  fused::PanelOperator<T> a_;
  fused::PanelOperator<T> m_;
  MultiVectorView<const T> b_;
  MultiVectorView<T> x_;
  fused::PanelVectors<T> vectors_;
  Array<T> gathered_b_;  ///< empty where b is contiguous
  fused::PanelLoop<State> loop_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::vector<Column*> in_blocks_;  ///< columns of the blocks
  std::vector<Column*> iterating_;  ///< the same; null: ended
  Column* looked_at_ = nullptr;     ///< whose vectors are not in the blocks
  std::vector<SolveReport> reports_;
  std::int64_t iteration_ = 0;
  bool interrupted_ = false;
  bool attends_all_ = false;
  Stopwatch watch_;
};

}  // namespace tessera::detail
