/// \file
/// Levels of a rank in the memory of its device. A backend makes matrices of the cycle, runs its operations and the
/// rest of the cycle on one device:
///   using Matrix, Executor;
///   Backend(device, gathers);                            of the rank; whether all ranks gather in every cycle
///   Matrix matrix(Csr<T> rows, name, may_list) const;     rows on the host or the device
///   std::string layout_name(matrix) const;
///   std::unique_ptr<VectorHalo<V>> make_halo(lists, rows, fetches) const;
///   void begin_run() const;                              as DistributedCycle
///   void run(halted, function) const;                    function(executor), with the device current
///   bool can_enqueue() const;                            whether a cycle leaves the host out
///   void enqueue_dots(w, z, sums, halted) const;         where it does: *sums over all ranks
///   static make_rest(AmgHierarchy<V>, options);          a cycle on one device
#pragma once

#include "core/group_rank.hpp"
#include "core/value_passes.hpp"
#include "solvers/amg/cycle_steps.hpp"
#include "solvers/distributed/amg_cycle.hpp"
#include "solvers/distributed/amg_cycle_steps.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::detail {

/// `count` values from `first` on, in the precision of the cycle. \param device for the result, without its rank
template <class V, class T>
[[nodiscard]] Array<V> narrowed_values(const Array<T>& values, std::int64_t first, std::int64_t count,
                                       const Device& device) {
  Array<V> result(count, Init::none, values.device());
  convert_values(values.device(),
                 values.span().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                 result.span());
  return result.device() == device ? std::move(result) : result.to(device);
}

/// The replicated levels in the precision of the cycle. \param device without its rank
template <class V, class T>
[[nodiscard]] AmgHierarchy<V> replicated_levels(const SharedHierarchy<T>& hierarchy, const Device& device) {
  const auto moved = [&](const std::shared_ptr<const Csr<T>>& matrix) -> std::shared_ptr<const Csr<V>> {
    if (matrix == nullptr) return nullptr;
    Csr<V> narrowed = matrix->template with_value_type<V>();
    return std::make_shared<const Csr<V>>(narrowed.device() == device ? std::move(narrowed) : narrowed.to(device));
  };
  const auto all_of = [&](const Array<T>& values) { return narrowed_values<V>(values, 0, values.size(), device); };
  AmgHierarchy<V> result{device, {}, all_of(hierarchy.whole.coarsest_inverse)};
  for (std::size_t l = hierarchy.shared_levels; l < hierarchy.whole.levels.size(); ++l) {
    const AmgLevel<T>& level = hierarchy.whole.levels[l];
    result.levels.push_back({moved(level.a), moved(level.p), moved(level.r), all_of(level.smoother), level.rho});
  }
  return result;
}

/// \tparam V element type of the cycle
template <class T, class V, class Backend>
class RankCycle final : public DistributedCycle<T>, private EnqueuedProduct<T> {
 public:
  RankCycle(const SharedHierarchy<T>& hierarchy, std::vector<LevelShare<T>> shares, const AmgOptions& options,
            const Device& device)
      : device_(device), backend_(device, hierarchy.has_replicated()), levels_(hierarchy.shared_levels) {
    for (std::size_t l = 0; l < levels_.size(); ++l) make_level(hierarchy, std::move(shares[l]), options, l);
    if (hierarchy.has_replicated()) make_rest(hierarchy, shares.back(), options);
    synchronize(device_);
  }

  void begin_run() const override { backend_.begin_run(); }
  void apply(std::span<const T> r, std::span<T> z) const override { run(r, z, nullptr); }
  [[nodiscard]] const EnqueuedProduct<T>* enqueued() const noexcept override {
    return backend_.can_enqueue() ? this : nullptr;
  }

  /// What the replicated levels are gathered into counts in the first of them.
  [[nodiscard]] std::vector<AmgLayout> layouts() const override {
    std::vector<AmgLayout> result;
    for (const Level& level : levels_) result.push_back({backend_.layout_name(level.a), level.bytes()});
    if (!rest_.cycle) return result;
    const std::vector<AmgLayout>& rest = rest_.cycle->layouts();
    result.insert(result.end(), rest.begin(), rest.end());
    result[levels_.size()].bytes += rest_.bytes();
    return result;
  }

 private:
  using Level = DistributedLevel<V, typename Backend::Matrix>;

