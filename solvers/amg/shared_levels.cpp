/// Levels of smoothed aggregation that ranks share out: the rows of A that each holds, and those of P that it forms.
#include "core/borrowed_csr.hpp"
#include "core/row_slice.hpp"
#include "solvers/amg/setup.hpp"

#include <memory>

namespace tessera::detail {

/// The rows of a level that this rank works on. Where what it holds beside its own does not suffice, take_all_rows()
/// follows.
template <class T>
template <class FindBandwidth>
void AmgSetup<T>::find_rows(std::size_t level, offset_t nnz, const FindBandwidth& bandwidth) {
  const Partition& partition = ranks_->partition(level);
  const index_t rows = partition.rows();
  level_rows_ = {.rows = rows, .nnz = nnz, .own = {0, rows}};
  if (!ranks_->may_share(rows) || is_last(level, rows)) return;
  level_rows_.bandwidth = bandwidth();
  if (!filters_) return;
  level_rows_.own = ranks_->rows(level);
  level_rows_.ranks = ranks_;
  level_rows_.partition = &partition;
}

template <class T>
std::shared_ptr<const Csr<T>> AmgSetup<T>::gather_finest() {
  find_rows(0, ranks_->finest_nnz(), [this] { return ranks_->finest_bandwidth(); });
  return std::make_shared<const Csr<T>>(ranks_->gather_finest(level_rows_.held()));
}

template <class T>
std::shared_ptr<const Csr<T>> AmgSetup<T>::gather_rows(std::size_t level, const Csr<T>& own) {
  find_rows(level, ranks_->communicator().sum(ranks_->number(), own.nnz()),
            [&] { return ranks_->bandwidth(own, ranks_->rows(level).first); });
  return std::make_shared<const Csr<T>>(ranks_->gather(own, level_rows_.held()));
}

/// Every rank works on all rows from here on: the level is the last, or what it holds does not suffice.
template <class T>
void AmgSetup<T>::take_all_rows(std::size_t level, MeasuredRows<T>& rows) {
  AmgLevel<T>& here = hierarchy_.levels[level];
  const RowRange own = level_rows_.own;
  const RowSlice<T> slice = slice_rows(here.a->view(), device_, own.first, own.size());
  here.a = std::make_shared<const Csr<T>>(ranks_->gather(borrow_csr(slice.view, device_), {0, level_rows_.rows}));
  level_rows_ = whole_level(here.a->view());
  rows = measure_held(level);
}

/// Shares the next level out among ranks, if there are any and it is large, and finds the rows of P that are needed.
template <class T>
void AmgSetup<T>::share_next_level(std::size_t level) {
  const index_t rows = level_rows_.rows;
  const Aggregates& aggregates = structures_[level].aggregates;
  const auto vectors = static_cast<index_t>(nullspace_.vectors);
  const index_t coarse_rows = aggregates.count * vectors;
  prolongator_rows_ = {0, rows};
  if (ranks_ == nullptr || level != shared_levels_ || !ranks_->shares(rows, coarse_rows)) return;
  ranks_->coarsen(aggregates, static_cast<index_t>(rows / aggregates.of_row.size()), coarse_rows);
  ++shared_levels_;
  const RowRange own = ranks_->rows(level);
  prolongator_rows_ =
      rows_of_prolongator(device_, aggregates, rows, level_rows_.bandwidth, own, ranks_->rows(level + 1), vectors);
}

template std::shared_ptr<const Csr<float>> AmgSetup<float>::gather_finest();
template std::shared_ptr<const Csr<double>> AmgSetup<double>::gather_finest();
template std::shared_ptr<const Csr<float>> AmgSetup<float>::gather_rows(std::size_t, const Csr<float>&);
template std::shared_ptr<const Csr<double>> AmgSetup<double>::gather_rows(std::size_t, const Csr<double>&);
template void AmgSetup<float>::take_all_rows(std::size_t, MeasuredRows<float>&);
template void AmgSetup<double>::take_all_rows(std::size_t, MeasuredRows<double>&);
template void AmgSetup<float>::share_next_level(std::size_t);
template void AmgSetup<double>::share_next_level(std::size_t);

}  // namespace tessera::detail
