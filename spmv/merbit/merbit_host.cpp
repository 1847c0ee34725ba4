#include "spmv/common/segments.hpp"
#include "spmv/merbit/block_sum.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/merbit_tuning.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tessera::host {

namespace {

template <class T>
BlockGrid grid_of(const MerbitTiles& tiles) {
  return {tiles, host_merbit_policy<T>.tiles_per_block};
}

/// function(input) with what blocks need, in the type that the descriptors have. Long rows are summed first.
template <class T, class Terms, class Function>
void with_block_input(const Device& device, const MerbitSetup& setup, const BlockGrid& grid, const Terms& terms,
                      Function&& function) {
  LongRowSums<T> long_row_sums;
  sum_long_rows<T>(device, setup.long_rows, cached(terms), long_row_sums);
  const auto input = [&](const auto* words) {
    return BlockInput<T, std::remove_cvref_t<decltype(*words)>>{grid, words, setup.long_rows, long_row_sums.data()};
  };
  if (setup.tiles.descriptor_bits == 32) {
    function(input(setup.tiles.lane_words_32.data()));
  } else {
    function(input(setup.tiles.lane_words_64.data()));
  }
}

/// Carries commit: the rows in which blocks end are kept apart, then added in the order of the blocks.
template <class T, class Terms, class Epilogue>
ProductDots multiply_with_carries(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue) {
  Segments<T> segments;
  with_block_input<T>(device, setup, grid, terms, [&](const auto& input) {
    parallel_tasks(device, grid.size(), [&](std::int64_t block) {
      Segment<T> segment{grid.first_row(block), grid.first_row(block + 1), T{0}, {}};
      const EndSums<T> sums = multiply_block<T>(input, block, terms, epilogue, segment.dots);
      if (segment.first_row < segment.end_row) epilogue.store_shared(segment.first_row, sums.first);
      segment.carry = sums.open;
      segments[static_cast<std::size_t>(block)] = segment;
    });
  });
  return join_segments<T>(std::span(segments).first(static_cast<std::size_t>(grid.size())), grid.tiles.rows, epilogue);
}

/// Atomic commit: the rows in which blocks begin are zero or hold β y. clear_other(row) is called once for each of
/// them.
template <class T, class Terms, class Epilogue, class ClearOther>
ProductDots multiply_with_atomics(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue, const ClearOther& clear_other) {
  std::array<ProductDots, max_segments> dots;
  with_block_input<T>(device, setup, grid, terms, [&](const auto& input) {
    parallel_tasks(device, grid.size(), [&](std::int64_t block) {
      ProductDots inner;
      const EndSums<T> sums = multiply_block<T>(input, block, terms, epilogue, inner);
      const index_t begin = grid.first_row(block);
      const index_t end = grid.first_row(block + 1);
      if (begin < end) epilogue.add_atomic(begin, sums.first);
      if (end < grid.tiles.rows) epilogue.add_atomic(end, sums.open);
      if (grid.is_first_in_row(block)) clear_other(begin);
      dots[static_cast<std::size_t>(block)] = inner;
    });
  });
  // Shared rows are final only now, and <y, y> is not linear in their parts.
  ProductDots total;
  for (std::int64_t block = 0; block < grid.size(); ++block) {
    if (grid.first_row(block) < grid.first_row(block + 1)) epilogue.finish(grid.first_row(block), total);
    total += dots[static_cast<std::size_t>(block)];
  }
  return total;
}

/// Clears (or scales by β) every shared row once.
template <class Epilogue>
void prepare_shared(const Device& device, const BlockGrid& grid, const Epilogue& epilogue) {
  parallel_for(device, grid.size(), [&](Range blocks) {
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      if (grid.is_first_in_row(block)) epilogue.clear_shared(grid.first_row(block));
    }
  });
}

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const MerbitSetup& setup, const Terms& terms, const Epilogue& epilogue) {
  const BlockGrid grid = grid_of<T>(setup.tiles);
  if (setup.commit == MerbitCommit::carries) return multiply_with_carries<T>(device, setup, grid, terms, epilogue);
  prepare_shared(device, grid, epilogue);
  return multiply_with_atomics<T>(device, setup, grid, terms, epilogue, [](index_t) {});
}

