/// \file
/// What the accumulators of a GPU that give a warp to a row are tested on.
#pragma once

#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/accumulator_cuda_check.hpp"

#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// A test of one accumulator. \tparam Accumulator enqueue<V>(...), serves(row, entries)
template <class Accumulator>
class WarpAccumulatorCases {
 public:
  explicit WarpAccumulatorCases(const Device& gpu) : gpu_(gpu) {}

  /// All passes of A B, for all rows that are served, for some of them, and for none. \tparam V double, float or
  /// NoValue
  template <class V, class T>
  void check(const std::string& name, const Csr<T>& a, const Csr<T>& b) const {
    SCOPED_TRACE(name + " of " + name_of<V>());
    AccumulatorCheck<V, T> check(gpu_, a, b);
    check.run(Accumulator::template enqueue<V>, Accumulator::serves);
    if (::testing::Test::HasFatalFailure()) return;
    check.run(Accumulator::template enqueue<V>, [](const host::RowTask& row, offset_t entries) {
      return row.products % 2 == 1 && Accumulator::serves(row, entries);
    });
  }

  /// Values of A and B as they are, those of one or both left out, and positions alone.
  template <class T>
  void check_all_types(const std::string& name, const Csr<T>& a, const Csr<T>& b) const {
    const Csr<T> a_pattern = without_values(a);
    const Csr<T> b_pattern = without_values(b);
    check<T>(name, a, b);
    check<T>(name + ", A a pattern", a_pattern, b);
    check<T>(name + ", B a pattern", a, b_pattern);
    check<T>(name + ", both patterns", a_pattern, b_pattern);
    check<cuda::NoValue>(name, a, b);
  }

