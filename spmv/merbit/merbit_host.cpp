#include "spmv/merbit/block_sum.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/policy.hpp"
#include "spmv/segments.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tessera::host {

namespace {

template <class T>
BlockGrid grid_of(const MerbitTiles& tiles) {
  return {tiles, host_merbit_policy<T>.tiles_per_block};
}

/// The block's row buffer. On the stack: products neither allocate nor share anything.
template <class T>
using RowBuffer = std::array<T, static_cast<std::size_t>(host_merbit_policy<T>.max_block_steps())>;

/// function(input) with what blocks need, in the type that the descriptors have. Long rows are summed first.
template <class T, class Terms, class Function>
auto with_block_input(const Device& device, const MerbitSetup& setup, const BlockGrid& grid, const Terms& terms,
                      Function&& function) {
  LongRowSums<T> long_row_sums;
  sum_long_rows<T>(device, setup.long_rows, cached(terms), long_row_sums);
  const auto input = [&](const auto* words) {
    return BlockInput<T, std::remove_cvref_t<decltype(*words)>>{grid, words, setup.long_rows, long_row_sums.data()};
  };
  if (setup.tiles.descriptor_bits == 32) return function(input(setup.tiles.lane_words_32.data()));
  return function(input(setup.tiles.lane_words_64.data()));
}

/// body(block range, part) over all blocks.
template <class Body>
std::int64_t for_parts(const Device& device, const BlockGrid& grid, Body&& body) {
  const std::int64_t parts = std::min(grid.size(), max_segments);
  parallel_tasks(device, parts,
                 [&](std::int64_t part) { body(part_of(grid.size(), parts, part), static_cast<std::size_t>(part)); });
  return parts;
}

/// The rows that a block both begins and closes: all of [begin, end) but the first.
template <class T, class Epilogue>
void store_inner_rows(index_t begin, index_t end, const RowBuffer<T>& rows, const Epilogue& epilogue,
                      ProductDots& dots) {
  ProductDots inner;  // in registers: `dots` might alias y
  for (index_t i = begin + 1; i < end; ++i) epilogue.store(i, rows[static_cast<std::size_t>(i - begin)], inner);
  dots += inner;
}

/// Carries commit: the blocks of one part in order, each handing its open row to the next.
template <class T, class Word, class Terms, class Epilogue>
Segment<T> multiply_part(const BlockInput<T, Word>& input, Range blocks, const Terms& terms, const Epilogue& epilogue) {
  const BlockGrid& grid = input.grid;
  RowBuffer<T> rows;
  Segment<T> segment{grid.first_row(blocks.begin), grid.first_row(blocks.end), T{0}, {}};
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
    const index_t begin = grid.first_row(block);
    const index_t end = grid.first_row(block + 1);
    const T open = sum_block<T>(input, block, terms, rows.data());
    if (begin == end) {
      segment.carry += open;
      continue;
    }
    rows[0] += segment.carry;
    segment.carry = open;
    // Only the first row of the part can have sums in other parts.
    if (begin == segment.first_row) {
      epilogue.store_shared(begin, rows[0]);
    } else {
      epilogue.store(begin, rows[0], segment.dots);
    }
    store_inner_rows<T>(begin, end, rows, epilogue, segment.dots);
  }
  return segment;
}

template <class T, class Terms, class Epilogue>
ProductDots multiply_with_carries(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue) {
  Segments<T> segments;
  const std::int64_t parts = with_block_input<T>(device, setup, grid, terms, [&](const auto& input) {
    return for_parts(device, grid, [&](Range blocks, std::size_t part) {
      segments[part] = multiply_part<T>(input, blocks, terms, epilogue);
    });
  });
  return join_segments<T>(std::span(segments).first(static_cast<std::size_t>(parts)), grid.tiles.rows, epilogue);
}

/// Atomic commit of one block, whose first and last rows are shared.
template <class T, class Epilogue>
void commit_block(const BlockGrid& grid, std::int64_t block, const RowBuffer<T>& rows, T open, const Epilogue& epilogue,
                  ProductDots& dots) {
  const index_t begin = grid.first_row(block);
  const index_t end = grid.first_row(block + 1);
  if (begin < end) epilogue.add_atomic(begin, rows[0]);
  store_inner_rows<T>(begin, end, rows, epilogue, dots);
  if (end < grid.tiles.rows) epilogue.add_atomic(end, open);
}

/// The shared rows of y are zero or hold β y. clear_other(row) is called once for every shared row.
template <class T, class Terms, class Epilogue, class ClearOther>
ProductDots multiply_with_atomics(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue, const ClearOther& clear_other) {
  std::array<ProductDots, max_segments> dots;
  const std::int64_t parts = with_block_input<T>(device, setup, grid, terms, [&](const auto& input) {
    return for_parts(device, grid, [&](Range blocks, std::size_t part) {
      RowBuffer<T> rows;
      dots[part] = {};
      for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
        const T open = sum_block<T>(input, block, terms, rows.data());
        commit_block<T>(grid, block, rows, open, epilogue, dots[part]);
        if (grid.is_first_in_row(block)) clear_other(grid.first_row(block));
      }
    });
  });
  // Shared rows are final only now, and <y, y> is not linear in their parts.
  ProductDots total;
  for (std::int64_t block = 0; block < grid.size(); ++block) {
    if (grid.first_row(block) < grid.first_row(block + 1)) epilogue.finish(grid.first_row(block), total);
  }
  for (std::int64_t part = 0; part < parts; ++part) total += dots[static_cast<std::size_t>(part)];
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
