/// The multigrid cycle on a GPU: a chain of short kernels, one per operation, that begin before the one before has
/// ended.
///
/// Memory movement of V(1,1) per level of n rows and nnz entries, coarser level of m rows, cycle in V (4 bytes in
/// single precision), operands in T; A, P and R take sizeof(V) + 4 bytes per entry besides (the finest A in row lists:
/// one byte per row, and sizeof(V) per entry where values do not repeat):
///   x = ω M r, b, residual    A     reads r, diag(m), b; writes b, x, residual    (finest: r in T)
///   restriction               R     reads the residual, diag(m) of m rows; writes b, x of m rows
///   prolongation              P     reads x, x of m rows; writes x
///   smoothing                 A     reads x, b, diag(m); writes x                 (finest: reads w, writes z in T)
/// Coarser levels begin with x and b already formed by the restriction. W visits level l 2^l times and K with as many
/// cycles and two more products each, so both pay only where levels shrink fast.
#include "core/value_passes.hpp"
#include "solvers/amg/cycle.hpp"
#include "solvers/amg/cycle_executor.cuh"
#include "solvers/amg/cycle_steps.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

static_assert(sizeof(ProductDots) == sizeof(TwoSums));

template <class T, class V>
class GpuCycle final : public AmgCycleOperator<T>, private EnqueuedProduct<T> {
 public:
  GpuCycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options, const AmgLayoutTuning& tuning)
      : device_(hierarchy.device), options_(options), levels_(hierarchy.levels.size()) {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    parts_ = Array<std::byte>(max_parts(context.limits()) * bytes_of_part, Init::none, device_);
    setting_ = {&context, can_overlap(context, amg_scalars_kernel<AmgFirstStepSums>), parts_.data()};
    if (!hierarchy.coarsest_inverse.empty()) {
      dense_ = {hierarchy.levels.back().a->rows(), Array<V>(hierarchy.coarsest_inverse.size(), Init::none, device_)};
    }
    for (std::size_t l = 0; l < levels_.size(); ++l) make_level(hierarchy, l, tuning);
    assign_smoothers(hierarchy);
  }

  void apply(std::span<const T> r, std::span<T> z) const override { run(r, z, nullptr); }

  [[nodiscard]] const EnqueuedProduct<T>* enqueued() const noexcept override { return this; }
  [[nodiscard]] const std::vector<AmgLayout>& layouts() const noexcept override { return layouts_; }

  void refresh(const AmgHierarchy<T>& hierarchy) override {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].is_dense) continue;
      const AmgLevel<T>& source = hierarchy.levels[l];
      levels_[l].a.assign(*source.a);
      if (source.p) levels_[l].p.assign(*source.p);
      if (source.r) levels_[l].r.assign(*source.r);
    }
    assign_smoothers(hierarchy);
    this->renew_recording_id();
  }

 private:
  using Level = AmgCycleLevel<V, AmgDeviceMatrix<V>>;

  // EnqueuedProduct.

  void enqueue(std::span<const T> r, std::span<T> z, std::span<const T> w, ProductDots* sums) const override {
    const std::span<const ProductDots> parts = parts_of(run(r, z, w.data()));
    const DeviceGuard current(device_);
    launch("sum over blocks", *setting_.context, Grid{1, sum_threads}, total_values_kernel<TwoSums>,
           static_cast<int>(parts.size()), reinterpret_cast<const TwoSums*>(parts.data()),
           reinterpret_cast<TwoSums*>(sums));
  }

  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> r, std::span<T> z, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* halted) const override {
    const std::int64_t parts = run(r, z, w.data(), halted);
    if (parts > 0) return parts_of(parts);
    zero_bytes(device_, sums, sizeof(*sums));
    return {sums, 1};
  }

  [[nodiscard]] std::span<const ProductDots> parts_of(std::int64_t count) const {
    return {static_cast<const ProductDots*>(setting_.parts), static_cast<std::size_t>(count)};
  }

  /// \returns parts of the inner products with w
  std::int64_t run(std::span<const T> r, std::span<T> z, const T* w, const std::int32_t* halted = nullptr) const {
    if (levels_.empty() || levels_[0].rows == 0) return 0;
    const DeviceGuard current(device_);
    const std::scoped_lock lock(mutex_);
    CycleOutput<T> output{z.data(), w};
    GpuExecutor<T, V> executor(setting_, output, halted);
    const std::span<Level> levels(levels_.data(), levels_.size());
    AmgCycleSteps<T, V, GpuExecutor<T, V>>(executor, options_.cycle, levels, dense_, r.data()).run();
    return output.parts;
  }

  void make_level(const AmgHierarchy<T>& hierarchy, std::size_t l, const AmgLayoutTuning& tuning) {
    const AmgLevel<T>& source = hierarchy.levels[l];
    Level& level = levels_[l];
    level.rows = source.a->rows();
    level.is_dense = is_dense_level(hierarchy, l);
    allocate_vectors<T>(level, device_, l, levels_.size(), options_.cycle);
    if (!level.is_dense) {
      const auto matrix = [&](const Csr<T>& csr, const char* which, bool may_list = false) {
        return AmgDeviceMatrix<V>(csr, which + (" of level " + std::to_string(l)), tuning, may_list);
      };
      // Aggregates are irregular: rows of coarser levels do not repeat.
      level.a = matrix(*source.a, "the matrix", l == 0);
      if (source.p) level.p = matrix(*source.p, "the prolongator");
      if (source.r) level.r = matrix(*source.r, "the restriction");
      level.m = Array<V>(level.rows, Init::none, device_);
      level.weights = Array<V>(static_cast<std::int64_t>(weights(hierarchy, l).size()), Init::none, device_);
    }
    const std::uint64_t bytes = level.bytes() + (level.is_dense ? dense_.values.bytes() : 0);
    layouts_.push_back(
        {level.is_dense ? "dense" : std::string(level.a.layout_name()), bytes, !level.is_dense && level.a.is_raked()});
  }

  [[nodiscard]] std::vector<V> weights(const AmgHierarchy<T>& hierarchy, std::size_t l) const {
    std::vector<V> result;
    for (const double w : amg_level_weights(options_, hierarchy.levels[l].rho, l + 1 == levels_.size())) {
      result.push_back(static_cast<V>(w));
    }
    return result;
  }

  /// Smoothers, their weights and the inverse.
  void assign_smoothers(const AmgHierarchy<T>& hierarchy) {
    if (dense_.rows > 0) cuda::convert_values<T, V>(device_, hierarchy.coarsest_inverse.span(), dense_.values.span());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      if (level.is_dense) continue;
      cuda::convert_values<T, V>(device_, hierarchy.levels[l].smoother.span(), level.m.span());
      const std::vector<V> factors = weights(hierarchy, l);
      copy_bytes(device_, level.weights.data(), Device{}, factors.data(), level.weights.bytes());
    }
  }

  Device device_;
  AmgOptions options_;
  DenseInverse<V> dense_;
  mutable std::mutex mutex_;           ///< of the vectors of the levels, from the first launch of a product to its last
  mutable std::vector<Level> levels_;  ///< a product writes their vectors
  std::vector<AmgLayout> layouts_;
  Array<std::byte> parts_;
  CycleSetting setting_;
};

}  // namespace

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options,
                                                    const AmgLayoutTuning& tuning) {
  if (options.precision == AmgPrecision::single)
    return std::make_unique<GpuCycle<T, float>>(hierarchy, options, tuning);
  return std::make_unique<GpuCycle<T, T>>(hierarchy, options, tuning);
}

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options) {
  return make_amg_cycle(hierarchy, options, AmgLayoutTuning{});
}

template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&,
                                                                 const AmgLayoutTuning&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&,
                                                                  const AmgLayoutTuning&);

}  // namespace tessera::cuda