template <class T, class Epilogue>
ProductDots multiply_dual(const Device& device, const CsrView<T>& a, const MerbitSetup& setup, std::span<const T> x,
                          const Epilogue& epilogue, std::span<T> other) {
  return with_terms(a, x, setup.access, [&](const auto& terms) {
    return multiply_with_atomics<T>(device, setup, grid_of<T>(setup.tiles), terms, epilogue,
                                    [other](index_t row) { other[static_cast<std::size_t>(row)] = T{0}; });
  });
}

}  // namespace

template <class T>
void merbit_apply(const Device& device, const CsrView<T>& a, const MerbitSetup& setup, T alpha, std::span<const T> x,
                  T beta, std::span<T> y) {
  with_terms(a, x, setup.access, [&](const auto& terms) {
    with_update(alpha, beta, y, [&](const auto& epilogue) { multiply<T>(device, setup, terms, epilogue); });
  });
}

template <class T>
ProductDots merbit_apply_and_dot(const Device& device, const CsrView<T>& a, const MerbitSetup& setup,
                                 std::span<const T> x, std::span<T> y, std::span<const T> w) {
  return with_terms(a, x, setup.access, [&](const auto& terms) {
    return multiply<T>(device, setup, terms, OverwriteAndDot<T>{y.data(), w.data()});
  });
}

template <class T>
void merbit_clear_shared(const Device& device, const MerbitSetup& setup, std::span<T> y) {
  prepare_shared(device, grid_of<T>(setup.tiles), Overwrite<T>{y.data(), T{1}});
}

template <class T>
void merbit_apply_dual(const Device& device, const CsrView<T>& a, const MerbitSetup& setup, std::span<const T> x,
                       std::span<T> y, std::span<T> other) {
  multiply_dual(device, a, setup, x, Overwrite<T>{y.data(), T{1}}, other);
}

template <class T>
ProductDots merbit_apply_dual_and_dot(const Device& device, const CsrView<T>& a, const MerbitSetup& setup,
                                      std::span<const T> x, std::span<T> y, std::span<T> other, std::span<const T> w) {
  return multiply_dual(device, a, setup, x, OverwriteAndDot<T>{y.data(), w.data()}, other);
}

template void merbit_apply(const Device&, const CsrView<float>&, const MerbitSetup&, float, std::span<const float>,
                           float, std::span<float>);
template void merbit_apply(const Device&, const CsrView<double>&, const MerbitSetup&, double, std::span<const double>,
                           double, std::span<double>);
template ProductDots merbit_apply_and_dot(const Device&, const CsrView<float>&, const MerbitSetup&,
                                          std::span<const float>, std::span<float>, std::span<const float>);
template ProductDots merbit_apply_and_dot(const Device&, const CsrView<double>&, const MerbitSetup&,
                                          std::span<const double>, std::span<double>, std::span<const double>);
template void merbit_clear_shared(const Device&, const MerbitSetup&, std::span<float>);
template void merbit_clear_shared(const Device&, const MerbitSetup&, std::span<double>);
template void merbit_apply_dual(const Device&, const CsrView<float>&, const MerbitSetup&, std::span<const float>,
                                std::span<float>, std::span<float>);
template void merbit_apply_dual(const Device&, const CsrView<double>&, const MerbitSetup&, std::span<const double>,
                                std::span<double>, std::span<double>);
template ProductDots merbit_apply_dual_and_dot(const Device&, const CsrView<float>&, const MerbitSetup&,
                                               std::span<const float>, std::span<float>, std::span<float>,
                                               std::span<const float>);
template ProductDots merbit_apply_dual_and_dot(const Device&, const CsrView<double>&, const MerbitSetup&,
                                               std::span<const double>, std::span<double>, std::span<double>,
                                               std::span<const double>);

}  // namespace tessera::host