  void enqueue(std::span<const T> r, std::span<T> z, std::span<const T> w, ProductDots* sums) const override {
    run(r, z, nullptr);
    backend_.enqueue_dots(w, z, sums, nullptr);
  }
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> r, std::span<T> z, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* halted) const override {
    run(r, z, halted);
    backend_.enqueue_dots(w, z, sums, halted);
    return {sums, 1};
  }

  /// \param halted null, or on the device: where it is not 0 no kernel does anything
  void run(std::span<const T> r, std::span<T> z, const std::int32_t* halted) const {
    for (const Level& level : levels_) level.halo->begin_cycle();
    if (rest_.cycle) rest_.halo->begin_cycle();
    backend_.run(halted, [&](auto& executor) {
      using Executor = std::remove_reference_t<decltype(executor)>;
      DistributedCycleSteps<T, V, Executor>(executor, levels_, rest_.cycle ? &rest_ : nullptr, r.data(), z.data())
          .run();
    });
  }

  [[nodiscard]] Device here() const { return alone(device_); }

  [[nodiscard]] Array<V> on_device(const std::vector<double>& values) const {
    std::vector<V> result(values.size());
    std::transform(values.begin(), values.end(), result.begin(), [](double value) { return static_cast<V>(value); });
    return Array<V>::copy_of(result, here());
  }

  void make_level(const SharedHierarchy<T>& hierarchy, LevelShare<T> share, const AmgOptions& options, std::size_t l) {
    const AmgLevel<T>& whole = hierarchy.whole.levels[l];
    const bool is_coarsest = l + 1 == hierarchy.whole.levels.size();
    Level& level = levels_[l];
    level.rows = share.columns.rows;
    level.lower = share.columns.lower;
    const std::string of_level = " of level " + std::to_string(l);
    level.a = backend_.matrix(std::move(share.a), "the matrix" + of_level, l == 0);
    if (!is_coarsest) {
      level.p = backend_.matrix(std::move(share.p), "the prolongator" + of_level, false);
      level.r = backend_.matrix(std::move(share.r), "the restriction" + of_level, false);
    }
    const index_t first = hierarchy.partitions[l].first_row(rank_of(device_)->number);
    level.m = narrowed_values<V>(whole.smoother, first, level.rows, here());
    level.weights = on_device(amg_level_weights(options, whole.rho, is_coarsest));
    if (l > 0 || sizeof(V) != sizeof(T)) level.b = Array<V>(level.rows, Init::none, here());
    level.x = with_halo(share.columns);
    level.next_x = with_halo(share.columns);
    if (!is_coarsest) level.residual = with_halo(share.columns);
    // Before every sweep but the first, for the residual, R and the finer level's P.
    const auto fetches = static_cast<int>(2 * level.weights.size() + 2);
    level.halo = backend_.make_halo(share.lists, level.rows, fetches);
  }

  [[nodiscard]] Array<V> with_halo(const LevelColumns& columns) const {
    return Array<V>(columns.size(), Init::none, here());
  }

  void make_rest(const SharedHierarchy<T>& hierarchy, const LevelShare<T>& share, const AmgOptions& options) {
    rest_.first = share.columns.lower;
    rest_.rows = share.columns.rows;
    rest_.b = with_halo(share.columns);
    rest_.x = with_halo(share.columns);
    rest_.halo = backend_.make_halo(share.lists, rest_.rows, 1);
    rest_.cycle = Backend::make_rest(replicated_levels<V>(hierarchy, here()), options);
  }

  Device device_;
  Backend backend_;
  mutable std::vector<Level> levels_;  ///< a product writes their vectors
  mutable ReplicatedLevels<V> rest_;
};

/// The cycle of a rank by a backend, in the element type of the options.
template <template <class, class> class Backend, class T>
[[nodiscard]] std::unique_ptr<DistributedCycle<T>> make_rank_cycle(const SharedHierarchy<T>& hierarchy,
                                                                   std::vector<LevelShare<T>> shares,
                                                                   const AmgOptions& options, const Device& device) {
  if (options.precision == AmgPrecision::single) {
    return std::make_unique<RankCycle<T, float, Backend<T, float>>>(hierarchy, std::move(shares), options, device);
  }
  return std::make_unique<RankCycle<T, T, Backend<T, T>>>(hierarchy, std::move(shares), options, device);
}

}  // namespace tessera::detail
