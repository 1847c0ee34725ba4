/// Aggregation by a maximal independent set of distance 2.
#include "solvers/amg/aggregation.hpp"

#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <utility>

namespace tessera::host {

std::int64_t list_undecided(const Device& /*device*/, const std::uint32_t* words, const index_t* from,
                            std::int64_t count, index_t* to) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const index_t row = from == nullptr ? static_cast<index_t>(i) : from[i];
    to[found] = row;
    found += detail::mis_state(words[row]) == detail::MisState::undecided ? 1 : 0;
  }
  return found;
}

}  // namespace tessera::host

namespace tessera::detail {

namespace {

/// Up to so many rows, a round of all rows costs less than listing those that are left.
constexpr std::int64_t unlisted_rows = 30000;
/// Rounds before the host asks for the first time whether rows are left; then two by two.
constexpr int first_rounds = 6;
constexpr int most_rounds = 1000;

/// Rows whose word is undecided.
class UndecidedRows {
 public:
  UndecidedRows(const Device& device, std::int64_t rows) : device_(device), rows_(rows), count_(rows) {}

  [[nodiscard]] RowSet set(int lanes) const noexcept { return {count_, lanes, listed_ ? list_.data() : nullptr}; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  void set_count(std::int64_t count) noexcept { count_ = count; }

  /// Leaves out the rows that were decided. On a GPU count() is right when the caller has set it to *found.
  void shrink(const std::uint32_t* words, std::int64_t* found) {
    if (!listed_) {
      list_ = Array<index_t>(rows_, Init::none, device_);
      other_ = Array<index_t>(rows_, Init::none, device_);
    }
    const index_t* from = listed_ ? list_.data() : nullptr;
    if (device_.is_host()) {
      *found = host::list_undecided(device_, words, from, count_, other_.data());
    } else {
      cuda::list_undecided(device_, words, from, count_, other_.data(), found);
    }
    std::swap(list_, other_);
    listed_ = true;
  }

 private:
  Device device_;
  std::int64_t rows_;
  std::int64_t count_;
  bool listed_ = false;
  Array<index_t> list_;
  Array<index_t> other_;
};

template <class T>
class IndependentSet {
 public:
  IndependentSet(const Device& device, const CsrView<T>& a)
      : device_(device),
        a_(a),
        lanes_(lanes_per_row(a.rows, a.nnz())),
        words_(a.rows, Init::none, device),
        near_(a.rows, Init::none, device) {}

  /// \returns rounds
  int find() {
    fused::transform_reduce(device_, a_.rows,
                            MisStart{.offsets = a_.row_offsets.data(), .words = words_.data(), .near = near_.data()});
    return a_.rows <= unlisted_rows ? find_unlisted() : find_listed();
  }
  [[nodiscard]] const std::uint32_t* words() const noexcept { return words_.data(); }

 private:
  void round(const RowSet& near, const RowSet& undecided, int number, RowCount* left) {
    transform_rows(device_, near,
                   MisNear{.row_offsets = a_.row_offsets.data(),
                           .columns = a_.columns.data(),
                           .words = words_.data(),
                           .near = near_.data()});
    transform_rows(device_, undecided,
                   MisDecide{.row_offsets = a_.row_offsets.data(),
                             .columns = a_.columns.data(),
                             .near = near_.data(),
                             .words = words_.data(),
                             .round = static_cast<std::uint32_t>(number)},
                   left);
  }

  int find_unlisted() {
    const RowSet all{a_.rows, lanes_};
    DeviceValue<RowCount> left(device_);
    for (int number = 0; number < most_rounds;) {
      const int batch = device_.is_host() ? 1 : number == 0 ? first_rounds : 2;
      for (int i = 0; i < batch; ++i) round(all, all, number + i, i + 1 == batch ? left.data() : nullptr);
      number += batch;
      if (left.get().rows == 0) return number;
    }
    return most_rounds;
  }

  int find_listed() {
    struct Counts {
      std::int64_t near, undecided;
    };
    UndecidedRows near(device_, a_.rows);
    UndecidedRows undecided(device_, a_.rows);
    DeviceValue<Counts> counts(device_);
    for (int number = 0; number < most_rounds;) {
      const int batch = number == 0 || device_.is_host() ? 1 : 2;
      for (int i = 0; i < batch; ++i) round(near.set(lanes_), undecided.set(lanes_), number + i, nullptr);
      number += batch;
      near.shrink(near_.data(), &counts.data()->near);
      undecided.shrink(words_.data(), &counts.data()->undecided);
      const Counts found = counts.get();
      near.set_count(found.near);
      undecided.set_count(found.undecided);
      if (found.undecided == 0) return number;
    }
    return most_rounds;
  }

  Device device_;
  const CsrView<T>& a_;
  int lanes_;
  Array<std::uint32_t> words_;
  Array<std::uint32_t> near_;
};

/// Where the graph is not symmetric, a row may need several steps to reach an aggregate; some never do.
constexpr int most_joins = 5;

template <class T>
void join(const Device& device, const CsrView<T>& a, const IndependentSet<T>& set, Aggregates& result) {
  const RowSet rows = all_rows(a);
  Array<offset_t> numbers(std::int64_t{a.rows} + 1, Init::none, device);
  fused::transform_reduce(device, a.rows, MarkRoots{.words = set.words(), .numbers = numbers.data()});
  result.count = static_cast<index_t>(sum_to_offsets(device, numbers.span()));
  result.of_row = Array<index_t>(a.rows, Init::none, device);
  transform_rows(device, rows,
                 JoinRoots{.row_offsets = a.row_offsets.data(),
                           .columns = a.columns.data(),
                           .words = set.words(),
                           .numbers = numbers.data(),
                           .aggregates = result.of_row.data()});
  DeviceValue<RowCount> left(device);
  Array<index_t> other(a.rows, Init::none, device);
  result.without = a.rows;
  // The first time without asking: hardly ever has every row a root beside it.
  for (int i = 0; i < most_joins && result.without > 0; ++i) {
    transform_rows(device, rows,
                   JoinStrongest<T>{.a = pointers_of(a), .old = result.of_row.data(), .aggregates = other.data()},
                   left.data());
    std::swap(result.of_row, other);
    result.without = left.get().rows;
  }
}

}  // namespace

template <class T>
Aggregates aggregate(const Device& device, const CsrView<T>& a) {
  Aggregates result;
  IndependentSet<T> set(device, a);
  result.rounds = set.find();
  join(device, a, set, result);
  return result;
}

template Aggregates aggregate(const Device&, const CsrView<float>&);
template Aggregates aggregate(const Device&, const CsrView<double>&);

}  // namespace tessera::detail
