/// Aggregation by a maximal independent set of distance 2.
#include "solvers/amg/aggregation.hpp"

#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <utility>

namespace tessera::host {

std::int64_t list_undecided(const Device& /*device*/, const std::uint32_t* words, const RowSet& from, index_t* to) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < from.rows; ++i) {
    const index_t row = from.list == nullptr ? static_cast<index_t>(from.first + i) : from.list[i];
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
constexpr int later_rounds = 2;
/// A round takes two steps (LevelRows).
static_assert(2 * later_rounds < LevelRows::steps_of_exchange);
constexpr int most_rounds = 1000;

/// Rows whose word is undecided.
class UndecidedRows {
 public:
  /// \param all consecutive rows
  UndecidedRows(const Device& device, const RowSet& all) : device_(device), set_(all) {}

  [[nodiscard]] const RowSet& set() const noexcept { return set_; }
  void set_count(std::int64_t count) noexcept { set_.rows = count; }

  /// Leaves out the rows that were decided. On a GPU set() is right when the caller has set its count to *found.
  void shrink(const std::uint32_t* words, std::int64_t* found) {
    if (set_.list == nullptr) {
      list_ = Array<index_t>(set_.rows, Init::none, device_);
      other_ = Array<index_t>(set_.rows, Init::none, device_);
    }
    if (device_.is_host()) {
      *found = host::list_undecided(device_, words, set_, other_.data());
    } else {
      cuda::list_undecided(device_, words, set_, other_.data(), found);
    }
    std::swap(list_, other_);
    set_.list = list_.data();
  }

 private:
  Device device_;
  RowSet set_;
  Array<index_t> list_;
  Array<index_t> other_;
};

template <class T>
class IndependentSet {
 public:
  IndependentSet(const Device& device, const CsrView<T>& a, const LevelRows& rows, offset_t entries)
      : device_(device),
        a_(a),
        rows_(rows),
        all_(rows.set(rows.beside(LevelRows::steps_of_exchange - 1), entries)),
        words_(a.rows, Init::none, device),
        near_(a.rows, Init::none, device) {}

  /// \returns rounds
  int find() {
    // Neighbours of own rows are among those held, with all their entries.
    const RowRange start = rows_.with_columns();
    fused::transform_reduce(
        device_, start.size(),
        MisStart{.offsets = a_.row_offsets.data(), .words = words_.data(), .near = near_.data(), .first = start.first});
    return a_.rows <= unlisted_rows ? find_unlisted() : find_listed();
  }
  [[nodiscard]] const std::uint32_t* words() const noexcept { return words_.data(); }

 private:
  /// The rounds from `number` on, then an exchange.
  void run(const RowSet& near, const RowSet& undecided, int number, int count, RowCount* left) {
    int steps = LevelRows::steps_of_exchange;
    for (int i = 0; i < count; ++i) {
      const RowRange first = rows_.beside(--steps);
      const RowRange second = rows_.beside(--steps);
      round(near, first, undecided, second, number + i, i + 1 == count ? left : nullptr);
    }
    rows_.exchange(words_.span());
  }

  void round(const RowSet& near, const RowRange& of_near, const RowSet& undecided, const RowRange& of_undecided,
             int number, RowCount* left) {
    transform_rows(device_, near,
                   MisNear{.row_offsets = a_.row_offsets.data(),
                           .columns = a_.columns.data(),
                           .words = words_.data(),
                           .near = near_.data(),
                           .within = of_near});
    transform_rows(device_, undecided,
                   MisDecide{.row_offsets = a_.row_offsets.data(),
                             .columns = a_.columns.data(),
                             .near = near_.data(),
                             .words = words_.data(),
                             .within = of_undecided,
                             .round = static_cast<std::uint32_t>(number)},
                   left);
  }

  int find_unlisted() {
    DeviceValue<RowCount> left(device_);
    for (int number = 0; number < most_rounds;) {
      const int batch = device_.is_host() ? 1 : number == 0 && !rows_.is_shared() ? first_rounds : later_rounds;
      run(all_, all_, number, batch, left.data());
      number += batch;
      if (rows_.sum(left.get()).rows == 0) return number;
    }
    return most_rounds;
  }

  int find_listed() {
    struct Counts {
      std::int64_t near, undecided;
    };
    UndecidedRows near(device_, all_);
    UndecidedRows undecided(device_, all_);
    DeviceValue<Counts> counts(device_);
    for (int number = 0; number < most_rounds;) {
      const int batch = number == 0 || device_.is_host() ? 1 : later_rounds;
      run(near.set(), undecided.set(), number, batch, nullptr);
      number += batch;
      near.shrink(near_.data(), &counts.data()->near);
      undecided.shrink(words_.data(), &counts.data()->undecided);
      const Counts found = counts.get();
      near.set_count(found.near);
      undecided.set_count(found.undecided);
      if (rows_.sum(RowCount{found.undecided}).rows == 0) return number;
    }
    return most_rounds;
  }

  Device device_;
  const CsrView<T>& a_;
  const LevelRows& rows_;
  RowSet all_;  ///< that it works on
  Array<std::uint32_t> words_;
  Array<std::uint32_t> near_;
};

/// Where the graph is not symmetric, a row may need several steps to reach an aggregate; some never do.
constexpr int most_joins = 5;

/// Roots are numbered in the order of rows. \returns numbers of roots in the rows of this rank and those beside them
Array<offset_t> number_roots(const Device& device, const LevelRows& rows, const std::uint32_t* words,
                             Aggregates& result) {
  Array<offset_t> numbers(std::int64_t{rows.rows} + 1, Init::none, device);
  const auto size = static_cast<std::size_t>(rows.own.size());
  const auto own = numbers.span().subspan(static_cast<std::size_t>(rows.own.first), size + 1);
  fused::transform_reduce(device, rows.own.size(), MarkRoots{.words = words + rows.own.first, .numbers = own.data()});
  const LevelRows::RunningSum roots = rows.running_sum(sum_to_offsets(device, own));
  if (roots.before > 0) {
    fused::transform_reduce(device, rows.own.size(), ShiftNumbers{.numbers = own.data(), .before = roots.before});
  }
  result.count = static_cast<index_t>(roots.total);
  rows.exchange(numbers.span());
  return numbers;
}

template <class T>
void join(const Device& device, const CsrView<T>& a, const IndependentSet<T>& set, const LevelRows& rows,
          offset_t entries, Aggregates& result) {
  int steps = LevelRows::steps_of_exchange;
  const auto next = [&] { return rows.set(rows.beside(--steps), entries); };
  const Array<offset_t> numbers = number_roots(device, rows, set.words(), result);
  result.of_row = Array<index_t>(a.rows, Init::none, device);
  transform_rows(device, next(),
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
    if (steps == 0) {
      rows.exchange(result.of_row.span());
      steps = LevelRows::steps_of_exchange;
    }
    transform_rows(
        device, next(),
        JoinStrongest<T>{
            .a = pointers_of(a), .old = result.of_row.data(), .aggregates = other.data(), .counted = rows.own},
        left.data());
    std::swap(result.of_row, other);
    result.without = rows.sum(left.get()).rows;
  }
  rows.complete(result.of_row.span());
}

}  // namespace

template <class T>
Aggregates aggregate(const Device& device, const CsrView<T>& a, const LevelRows& rows, offset_t entries) {
  Aggregates result;
  IndependentSet<T> set(device, a, rows, entries);
  result.rounds = set.find();
  join(device, a, set, rows, entries, result);
  return result;
}

template Aggregates aggregate(const Device&, const CsrView<float>&, const LevelRows&, offset_t);
template Aggregates aggregate(const Device&, const CsrView<double>&, const LevelRows&, offset_t);

}  // namespace tessera::detail
