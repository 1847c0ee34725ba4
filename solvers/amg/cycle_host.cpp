/// The multigrid cycle on the threads of the host.
#include "solvers/amg/cycle_host.hpp"

#include "solvers/amg/cycle.hpp"
#include "solvers/amg/cycle_steps.hpp"
#include "spmv/patterns/patterns_tuning.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tessera::host {

namespace {

template <class T, class V>
class HostCycle final : public AmgCycleOperator<T> {
 public:
  HostCycle(const AmgHierarchy<T>& hierarchy, AmgOptions options, offset_t least_templated)
      : device_(hierarchy.device),
        options_(std::move(options)),
        least_templated_(least_templated),
        dense_(hierarchy.coarsest_inverse, hierarchy.coarsest_inverse.empty() ? 0 : coarsest_rows(hierarchy)),
        levels_(hierarchy.levels.size()) {
    for (std::size_t l = 0; l < levels_.size(); ++l) make_level(hierarchy, l);
    name_layouts();
  }

  void apply(std::span<const T> r, std::span<T> z) const override {
    if (levels_.empty() || levels_[0].rows == 0) return;
    const std::scoped_lock lock(mutex_);
    HostExecutor<T, V> executor(device_, z.data());
    AmgCycleSteps<T, V, HostExecutor<T, V>>(executor, options_.cycle, levels_, dense_, r.data()).run();
  }

  void apply_transposed(std::span<const T> r, std::span<T> z) const override {
    if (levels_.empty() || levels_[0].rows == 0) return;
    const std::scoped_lock lock(mutex_);
    if (!transposed_dense_) form_transposes();
    HostExecutor<T, V> executor(device_, z.data());
    AmgCycleSteps<T, V, HostExecutor<T, V>>(executor, options_.cycle, levels_, *transposed_dense_, r.data(),
                                            &Level::transposed_a)
        .run();
  }

  [[nodiscard]] const EnqueuedProduct<T>* enqueued() const noexcept override { return nullptr; }
  [[nodiscard]] const std::vector<AmgLayout>& layouts() const noexcept override { return layouts_; }

  void refresh(const AmgHierarchy<T>& hierarchy) override {
    transposed_dense_.reset();
    if (!hierarchy.coarsest_inverse.empty()) dense_.assign(device_, hierarchy.coarsest_inverse);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].is_dense) continue;
      const AmgLevel<T>& source = hierarchy.levels[l];
      levels_[l].a.assign(device_, *source.a);
      if (source.p) levels_[l].p.assign(device_, *source.p);
      if (source.r) levels_[l].r.assign(device_, *source.r);
      assign_smoother(hierarchy, l);
    }
    name_layouts();
  }

 private:
  using Level = AmgCycleLevel<V, CycleMatrix<V>>;

  void form_transposes() const {
    for (Level& level : levels_) {
      if (!level.is_dense) level.transposed_a = level.a.transposed(device_, least_templated_);
    }
    transposed_dense_ = dense_.transposed();
  }

  void name_layouts() {
    layouts_.clear();
    for (const Level& level : levels_) {
      layouts_.push_back({level.is_dense ? "dense" : std::string(level.a.layout_name()),
                          level.bytes() + (level.is_dense ? dense_.bytes() : 0)});
    }
  }

  [[nodiscard]] static index_t coarsest_rows(const AmgHierarchy<T>& hierarchy) {
    return hierarchy.levels.back().a->rows();
  }

  void make_level(const AmgHierarchy<T>& hierarchy, std::size_t l) {
    const AmgLevel<T>& source = hierarchy.levels[l];
    Level& level = levels_[l];
    level.rows = source.a->rows();
    level.is_dense = is_dense_level(hierarchy, l);
    allocate_vectors<T>(level, device_, l, levels_.size(), options_.cycle);
    if (level.is_dense) return;
    level.a = CycleMatrix<V>(device_, *source.a, least_templated_);
    if (source.p) level.p = CycleMatrix<V>(device_, *source.p);
    if (source.r) level.r = CycleMatrix<V>(device_, *source.r);
    level.m = Array<V>(level.rows, Init::none);
    level.weights = Array<V>(static_cast<std::int64_t>(weights(hierarchy, l).size()), Init::none);
    assign_smoother(hierarchy, l);
  }

  [[nodiscard]] std::vector<double> weights(const AmgHierarchy<T>& hierarchy, std::size_t l) const {
    return amg_level_weights(options_, hierarchy.levels[l].rho, l + 1 == levels_.size());
  }

  void assign_smoother(const AmgHierarchy<T>& hierarchy, std::size_t l) {
    convert(device_, levels_[l].m, hierarchy.levels[l].smoother);
    const std::vector<double> factors = weights(hierarchy, l);
    std::transform(factors.begin(), factors.end(), levels_[l].weights.begin(),
                   [](double factor) { return static_cast<V>(factor); });
  }

  Device device_;
  AmgOptions options_;
  offset_t least_templated_;
  CycleDense<V> dense_;
  mutable std::mutex mutex_;                               ///< of the vectors of the levels, during a product
  mutable std::vector<Level> levels_;                      ///< a product writes their vectors
  mutable std::optional<CycleDense<V>> transposed_dense_;  ///< nothing where the transposes have to be formed
  std::vector<AmgLayout> layouts_;
};

}  // namespace

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options,
                                                    offset_t least_templated) {
  if (options.precision == AmgPrecision::single) {
    return std::make_unique<HostCycle<T, float>>(hierarchy, options, least_templated);
  }
  return std::make_unique<HostCycle<T, T>>(hierarchy, options, least_templated);
}

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options) {
  return make_amg_cycle(hierarchy, options, least_nonzeros_on_host);
}

template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&,
                                                                 offset_t);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&,
                                                                  offset_t);

}  // namespace tessera::host
