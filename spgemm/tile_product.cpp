// Products and powers of matrices in tiles: checks, the choice between tiles and CSR, and the way through CSR.
#include "tessera/tile_product.hpp"

#include "core/bitmap_tile.hpp"
#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/powering.hpp"
#include "spgemm/common/tile_backends.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera {

namespace {

template <class T>
void require_reachable(const TileMatrix<T>& matrix, const Device& device, const char* name) {
  if (matrix.device().is_host() || matrix.device() == device) return;
  throw NotSupported(
      fmt::format("{} lies on {}, but the product is formed on {}: copy it there or to the host with to()", name,
                  matrix.device().name(), device.name()));
}

template <class T>
void check_product(const TileMatrix<T>& a, const TileMatrix<T>& b, const SpgemmOptions& options) {
  if (a.cols() != b.rows()) {
    throw DimensionError(fmt::format("A is {} x {} and B is {} x {}: the columns of A must be as many as the rows of B",
                                     a.rows(), a.cols(), b.rows(), b.cols()));
  }
  require_reachable(a, options.device, "A");
  require_reachable(b, options.device, "B");
  // Refuses numbers that are none of the enumerators.
  static_cast<void>(to_string(options.workflow));
}

/// The user's matrix, which must outlive this, or a copy of it on the device.
template <class T>
class LocalTiles {
 public:
  LocalTiles(const TileMatrix<T>& matrix, const Device& device) : matrix_(&matrix) {
    if (!(matrix.device() == device)) copy_.emplace(matrix.to(device));
  }
  [[nodiscard]] const TileMatrix<T>& get() const noexcept { return copy_ ? *copy_ : *matrix_; }

 private:
  const TileMatrix<T>* matrix_;
  std::optional<TileMatrix<T>> copy_;
};

/// Counts `held` bytes against the limit, which 0 lifts. \throws OutOfMemory
void require_fits(std::uint64_t held, std::uint64_t limit) {
  if (limit != 0 && held > limit) throw OutOfMemory(held, limit, "conversions of a product in tiles");
}

/// Bytes of C and of its tiles while they are cut: on a GPU a column and a bitmap per entry, too.
template <class T>
std::uint64_t cutting_bytes(const Csr<T>& c, const TileEstimate& tiles) {
  const std::uint64_t found = c.device().is_host() ? 0 : static_cast<std::uint64_t>(c.nnz()) * 12;
  return c.bytes() + found +
         detail::tile_matrix_bytes<T>(detail::tiles_across(c.rows()), static_cast<std::int64_t>(tiles.tiles), c.nnz(),
                                      c.is_pattern() ? ValueStorage::pattern : ValueStorage::weighted);
}

/// The product in CSR, between conversions.
template <class T>
TileProduct<T> by_csr(const TileMatrix<T>& a, const TileMatrix<T>& b, SpgemmOptions options) {
  const std::uint64_t limit = options.memory_limit_bytes;
  const bool same = &a == &b;
  std::optional<SpgemmResult<T>> product;
  std::uint64_t peak = 0;
  {
    const auto bytes_in_csr = [](const TileMatrix<T>& matrix) {
      return detail::csr_bytes(matrix.rows(), matrix.nnz(), matrix.is_pattern() ? 0 : sizeof(T));
    };
    const std::uint64_t held = bytes_in_csr(a) + (same ? 0 : bytes_in_csr(b));
    if (limit != 0) {
      require_fits(held + 1, limit);
      options.memory_limit_bytes = limit - held;
    }
    const Csr<T> left = to_csr(a);
    const std::optional<Csr<T>> right = same ? std::nullopt : std::optional<Csr<T>>(to_csr(b));
    product = spgemm(left, right ? *right : left, options);
    peak = held + product->report.peak_bytes;
  }
  const Csr<T>& c = product->matrix;
  // Sampled where nothing depends on it.
  const TileEstimate tiles = estimate_tiles(c.view(), c.device(), limit == 0 ? TileSample{} : TileSample::all());
  const std::uint64_t cutting = cutting_bytes(c, tiles);
  require_fits(cutting, limit);
  TileProduct<T> result{to_tiles(c), std::move(product->report)};
  result.report.peak_bytes = std::max(peak, cutting);
  return result;
}

template <class T>
TileProduct<T> multiply(const TileMatrix<T>& a, const TileMatrix<T>& b, const SpgemmOptions& options) {
  SpgemmReport report;
  if (options.workflow != SpgemmWorkflow::automatic && options.workflow != SpgemmWorkflow::tiles) {
    return by_csr(a, b, options);
  }
  report.workflow = SpgemmWorkflow::tiles;
  report.reason = options.workflow == SpgemmWorkflow::tiles ? "chosen by name" : "the factors are in tiles";
  std::optional<TileMatrix<T>> c = options.device.is_host() ? host::multiply_tiles(a.view(), b.view(), options, report)
                                                            : cuda::multiply_tiles(a.view(), b.view(), options, report);
  if (c) return {std::move(*c), std::move(report)};
  SpgemmOptions exact = options;
  exact.workflow = SpgemmWorkflow::symbolic;
  TileProduct<T> result = by_csr(a, b, exact);
  result.report.reason = std::move(report.reason);
  result.report.fallback = std::move(report.fallback);
  return result;
}

}  // namespace

template <class T>
TileProduct<T> spgemm(const TileMatrix<T>& a, const TileMatrix<T>& b, const SpgemmOptions& options) {
  check_product(a, b, options);
  const Stopwatch total;
  const LocalTiles<T> left(a, options.device);
  const std::optional<LocalTiles<T>> right =
      &a == &b ? std::nullopt : std::optional<LocalTiles<T>>(std::in_place, b, options.device);
  const double upload_ms = total.milliseconds();
  TileProduct<T> result = multiply(left.get(), right ? right->get() : left.get(), options);
  SpgemmReport& report = result.report;
  report.upload_ms = upload_ms;
  report.nnz = result.matrix.nnz();
  report.expansion = a.nnz() > 0 ? static_cast<double>(report.products) / static_cast<double>(a.nnz()) : 0.0;
  report.total_ms = total.milliseconds();
  return result;
}

template <class T>
TilePower<T> matrix_power(const TileMatrix<T>& a, int k, const SpgemmOptions& options) {
  detail::check_power(a, k);
  check_product(a, a, options);
  TilePower<T> result;
  if (k == 0) {
    result.matrix = to_tiles(detail::identity<T>(a.rows(), a.is_pattern())).to(options.device);
  } else if (k == 1) {
    result.matrix = a.to(options.device);
  } else {
    result.matrix = detail::form_power<TileProduct<T>>(a, detail::binary_steps(k), options, result.products);
  }
  return result;
}

template TileProduct<float> spgemm(const TileMatrix<float>&, const TileMatrix<float>&, const SpgemmOptions&);
template TileProduct<double> spgemm(const TileMatrix<double>&, const TileMatrix<double>&, const SpgemmOptions&);
template TilePower<float> matrix_power(const TileMatrix<float>&, int, const SpgemmOptions&);
template TilePower<double> matrix_power(const TileMatrix<double>&, int, const SpgemmOptions&);

}  // namespace tessera
