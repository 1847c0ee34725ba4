/// \file
/// The loop of an iterative method on a panel, as fused/loop.hpp is for one vector: the host calls its operations one
/// by one, or a GPU runs them by itself in a GraphLoop. It returns to the host at the end of an iteration in which a
/// column has halted; the others have completed it.
#pragma once

#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/block_pass.hpp"
#include "solvers/fused/loop.hpp"
#include "solvers/fused/recorded_iteration.hpp"
#include "solvers/panel/panel.hpp"
#include "solvers/panel/panel_operator.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tessera::fused {

/// Sums of up to Width columns.
template <class Sums, std::size_t Width>
struct ColumnSums {
  Sums of[Width] = {};
  ColumnSums& operator+=(const ColumnSums& other) noexcept {
    for (std::size_t j = 0; j < Width; ++j) of[j] += other.of[j];
    return *this;
  }
};

/// A fused operation on some columns of a panel, on the host. Their sums are added in the order of reduce_range(), so
/// that they have the bits of transform_reduce() on one column.
template <class Op, std::size_t Width>
class HostPanelPass {
 public:
  using Sums = ColumnSums<typename Op::Sums, Width>;

  HostPanelPass(const Op& op, int columns) : op_(op), columns_(columns) {}
  void add(int column, const typename Op::Scalars& scalars) {
    scalars_[static_cast<std::size_t>(column)] = scalars;
    live_[static_cast<std::size_t>(count_++)] = column;
  }

  [[nodiscard]] Sums run(const Device& device, std::int64_t rows) const {
    return host::parallel_sum<Sums>(device, rows, [this](host::Range range) { return reduce(range); });
  }

 private:
  /// Interleaved partial sums.
  static constexpr std::size_t chains = sums_in_order<Op> ? 1 : 4;
  static constexpr auto step = static_cast<std::int64_t>(chains);

  [[nodiscard]] Sums reduce(host::Range range) const {
    std::array<Sums, chains> sums{};
    std::int64_t i = range.begin;
    for (; i + step <= range.end; i += step) {
      for (std::size_t chain = 0; chain < chains; ++chain) apply(i + static_cast<std::int64_t>(chain), sums[chain]);
    }
    for (; i < range.end; ++i) apply(i, sums[0]);
    if constexpr (chains == 4) {
      sums[0] += sums[1];
      sums[2] += sums[3];
      sums[0] += sums[2];
    }
    return sums[0];
  }

  void apply(std::int64_t row, Sums& sums) const {
    const std::int64_t first = row * columns_;
    for (int k = 0; k < count_; ++k) {
      const int column = live_[static_cast<std::size_t>(k)];
      const std::int64_t element = first + column;
      op_.apply(element, op_.load(element), scalars_[static_cast<std::size_t>(column)], sums.of[column]);
    }
  }

  Op op_;
  int columns_;
  int count_ = 0;
  std::array<int, Width> live_{};
  std::array<typename Op::Scalars, Width> scalars_{};
};

template <class State>
class PanelLoop {
 public:
  PanelLoop(const Device& device, int iterations_per_check)
      : device_(device), iterations_per_check_(iterations_per_check) {
    if (device.is_host()) return;
    partial_ = Array<double>(cuda::panel_partial_doubles(most_panel_columns), Init::none, device);
    norms_ = Array<double>(cuda::panel_history_rows() * most_panel_columns, Init::none, device);
    norms_on_host_.resize(static_cast<std::size_t>(norms_.size()));
    finished_ = Array<unsigned>(most_panel_columns, Init::zero, device);
  }

  /// Of the columns, between runs.
  [[nodiscard]] State& state(int column) noexcept { return panel_.of[column]; }
  [[nodiscard]] int columns() const noexcept { return columns_; }

  /// Another number of columns, or other vectors. What a GPU has recorded is gone.
  void forget(int columns) {
    graph_.reset();
    columns_ = columns;
  }

  /// Runs iteration(*this) until a column halts or note(norms, seconds) says false. note() is called once per iteration
  /// of the panel, in order, with the norms of the columns or no_iteration. A GraphLoop may be some iterations ahead by
  /// then; note() hears of these too.
  template <class Iteration, class Note>
  void run(Iteration&& iteration, Note&& note) {
    panel_.halt = Halt::none;
    for (int j = 0; j < columns_; ++j) panel_.noted[j] = panel_.of[j].iteration;
    if (device_.is_host()) {
      run_from_host(iteration, note);
    } else {
      run_on_gpu(iteration, note);
    }
  }

  // For the iteration.

  /// A fused operation on the n > 0 elements of a panel.
  template <class Op>
  void apply(std::int64_t n, const Op& op) {
    if (recording_ != nullptr) return record(n, op);
    if (static_cast<std::size_t>(columns_) <= narrow) return apply_from_host<narrow>(n / columns_, op);
    apply_from_host<most_panel_columns>(n / columns_, op);
  }

  /// An operation on scalars alone.
  template <class Op>
  void apply_scalars(const Op& op) {
    if (recording_ != nullptr) return record(0, op);
    for_each_live([&](State& state) { op.scalars_before(state); });
  }