  /// Adversarial pairs that are small enough here.
  template <class V, class T>
  void adversarial_pairs() const {
    const auto b_row = adversarial_matrices<T>(ValueStorage::weighted, {32});
    for (std::size_t i = 0; i < b_row.size(); ++i) {
      const auto& [name, matrix] = b_row[i];
      const Csr<T> transposed = transpose(matrix.view());
      check_if_small<V>(name + " times its transpose", matrix, transposed);
      check_if_small<V>(name + ", transpose times itself", transposed, matrix);
      for (std::size_t j = 0; j < b_row.size(); ++j) {
        if (!is_spared(i, j, b_row.size()))
          check_if_small<V>(name + " times " + b_row[j].name, matrix, b_row[j].matrix);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }

  /// Stencils and bands times themselves: up to many products an entry, and few.
  template <class T>
  void compression() const {
    for (const char* spec : {"band:90,width=40", "fem3d:4", "lap2d:12", "kmer:150"}) {
      const Csr<T> a = with_values(generate<T>(parse_generator(spec), ValueStorage::pattern), {0.3, -0.7, 1.1});
      check_all_types(spec, a, a);
      if (::testing::Test::HasFailure()) return;
    }
  }

  /// Rows of B around multiples of 32, many of them to a row of A, all over the same columns: an entry is the sum of
  /// many terms from rows of B that are read in different ways.
  template <class T>
  void lists_of_all_lengths() const {
    std::vector<index_t> lengths;
    for (const index_t length : {1, 5, 16, 31, 32, 33, 0, 63, 64, 65, 127, 128, 129, 200, 260}) {
      lengths.insert(lengths.end(), 6, length);
    }
    std::shuffle(lengths.begin(), lengths.end(), std::mt19937_64(3));
    const auto b = with_row_lengths<T>(lengths, 300, ValueStorage::weighted, 5);
    const auto a = with_row_lengths<T>({0, 1, 3, 4, 5, 31, 32, 33, 64, 70, 90}, 90, ValueStorage::weighted, 6);
    check_all_types("b_rows of all lengths", a, b);
    const auto short_lists = with_row_lengths<T>(lengths_of(90, 7), 300, ValueStorage::weighted, 7);
    check_all_types("b_rows of 7", a, short_lists);
    const auto middle_lists = with_row_lengths<T>(lengths_of(90, 14), 300, ValueStorage::weighted, 8);
    check_all_types("b_rows of 14", a, middle_lists);
  }

  /// Rows of one row of B each, of `width` columns from `first` on, of which the first and the last hold entries.
  template <class T>
  void widths(const std::vector<index_t>& widths) const {
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    for (const index_t width : widths) {
      for (const index_t first : {0, 1, 31, 32, 33, 63}) {
        columns.push_back(first);
        for (index_t c = 31; c < width - 1; c += 32) columns.push_back(first + c);
        if (width > 1) columns.push_back(first + width - 1);
        offsets.push_back(static_cast<offset_t>(columns.size()));
      }
    }
    const auto rows = static_cast<index_t>(offsets.size()) - 1;
    const auto b =
        Csr<T>::pattern(rows, widths.back() + 63, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
    const auto one_each = generate<T>(parse_generator("band:" + std::to_string(rows) + ",width=1"));
    check_all_types("widths", with_values(one_each, {2.5, -0.5}), with_values(b, {1.0, 3.0, -0.1}));
  }

  /// Zeros of both signs, infinities, NaN, and sums that cancel.
  template <class T>
  void special_values() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const auto a = with_row_lengths<T>(lengths_of(20, 5), 40, ValueStorage::weighted, 9);
    const auto b = with_row_lengths<T>(lengths_of(40, 12), 50, ValueStorage::weighted, 10);
    check_all_types("cancelling", with_values(a, {1, -1}), with_values(b, {1, -1}));
    check_all_types("zeros", with_values(a, {-0.0, 0.0, 1}), with_values(b, {0.0, 1, -0.0, -0.0}));
    check_all_types("negative zeros", with_values(a, {-0.0}), with_values(b, {2}));
    check_all_types("not finite", with_values(a, {1, infinity, 1, 1, 2}), with_values(b, {1, 0, nan, 3, -infinity, 1}));
    check_all_types("tiny and huge", with_values(a, {1e-30, 1e30, 1}), with_values(b, {1e-12, 1, 1e8, -1e8}));
  }

  /// No rows, and no row that is served.
  template <class T>
  void empty_batches() const {
    const auto a = with_row_lengths<T>(lengths_of(7, 3), 9, ValueStorage::weighted);
    const auto b = with_row_lengths<T>(lengths_of(9, 3), 9, ValueStorage::weighted);
    AccumulatorCheck<T, T> check(gpu_, a, b);
    EXPECT_EQ(check.run(Accumulator::template enqueue<T>, [](const auto&, offset_t) { return false; }), 0);
    const auto no_rows = with_row_lengths<T>({}, 9, ValueStorage::weighted);
    AccumulatorCheck<T, T> nothing(gpu_, no_rows, b);
    EXPECT_EQ(nothing.run(Accumulator::template enqueue<T>, Accumulator::serves), 0);
  }

 private:
  template <class V>
  [[nodiscard]] static std::string name_of() {
    return std::is_same_v<V, double> ? "double" : std::is_same_v<V, float> ? "float" : "positions";
  }

  template <class V, class T>
  void check_if_small(const std::string& name, const Csr<T>& a, const Csr<T>& b) const {
    const index_t most_rows = repetitions(50'000, 3000);
    const offset_t most_products = repetitions(600'000, 40'000);
    if (a.cols() != b.rows() || a.rows() > most_rows || count_products(a.view(), b.view()) > most_products) return;
    check<V>(name, a, b);
  }

  template <class T>
  [[nodiscard]] static Csr<T> without_values(const Csr<T>& a) {
    return Csr<T>::pattern(a.rows(), a.cols(), Array<offset_t>::copy_of(a.row_offsets().span()),
                           Array<index_t>::copy_of(a.columns().span()));
  }

  /// The same positions with some values in turn.
  template <class T>
  [[nodiscard]] static Csr<T> with_values(const Csr<T>& a, const std::vector<double>& in_turn) {
    std::vector<T> values(static_cast<std::size_t>(a.nnz()));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(in_turn[k % in_turn.size()]);
    return Csr<T>(a.rows(), a.cols(), Array<offset_t>::copy_of(a.row_offsets().span()),
                  Array<index_t>::copy_of(a.columns().span()), Array<T>::copy_of(values));
  }

  Device gpu_;
};

}  // namespace tessera::testing
