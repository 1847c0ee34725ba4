// A product whose factors and result are in tiles, on a GPU: pairs and symbolic phase beside the dense copies, one scan
// over the tile rows of C, numeric phase. The host waits for the tiles and entries of C, and before for the pairs where
// their number is not guessed.
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/tile_backends.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

template <class T>
class TileToTile {
 public:
  TileToTile(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options, SpgemmReport& report)
      : a_(a),
        b_(b),
        options_(options),
        context_(Context::of(options.device)),
        current_(options.device),
        same_(detail::is_same_matrix(a, b)),
        rule_(tile_row_rule(context_)),
        budget_(options.memory_limit_bytes, 0),
        totals_(1, Init::zero, options.device),
        report_(report) {}

  /// \throws TilesGivenUp, OutOfMemory
  [[nodiscard]] TileMatrix<T> run() {
    const Stopwatch sizing;
    const CTiles c = find_structure();
    report_.sizing_ms = sizing.milliseconds();
    const Stopwatch summing;
    TileMatrix<T> result = sum(c);
    report_.numeric_ms = summing.milliseconds();
    describe();
    return result;
  }

 private:
  static constexpr std::uint64_t dense_tile_bytes = detail::tile_entries * sizeof(T);
  static constexpr std::int64_t most_tiles = std::numeric_limits<std::int32_t>::max();
  /// Above, a wait does not matter.
  static constexpr double most_expected_pairs = 4e6;
  /// Shared memory of the symbolic phase per slot, with up to 32 tiles of A in a tile row.
  static constexpr double slot_bytes = SymbolicLayout{1, 0, 32}.bytes() - SymbolicLayout{0, 0, 32}.bytes();

  void reserve(std::uint64_t bytes) {
    if (!budget_.fits(bytes)) {
      throw TilesGivenUp(fmt::format("tiles needs {} bytes more, beyond the limit of {}", bytes, budget_.limit()));
    }
    budget_.reserve(bytes, "sparse product in tiles");
  }

  [[nodiscard]] const TilePositions& right() const noexcept { return same_ ? a_tiles_ : b_tiles_; }
  [[nodiscard]] index_t tile_rows() const noexcept { return a_.tile_rows(); }
  /// For one number per element, and one after them; all of them are written if there are tile rows.
  [[nodiscard]] Array<offset_t> offsets_of(std::int64_t elements) const {
    return Array<offset_t>(elements + 1, elements == 0 ? Init::zero : Init::none, options_.device);
  }

  /// Tiles of C, and the dense copies, which are made meanwhile.
  [[nodiscard]] CTiles find_structure() {
    allocate_factors();
    std::optional<SideStreams::Fork> copying(std::in_place, options_.device);
    copying->run(0, [&] { enqueue_dense_copy(context_, a_, a_dense_.data(), totals_.data()); });
    if (!same_) copying->run(1, [&] { enqueue_dense_copy(context_, b_, b_dense_.data(), totals_.data()); });
    enqueue_positions(context_, a_, a_tiles_, totals_.data());
    if (!same_) enqueue_positions(context_, b_, b_tiles_, totals_.data());
    enqueue_pair_counts(context_, a_tiles_, right(), rule_, nullptr, pair_counts_.data(), totals_.data());
    SymbolicRoom room = expected_room();
    if (room.pairs == 0 || !budget_.fits(structure_bytes(room))) room = counted_room();
    CTiles c = enqueue_count(room);
    copying.reset();
    fetch_sizes();
    if (has_room(room)) return c;
    budget_.release(structure_bytes(room));
    forget_count();
    c = enqueue_count(exact_room());
    fetch_sizes();
    return c;
  }

