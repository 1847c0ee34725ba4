/// \file
/// The vectors of the columns that iterate together, and those of one column while the host looks at it.
#pragma once

#include "solvers/panel/panel_operator.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::fused {

template <class T>
class PanelVectors {
 public:
  /// \param blocks       vectors per column; the first `lasting` ones, which outlive an iteration, are followed by one
  ///                     that does not
  /// \param host_vectors those that the host looks at
  PanelVectors(std::int64_t n, int columns, int blocks, int lasting, std::vector<int> host_vectors,
               const Device& device)
      : n_(n), columns_(columns), lasting_(lasting), host_vectors_(std::move(host_vectors)), device_(device) {
    for (int k = 0; k < blocks; ++k) blocks_.emplace_back(n * columns, Init::zero, device);
    columns_on_their_own_.resize(blocks_.size());
    for (const int k : host_vectors_) columns_on_their_own_[at(k)] = Array<T>(n, Init::zero, device);
  }

  [[nodiscard]] std::span<T> panel(int k) { return blocks_[at(k)].span().first(at(n_ * columns_)); }
  /// Vector k of the column that the host looks at; empty for vectors that it does not need.
  [[nodiscard]] std::span<T> column(int k) { return columns_on_their_own_[at(k)].span(); }

  /// The vectors that the host looks at, of a column.
  void gather(int column) {
    for (const int k : host_vectors_) gather(k, column);
  }
  void gather(int k, int column) {
    gather_column<T>(device_, blocks_[at(k)].data(), columns_, column, columns_on_their_own_[at(k)].span());
  }
  /// The way back.
  void scatter(int column) {
    for (const int k : host_vectors_) {
      scatter_column<T>(device_, columns_on_their_own_[at(k)].span(), blocks_[at(k)].data(), columns_, column);
    }
  }

  /// Drops all columns but those of the list, which is in order. What does not outlive an iteration is lost.
  void narrow(std::span<const int> kept) {
    const int columns = static_cast<int>(kept.size());
    for (int k = 0; k < lasting_; ++k) {
      NarrowPanel<T> op{.from = blocks_[at(k)].data(),
                        .to = blocks_[at(lasting_)].data(),
                        .from_columns = columns_,
                        .columns = columns,
                        .row = RowOfElement(columns),
                        .source = {}};
      std::transform(kept.begin(), kept.end(), op.source, [](int j) { return static_cast<std::int8_t>(j); });
      transform_reduce(device_, n_ * columns, op);
      std::swap(blocks_[at(k)], blocks_[at(lasting_)]);
    }
    columns_ = columns;
  }

 private:
  template <class Index>
  [[nodiscard]] static std::size_t at(Index k) noexcept {
    return static_cast<std::size_t>(k);
  }

  std::int64_t n_;
  int columns_;
  int lasting_;
  std::vector<int> host_vectors_;
  Device device_;
  std::vector<Array<T>> blocks_;
  std::vector<Array<T>> columns_on_their_own_;
};

/// A KrylovProblem for the iterations of a panel.
template <class T>
struct PanelProblem {
  const PanelOperator<T>& a;
  const PanelOperator<T>& m;
  PanelPreconditioner<T> preconditioner;
};

}  // namespace tessera::fused
