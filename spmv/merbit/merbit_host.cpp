/// \file
/// MERBIT on the host. A block of tiles is walked row by row, by the flags of its lanes: where lanes and tiles end does
/// not affect the sums, since one thread works on all of them. Rows that a block both begins and closes are stored; the
/// sums of the two rows that it may share with other blocks are left to the commit.
#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/gather_access.hpp"
#include "spmv/common/terms.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace tessera {

namespace detail {

MerbitShape choose_merbit_shape(const SpmvOptions& options, int sigma_32, int sigma_64) {
  if (options.sigma == 0) {
    if (options.descriptor_bits == 64) return {sigma_64, 64};
    return {sigma_32, 32};
  }
  const int narrowest = options.sigma <= max_sigma(32) ? 32 : 64;
  const int bits = options.descriptor_bits == 0 ? narrowest : options.descriptor_bits;
  if (options.sigma > max_sigma(bits)) {
    throw NotSupported(fmt::format("{}-bit MERBIT descriptors hold at most sigma {}, asked for {}", bits,
                                   max_sigma(bits), options.sigma));
  }
  return {options.sigma, bits};
}

}  // namespace detail

namespace host {

namespace {

/// How the parts of a row that several blocks share are added.
enum class MerbitCommit {
  atomic,   ///< in the order in which blocks finish; the shared rows must be zero before
  carries,  ///< kept apart, then added in the order of the blocks: bitwise the same for any number of threads
};

/// What the kernel prepares.
struct MerbitSetup {
  MerbitTiles tiles;
  LongRowSlices long_rows;
  GatherAccess access = GatherAccess::streamed;
  MerbitCommit commit = MerbitCommit::carries;
};

/// Blocks of consecutive tiles, the units of work. Their number depends on the matrix alone.
struct BlockGrid {
  const MerbitTiles& tiles;
  int least_tiles;  ///< per block, about