  /// A block operation on every column, whose vectors have n > 0 elements. \param of_column int -> BlockOfColumn
  template <class OfColumn>
  void apply_blocks(std::int64_t n, const OfColumn& of_column) {
    using Block = decltype(of_column(0));
    using Op = decltype(Block::op);
    if (recording_ != nullptr) {
      std::array<Block, most_panel_columns> all{};
      for (int j = 0; j < columns_; ++j) all[static_cast<std::size_t>(j)] = of_column(j);
      const auto columns = std::span<const Block>(all).first(static_cast<std::size_t>(columns_));
      return cuda::PanelBlock<Op>::record(device_, recording_->frame(), n, columns, space());
    }
    for_each_live([&](State& state) {
      const Block block = of_column(static_cast<int>(&state - panel_.of));
      block.op.scalars_before(state);
      if (state.halted()) return;
      const auto scalars = block.op.scalars(state);
      block.op.scalars_after(state, block_pass(device_, n, block.op, scalars, block.op.columns(state), *block.space));
    });
  }

  /// Y = A X, without inner products.
  template <class T>
  void multiply(const PanelOperator<T>& a, std::span<const T> x, std::span<T> y) {
    if (recording_ != nullptr || !all_halted()) a.apply(x, y, columns_);
  }

  /// Y = A X; the dots of the states are those with the columns of W.
  template <class T>
  void product(const PanelOperator<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w) {
    multiply(a, x, y);
    apply(static_cast<std::int64_t>(x.size()), PanelDots<T, State>{.w = w.data(), .y = y.data()});
  }

 private:
  /// Columns whose sums the host keeps without room for more.
  static constexpr std::size_t narrow = 8;

  template <class Op>
  void record(std::int64_t n, const Op& op) {
    cuda::PanelOp<Op>::record(device_, recording_->frame(), n, columns_, op, space());
  }
  [[nodiscard]] cuda::PanelSpace space() {
    return {.partial = partial_.data(), .norms = norms_.data(), .finished = finished_.data()};
  }

  template <class Function>
  void for_each_live(const Function& function) {
    for (int j = 0; j < columns_; ++j) {
      if (!panel_.of[j].halted()) function(panel_.of[j]);
    }
  }
  [[nodiscard]] bool all_halted() const {
    return std::all_of(panel_.of, panel_.of + columns_, [](const State& state) { return state.halted(); });
  }

  template <std::size_t Width, class Op>
  void apply_from_host(std::int64_t rows, const Op& op) {
    for_each_live([&](State& state) { op.scalars_before(state); });
    if (all_halted()) return;
    HostPanelPass<Op, Width> pass(op, columns_);
    for (int j = 0; j < columns_; ++j) {
      if (!panel_.of[j].halted()) pass.add(j, op.scalars(panel_.of[j]));
    }
    const auto sums = pass.run(device_, rows);
    for_each_live([&](State& state) { op.scalars_after(state, sums.of[&state - panel_.of]); });
  }

  template <class Iteration, class Note>
  void run_from_host(Iteration& iteration, Note& note) {
    std::array<double, most_panel_columns> norms{};
    while (panel_.halt == Halt::none) {
      iteration(*this);
      ++panel_.iteration;
      for (int j = 0; j < columns_; ++j) {
        const State& state = panel_.of[j];
        norms[static_cast<std::size_t>(j)] = state.iteration != panel_.noted[j] ? state.norm : no_iteration;
        panel_.noted[j] = state.iteration;
        if (state.halted() && state.halt != Halt::done) panel_.halt = state.halt;
      }
      if (!note(std::span<const double>(norms), watch_.seconds())) return;
    }
  }

  template <class Iteration, class Note>
  void run_on_gpu(Iteration& iteration, Note& note) {
    if (!graph_) graph_ = record_iteration(device_, sizeof panel_, iterations_per_check_, *this, recording_, iteration);
    bool enter = true;
    while (panel_.halt == Halt::none) {
      const double started = watch_.seconds();
      const auto entries = graph_->run(chunk_, &panel_, enter);
      detail::copy_bytes(Device{}, norms_on_host_.data(), device_, norms_.data(),
                         entries.size() * most_panel_columns * sizeof(double));
      const double each = (watch_.seconds() - started) / static_cast<double>(std::max<std::size_t>(entries.size(), 1));
      chunk_ = std::clamp(static_cast<std::int64_t>(report_seconds / each), std::int64_t{1}, most_report_iterations);
      enter = false;
      bool proceed = true;
      for (std::size_t k = 0; k < entries.size(); ++k) {
        const auto norms = std::span<const double>(norms_on_host_).subspan(k * most_panel_columns, most_panel_columns);
        proceed = note(norms, started + entries[k].seconds) && proceed;
      }
      if (!proceed) return;
    }
  }

  Device device_;
  int iterations_per_check_;
  int columns_ = 0;
  PanelState<State> panel_;
  Stopwatch watch_;
  Array<double> partial_;     ///< on a GPU, as norms_
  Array<double> norms_;       ///< of the iterations of a run
  Array<unsigned> finished_;  ///< PanelSpace::finished
  std::vector<double> norms_on_host_;
  std::unique_ptr<cuda::GraphLoop> graph_;
  std::int64_t chunk_ = first_report_iterations;  ///< iterations until the next report
  cuda::GraphLoop* recording_ = nullptr;          ///< while an iteration is being recorded
};

}  // namespace tessera::fused
