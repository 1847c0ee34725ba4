#include "spgemm/cuda/workflows/tile_plan.hpp"

#include "core/cuda/memory.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/cuda/tiles/tile_views.hpp"
#include "spgemm/cuda/workflows/automatic_tiles.hpp"
#include "spgemm/cuda/workflows/tile_job.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/error.hpp"

#include <optional>
#include <string>
#include <utility>

namespace tessera::cuda {

namespace {

class TilePlan final : public ProductPlan<double> {
 public:
  TilePlan(PlannedFactors<double> factors, StoredTiles tiles, const SpgemmOptions& options)
      : factors_(std::move(factors)),
        tiles_(std::move(tiles)),
        options_(options),
        context_(Context::of(options.device)),
        structure_(place_structure()) {}

  [[nodiscard]] const Device& device() const noexcept override { return options_.device; }
  [[nodiscard]] const Csr<double>& structure() const noexcept override { return structure_; }
  [[nodiscard]] const SpgemmReport& report() const noexcept override { return report_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return structure_.bytes() + tiles_.bytes(); }
  void set_report(SpgemmReport report) { report_ = std::move(report); }

  void multiply_into(const Csr<double>* a, const Csr<double>* b, std::span<double> values) override {
    factors_.multiply(a, b, values, [&](const CsrView<double>& left, const CsrView<double>& right) {
      const bool same = tiles_.same && same_arrays(left, right);
      enqueue_copies(left, right, same);
      const double* const b_dense = same ? tiles_.a_dense.data() : tiles_.b_dense.data();
      const offset_t* const offsets = structure_.row_offsets().data();
      if (may_use_tensor<double>(context_, options_.determinism)) {
        enqueue_planned_tiles(context_, tiles_.totals.data(), tiles_.a, tiles_.a_dense.data(), b_tiles(), b_dense,
                              tiles_.c, offsets, values.data());
      } else {
        enqueue_numeric_tiles<double>(context_, TileArithmetic::scalar, tiles_.a, tiles_.a_dense.data(), b_tiles(),
                                      b_dense, tiles_.c, offsets, nullptr, values.data());
      }
      if (!options_.asynchronous) context_.synchronize();
    });
  }

 private:
  [[nodiscard]] const TilePositions& b_tiles() const noexcept { return tiles_.same ? tiles_.a : tiles_.b; }

  void enqueue_copies(const CsrView<double>& left, const CsrView<double>& right, bool same) {
    TileTotals* const totals = tiles_.totals.data();
    zero_bytes(options_.device, &totals->not_finite, sizeof(totals->not_finite));
    const auto copy = [&](const CsrView<double>& matrix, const TilePositions& tiles, Array<double>& dense) {
      enqueue_dense_copy<double>(context_, structure_of(matrix), matrix.is_pattern() ? nullptr : matrix.values.data(),
                                 tiles, dense.data(), totals);
    };
    SideStreams::Fork fork(options_.device);
    fork.run(0, [&] { copy(left, tiles_.a, tiles_.a_dense); });
    if (!same) fork.run(1, [&] { copy(right, b_tiles(), tiles_.b_dense); });
  }

  [[nodiscard]] Csr<double> place_structure() {
    Array<index_t> columns(tiles_.nnz, Init::none, options_.device);
    const NoValue* const none = nullptr;
    enqueue_numeric_tiles<NoValue>(context_, TileArithmetic::scalar, tiles_.a, none, b_tiles(), none, tiles_.c,
                                   tiles_.offsets.data(), columns.data(), nullptr);
    context_.synchronize();
    return Csr<double>::pattern(factors_.a().rows(), factors_.b().cols(), std::move(tiles_.offsets), std::move(columns),
                                Check::trusted);
  }

  PlannedFactors<double> factors_;
  StoredTiles tiles_;
  SpgemmOptions options_;
  const Context& context_;
  SpgemmReport report_;
  Csr<double> structure_;
};

}  // namespace

std::unique_ptr<ProductPlan<double>> make_tile_plan(const PlannedFactors<double>& factors, const SpgemmOptions& options,
                                                    const Stopwatch& total, SpgemmReport& report) {
  const CsrView<double> a = factors.a().view();
  const CsrView<double> b = factors.b().view();
  const TileChoice choice = options.workflow == SpgemmWorkflow::tiles ? TileChoice{TileShare::all, "chosen by name"}
                                                                      : choose_tiles<double>(a, b, options);
  if (choice.share != TileShare::all) return nullptr;
  SpgemmReport in_tiles = report;
  in_tiles.reason = choice.reason;
  try {
    const DeviceGuard current(options.device);
    auto plan =
        std::make_unique<TilePlan>(factors, TileJob<double, double>(a, b, options, choice, in_tiles).plan(), options);
    in_tiles.nnz = plan->structure().nnz();
    in_tiles.threads = 0;
    in_tiles.total_ms = total.milliseconds();
    plan->set_report(std::move(in_tiles));
    return plan;
  } catch (const TilesGivenUp& given_up) {
    report.fallback = std::string(given_up.what()) + ": every row is counted instead";
  } catch (const OutOfMemory& error) {
    report.fallback = std::string(error.what()) + ": every row is counted instead";
  }
  return nullptr;
}

}  // namespace tessera::cuda