  [[nodiscard]] std::int64_t size() const noexcept {
    const std::int64_t least = grain(least_tiles);
    return std::min((tiles.tiles() + least - 1) / least, max_chunks);
  }
  [[nodiscard]] Range tiles_of(std::int64_t block) const noexcept { return part_of(tiles.tiles(), size(), block); }
  /// The row in which a block starts; for block size(), the number of rows.
  [[nodiscard]] index_t first_row(std::int64_t block) const noexcept { return tiles.first_row(tiles_of(block).begin); }
  /// Whether no earlier block starts in the same row. Shared rows are those in which blocks start: these blocks visit
  /// each of them once.
  [[nodiscard]] bool is_first_in_row(std::int64_t block) const noexcept {
    return block == 0 || first_row(block - 1) < first_row(block);
  }
};

/// Sums of the rows at the ends of some tiles.
template <class T>
struct EndSums {
  T first{0};  ///< of the row in which the tiles begin, if they close it
  T open{0};   ///< of the row in which they end
};

/// The tiles of a range: rows that end in it are stored, except the row in which it begins. Terms and epilogue come by
/// value, and the loop is a separate function: the compiler then keeps their pointers in registers (bench/NOTES.md).
template <class T, DescriptorWord Word, class Terms, class Epilogue>
[[nodiscard, gnu::noinline]] EndSums<T> multiply_tiles(const MerbitTiles& tiles, const Word* words, Range range,
                                                       Terms terms, Epilogue epilogue, ProductDots& dots) noexcept {
  const int sigma = tiles.sigma;
  const index_t first_row = tiles.first_row(range.begin);
  const Word* const end_word = words + range.end * lanes_per_tile;
  EndSums<T> sums;
  ProductDots inner;  // in registers: `dots` might alias y
  index_t row = first_row;
  offset_t begin = tiles.tile_x[range.begin];
  offset_t lane_begin = begin + first_row;  // on the path, and less the row: the nonzero
  for (const Word* word = words + range.begin * lanes_per_tile; word < end_word; ++word, lane_begin += sigma) {
    for (Word flags = unpack_lane<Word>(*word, sigma).down_flags; flags != 0; flags &= flags - 1) {
      const offset_t end = lane_begin + lowest_flag(flags) - row;
      const T sum = sum_terms<T>(terms, begin, end);
      begin = end;
      if (row == first_row) {
        sums.first = sum;
      } else {
        epilogue.store(row, sum, inner);
      }
      ++row;
    }
  }
  sums.open = sum_terms<T>(terms, begin, tiles.tile_x[range.end]);
  dots += inner;
  return sums;
}

/// Sums of the runs of long-row tiles that were computed window by window, in the order of the runs. On the stack:
/// products neither allocate nor share anything.
template <class T>
using LongRowSums = std::array<T, static_cast<std::size_t>(max_long_row_slices)>;

/// Goes through all runs one window of x at a time. Partial sums are added in the order of the windows.
template <class T, class Terms>
void sum_long_rows(const Device& device, const LongRowSlices& slices, const Terms& terms, LongRowSums<T>& sums) {
  const std::int64_t runs = slices.runs();
  parallel_tasks(device, slices.windows, [&](std::int64_t w) {
    const std::int64_t first = w * runs;
    for (std::int64_t r = first; r < first + runs; ++r) {
      sums[static_cast<std::size_t>(r)] =
          sum_many_terms<T>(terms, slices.begin[r], slices.begin[r + runs], slices.begin[r + 1]);
    }
  });
  for (std::int64_t r = runs; r < slices.windows * runs; ++r) {
    sums[static_cast<std::size_t>(r % runs)] += sums[static_cast<std::size_t>(r)];
  }
}

/// Input of a block besides terms and epilogue.
template <class T, DescriptorWord Word>
struct BlockInput {
  const BlockGrid& grid;
  const Word* words;
  const LongRowSlices& long_rows;
  const T* long_row_sums;  ///< one per run
};

/// One block: the tiles between the runs that were summed already, and the sums of the runs that begin in it.
template <class T, DescriptorWord Word, class Terms, class Epilogue>
[[nodiscard]] EndSums<T> multiply_block(const BlockInput<T, Word>& input, std::int64_t block, const Terms& terms,
                                        const Epilogue& epilogue, ProductDots& dots) noexcept {
  const MerbitTiles& tiles = input.grid.tiles;
  const LongRowSlices& long_rows = input.long_rows;
  const Range range = input.grid.tiles_of(block);
  EndSums<T> sums;
  const auto add_tiles = [&](Range between_runs) {
    const auto [first, open] = multiply_tiles<T>(tiles, input.words, between_runs, terms, epilogue, dots);
    const index_t row = tiles.first_row(between_runs.begin);
    if (row == tiles.first_row(between_runs.end)) {
      sums.open += open;
      return;
    }
    const T sum = std::exchange(sums.open, open) + first;
    if (row == tiles.first_row(range.begin)) {
      sums.first = sum;
    } else {
      epilogue.store(row, sum, dots);
    }
  };
  std::int64_t tile = range.begin;
  std::int64_t run = long_rows.first_run_after(tile);
  for (; run < long_rows.runs() && long_rows.first_tile[run] < range.end; ++run) {
    const std::int64_t first_tile = long_rows.first_tile[run];
    if (first_tile >= range.begin) {
      add_tiles({tile, first_tile});
      sums.open += input.long_row_sums[run];
    }
    tile = std::min(long_rows.end_tile[run], range.end);
  }
  add_tiles({tile, range.end});
  return sums;
}

template <class T>
BlockGrid grid_of(const MerbitTiles& tiles) {
  return {tiles, host_merbit_policy<T>.tiles_per_block};
}

/// Calls function(input) with the input of blocks, by the width of the descriptors. Long rows are summed first.
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

/// Commit by carries: the rows in which blocks end are kept apart, then added in the order of the blocks.
template <class T, class Terms, class Epilogue>
ProductDots multiply_with_carries(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue) {
  PathChunks<T> segments;
  with_block_input<T>(device, setup, grid, terms, [&](const auto& input) {
    parallel_tasks(device, grid.size(), [&](std::int64_t block) {
      PathChunk<T> segment{grid.first_row(block), grid.first_row(block + 1), T{0}, {}};
      const EndSums<T> sums = multiply_block<T>(input, block, terms, epilogue, segment.dots);
      if (segment.first_row < segment.end_row) epilogue.store_shared(segment.first_row, sums.first);
      segment.carry = sums.open;
      segments[static_cast<std::size_t>(block)] = segment;
    });
  });
  return join_chunks<T>(std::span(segments).first(static_cast<std::size_t>(grid.size())), grid.tiles.rows, epilogue);
}

/// Atomic commit: the rows in which blocks begin are zero or hold β y; clear_other(row) is called once for each.
template <class T, class Terms, class Epilogue, class ClearOther>
ProductDots multiply_with_atomics(const Device& device, const MerbitSetup& setup, const BlockGrid& grid,
                                  const Terms& terms, const Epilogue& epilogue, const ClearOther& clear_other) {
  std::array<ProductDots, max_chunks> dots;
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

template <class T>
class MerbitHostKernel final : public SpmvKernel<T> {
 public:
  MerbitHostKernel(const Device& device, MerbitSetup setup) : device_(device), setup_(std::move(setup)) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_terms(a, x, setup_.access, [&](const auto& terms) {
      with_epilogue(alpha, beta, y, [&](const auto& epilogue) { multiply<T>(device_, setup_, terms, epilogue); });
    });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return with_terms(a, x, setup_.access, [&](const auto& terms) {
      return multiply<T>(device_, setup_, terms, OverwriteAndDot<T>{y.data(), w.data()});
    });
  }

  [[nodiscard]] typename DualBuffer<T>::Mode output_mode() const override {
    return setup_.commit == MerbitCommit::atomic ? DualBuffer<T>::Mode::dual : DualBuffer<T>::Mode::single;
  }
  void prepare_dual(std::span<T> y) const override {
    prepare_shared(device_, grid_of<T>(setup_.tiles), Overwrite<T>{y.data(), T{1}});
  }
  void apply_dual(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other) const override {
    multiply_dual(device_, a, setup_, x, Overwrite<T>{y.data(), T{1}}, other);
  }
  ProductDots apply_dual_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other,
                                 std::span<const T> w) const override {
    return multiply_dual(device_, a, setup_, x, OverwriteAndDot<T>{y.data(), w.data()}, other);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = setup_.commit == MerbitCommit::atomic ? Determinism::not_guaranteed : Determinism::gpu_to_gpu;
    info.bytes = setup_.tiles.bytes() + setup_.long_rows.bytes();
    info.sigma = setup_.tiles.sigma;
    info.descriptor_bits = setup_.tiles.descriptor_bits;
    info.tiles = setup_.tiles.tiles();
  }

 private:
  Device device_;
  MerbitSetup setup_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  constexpr MerbitPolicy policy = host_merbit_policy<T>;
  const MerbitShape shape = choose_merbit_shape(options, policy.sigma_32, policy.sigma_64);
  MerbitSetup setup;
  setup.tiles = build_merbit_tiles(a.rows, a.row_offsets, shape.sigma, shape.descriptor_bits, options.device);
  setup.long_rows = build_long_row_slices(setup.tiles, a.columns, a.cols, sizeof(T), options.device);
  setup.access = classify_gathers(a);
  setup.commit = options.determinism == Determinism::not_guaranteed ? MerbitCommit::atomic : MerbitCommit::carries;
  return std::make_unique<MerbitHostKernel<T>>(options.device, std::move(setup));
}

template std::unique_ptr<SpmvKernel<float>> make_merbit_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merbit_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace host
}  // namespace tessera