  void allocate_factors() {
    if (a_.tiles() > most_tiles || b_.tiles() > most_tiles) {
      throw TilesGivenUp(
          fmt::format("factors have {} and {} tiles, more than can be numbered", a_.tiles(), b_.tiles()));
    }
    const auto dense_tiles = static_cast<std::uint64_t>(a_.tiles() + (same_ ? 0 : b_.tiles()));
    reserve(totals_.bytes() + 3 * detail::csr_bytes(tile_rows(), 0, 0) + dense_tiles * dense_tile_bytes +
            TilePositions::bytes(tile_rows(), a_.tiles()) +
            (same_ ? 0 : TilePositions::bytes(b_.tile_rows(), b_.tiles())));
    a_tiles_ = TilePositions(a_.rows, a_.tiles(), options_.device);
    a_dense_ = Array<T>(detail::tile_entries * a_.tiles(), Init::none, options_.device);
    if (!same_) {
      b_tiles_ = TilePositions(b_.rows, b_.tiles(), options_.device);
      b_dense_ = Array<T>(detail::tile_entries * b_.tiles(), Init::none, options_.device);
    }
    pair_counts_ = offsets_of(tile_rows());
    starts_ = offsets_of(2 * std::int64_t{tile_rows()});
  }

  /// Pairs, and shared memory of a tile row, for which the symbolic phase has room.
  struct SymbolicRoom {
    std::int64_t pairs = 0;
    unsigned shared_bytes = 0;
  };

  /// A guess that spares small products a wait: pairs and a fourth more if the tile rows of B are equally long; none
  /// where it would take much memory, or shared memory that keeps blocks from a multiprocessor.
  [[nodiscard]] SymbolicRoom expected_room() const {
    if (tile_rows() == 0 || b_.tile_rows() == 0) return {};
    const double pairs = static_cast<double>(a_.tiles()) * static_cast<double>(b_.tiles()) / b_.tile_rows();
    const auto& limits = context_.limits();
    const std::int64_t blocks = limits.threads_per_multiprocessor / symbolic_threads;
    const std::int64_t shared = std::min(limits.shared_per_multiprocessor / blocks, limits.shared_per_block) -
                                limits.reserved_shared_per_block - symbolic_static_bytes;
    const double usual = pairs / tile_rows() * slot_bytes * 1.5;
    if (pairs > most_expected_pairs || usual > static_cast<double>(shared)) return {};
    return {static_cast<std::int64_t>(1.25 * pairs) + 1024, static_cast<unsigned>(shared) & ~15U};
  }

  /// Of the totals on the host.
  [[nodiscard]] SymbolicRoom exact_room() const {
    return {static_cast<std::int64_t>(found_.pairs), found_.symbolic_bytes};
  }
  /// Waits for the totals. \throws TilesGivenUp
  [[nodiscard]] SymbolicRoom counted_room() {
    found_ = fetch_totals(context_, totals_.data(), nullptr).first;
    require_tile_limits(found_, rule_);
    return exact_room();
  }
  [[nodiscard]] bool has_room(const SymbolicRoom& room) const noexcept {
    return found_.live_pairs <= static_cast<unsigned long long>(room.pairs) &&
           found_.symbolic_bytes <= room.shared_bytes;
  }
  [[nodiscard]] std::uint64_t structure_bytes(const SymbolicRoom& room) const noexcept {
    return CTiles::bytes(tile_rows(), room.pairs, CFormat::tiles);
  }

  void forget_count() {
    zero_bytes(options_.device, &totals_.data()->c_tiles, sizeof(TileTotals::c_tiles));
    zero_bytes(options_.device, &totals_.data()->live_pairs, sizeof(TileTotals::live_pairs));
  }

  [[nodiscard]] CTiles enqueue_count(const SymbolicRoom& room) {
    reserve(structure_bytes(room));
    CTiles c(tile_rows(), room.pairs, options_.device, CFormat::tiles);
    enqueue_symbolic_tiles(context_, a_tiles_, right(), pair_counts_.data(), room.shared_bytes, room.pairs, c,
                           starts_.data(), totals_.data());
    exclusive_sum_on_device(options_.device, starts_.span());
    return c;
  }

  /// Waits. \throws TilesGivenUp
  void fetch_sizes() {
    offset_t tiles_and_entries = 0;
    std::tie(found_, tiles_and_entries) =
        fetch_totals(context_, totals_.data(), starts_.data() + 2 * std::int64_t{tile_rows()});
    require_tile_limits(found_, rule_);
    nnz_ = tiles_and_entries - offset_t{found_.c_tiles};
  }

  [[nodiscard]] TileMatrix<T> sum(const CTiles& c) {
    const std::int64_t tiles = found_.c_tiles;
    reserve(detail::tile_matrix_bytes<T>(tile_rows(), tiles, nnz_, ValueStorage::weighted));
    // One allocation for all: five take longer.
    const auto memory = std::make_shared<Slab>(
        Slab::bytes_of<offset_t>(std::int64_t{tile_rows()} + 1) + Slab::bytes_of<index_t>(tiles) +
            Slab::bytes_of<std::uint64_t>(tiles) + Slab::bytes_of<offset_t>(tiles + 1) + Slab::bytes_of<T>(nnz_),
        options_.device);
    const auto take = [&]<class U>(std::type_identity<U> /*type*/, std::int64_t count) {
      return Array<U>::adopt({memory->template take<U>(count), static_cast<std::size_t>(count)}, memory,
                             options_.device);
    };
    auto tile_row_offsets = take(std::type_identity<offset_t>(), std::int64_t{tile_rows()} + 1);
    auto columns = take(std::type_identity<index_t>(), tiles);
    auto bitmaps = take(std::type_identity<std::uint64_t>(), tiles);
    auto value_offsets = take(std::type_identity<offset_t>(), tiles + 1);
    auto values = take(std::type_identity<T>(), nnz_);
    if (tile_rows() == 0) zero_bytes(options_.device, tile_row_offsets.data(), memory->bytes());
    const TileTarget<T> target{starts_.data(), tile_rows(),    tile_row_offsets.data(),
                               columns.data(), bitmaps.data(), value_offsets.data(),
                               values.data()};
    enqueue_numeric_tiles<T>(context_, tile_arithmetic<T>(context_, options_.determinism, found_), a_tiles_,
                             a_dense_.data(), right(), same_ ? a_dense_.data() : b_dense_.data(), c, target);
    if (!options_.asynchronous) context_.synchronize();
    return TileMatrix<T>(a_.rows, b_.cols, ValueStorage::weighted, std::move(tile_row_offsets), std::move(columns),
                         std::move(bitmaps), std::move(value_offsets), std::move(values), Check::trusted);
  }

  void describe() {
    report_.reason += fmt::format("; {} of {} pairs are not empty, {}", found_.live_pairs, found_.pairs,
                                  tile_arithmetic_text<T>(context_, options_.determinism, found_));
    report_.products = static_cast<offset_t>(found_.products);
    const bool tensor = tile_arithmetic<T>(context_, options_.determinism, found_) == TileArithmetic::tensor;
    report_.determinism = tensor ? Determinism::run_to_run : Determinism::gpu_to_gpu;
    report_.threads = 0;
    report_.peak_bytes = budget_.peak();
  }

  TileView<T> a_;
  TileView<T> b_;
  SpgemmOptions options_;
  const Context& context_;
  DeviceGuard current_;
  bool same_;  ///< whether A and B are one matrix
  TileRowRule rule_;
  detail::MemoryBudget budget_;
  Array<TileTotals> totals_;
  TileTotals found_;             ///< the totals on the host
  Array<offset_t> pair_counts_;  ///< per tile row
  TilePositions a_tiles_;
  TilePositions b_tiles_;  ///< none where A and B are one matrix
  Array<T> a_dense_;
  Array<T> b_dense_;
  Array<offset_t> starts_;  ///< of the tile rows of C: TileTarget
  offset_t nnz_ = 0;        ///< of C
  SpgemmReport& report_;
};

}  // namespace

template <class T>
std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options,
                                            SpgemmReport& report) {
  try {
    return TileToTile<T>(a, b, options, report).run();
  } catch (const TilesGivenUp& given_up) {
    report.fallback = std::string(given_up.what()) + ": exact instead";
  } catch (const OutOfMemory& error) {
    report.fallback = std::string(error.what()) + ": exact instead";
  }
  return std::nullopt;
}

template std::optional<TileMatrix<float>> multiply_tiles(const TileView<float>&, const TileView<float>&,
                                                         const SpgemmOptions&, SpgemmReport&);
template std::optional<TileMatrix<double>> multiply_tiles(const TileView<double>&, const TileView<double>&,
                                                          const SpgemmOptions&, SpgemmReport&);

}  // namespace tessera::cuda
