/// The multigrid cycle on the threads of the host: CSR in the element type of the cycle, one pass per operation.
#include "core/checked.hpp"
#include "core/detail_namespace.hpp"
#include "core/parallel.hpp"
#include "solvers/amg/cycle.hpp"
#include "solvers/amg/cycle_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace tessera::host {

namespace {

/// A matrix of the cycle.
template <class V>
class CycleCsr {
 public:
  CycleCsr() = default;
  template <class T>
  explicit CycleCsr(const Csr<T>& source)
      : rows_(source.rows()),
        offsets_(source.row_offsets().to(Device{})),
        columns_(source.columns().to(Device{})),
        values_(source.nnz(), Init::none) {
    assign(source);
  }

  /// Takes the values of a matrix of the same structure.
  template <class T>
  void assign(const Csr<T>& source) {
    const CsrView<T> view = source.view();
    for (offset_t k = 0; k < view.nnz(); ++k) values_[k] = static_cast<V>(view.value(k));
  }

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }

  template <class Gather>
  [[nodiscard]] V row_sum(index_t i, const Gather& x) const {
    V sum{0};
    for (offset_t k = offsets_[i]; k < offsets_[i + 1]; ++k) sum += values_[k] * x.at(columns_[k]);
    return sum;
  }

 private:
  index_t rows_ = 0;
  Array<offset_t> offsets_;
  Array<index_t> columns_;
  Array<V> values_;
};

/// The inverse of the coarsest matrix, row-major.
template <class V>
class CycleDense {
 public:
  template <class T>
  CycleDense(const Array<T>& source, index_t rows) : rows_(rows), values_(source.size(), Init::none) {
    assign(source);
  }

  template <class T>
  void assign(const Array<T>& source) {
    std::transform(source.begin(), source.end(), values_.begin(), [](T value) { return static_cast<V>(value); });
  }

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return values_.bytes(); }

  template <class Gather>
  [[nodiscard]] V row_sum(index_t i, const Gather& x) const {
    const V* const row = values_.data() + std::int64_t{i} * rows_;
    V sum{0};
    for (index_t j = 0; j < rows_; ++j) sum += row[j] * x.at(j);
    return sum;
  }

 private:
  index_t rows_;
  Array<V> values_;
};

/// Runs the operations of a cycle.
template <class T, class V>
class HostExecutor {
 public:
  using Matrix = CycleCsr<V>;
  using Dense = CycleDense<V>;

  HostExecutor(const Device& device, T* z) : device_(device), z_(z) {}

  /// \returns the sums of the operation
  template <class Rows, class Gather, class Op>
  typename Op::Sums rows(const Rows& matrix, const Gather& x, const Op op) {
    using Sums = typename Op::Sums;
    const auto pass = [&](Range range) {
      Sums sums{};
      for (auto i = static_cast<index_t>(range.begin); i < range.end; ++i) {
        op.apply(i, matrix.row_sum(i, x), op.constants(i), op.load(i), sums);
      }
      return sums;
    };
    if constexpr (std::is_empty_v<Sums>) {
      parallel_for(device_, matrix.rows(), pass);
      return {};
    } else {
      return parallel_sum<Sums>(device_, matrix.rows(), pass);
    }
  }

  template <class Op>
  void elements(index_t n, const Op op) {
    parallel_for(device_, n, [&](Range range) {
      for (auto i = static_cast<index_t>(range.begin); i < range.end; ++i) op.apply(i, op.constants(i), op.load(i));
    });
  }

  template <class Gather, class Op>
  void scalars(const Matrix& matrix, const Gather& x, const Op& op, AmgKrylovScalars* scalars) {
    scalars->after(rows(matrix, x, op));
  }

  template <class Rows, class Gather, class MakeOp>
  void last(const Rows& matrix, const Gather& x, MakeOp&& make_op) {
    rows(matrix, x, make_op(AmgOutput<T>{z_}));
  }

 private:
  const Device& device_;
  T* z_;
};

template <class T, class V>
class HostCycle final : public AmgCycleOperator<T> {
 public:
  HostCycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options)
      : device_(hierarchy.device),
        options_(options),
        dense_(hierarchy.coarsest_inverse, hierarchy.coarsest_inverse.empty() ? 0 : coarsest_rows(hierarchy)),
        levels_(hierarchy.levels.size()) {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      make_level(hierarchy, l);
      const bool is_dense = levels_[l].is_dense;
      layouts_.push_back({is_dense ? "dense" : "csr", levels_[l].bytes() + (is_dense ? dense_.bytes() : 0)});
    }
  }

  void apply(std::span<const T> r, std::span<T> z) const override {
    if (levels_.empty() || levels_[0].rows == 0) return;
    HostExecutor<T, V> executor(device_, z.data());
    AmgCycleSteps<T, V, HostExecutor<T, V>>(executor, options_.cycle, levels_, dense_, r.data()).run();
  }

  [[nodiscard]] const EnqueuedProduct<T>* enqueued() const noexcept override { return nullptr; }
  [[nodiscard]] const std::vector<AmgLayout>& layouts() const noexcept override { return layouts_; }

  void refresh(const AmgHierarchy<T>& hierarchy) override {
    if (!hierarchy.coarsest_inverse.empty()) dense_.assign(hierarchy.coarsest_inverse);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (levels_[l].is_dense) continue;
      const AmgLevel<T>& source = hierarchy.levels[l];
      levels_[l].a.assign(*source.a);
      if (source.p) levels_[l].p.assign(*source.p);
      if (source.r) levels_[l].r.assign(*source.r);
      assign_smoother(hierarchy, l);
    }
  }

 private:
  using Level = AmgCycleLevel<V, CycleCsr<V>>;

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
    level.a = CycleCsr<V>(*source.a);
    if (source.p) level.p = CycleCsr<V>(*source.p);
    if (source.r) level.r = CycleCsr<V>(*source.r);
    level.m = Array<V>(level.rows, Init::none);
    level.weights = Array<V>(static_cast<std::int64_t>(weights(hierarchy, l).size()), Init::none);
    assign_smoother(hierarchy, l);
  }

  [[nodiscard]] std::vector<double> weights(const AmgHierarchy<T>& hierarchy, std::size_t l) const {
    return amg_level_weights(options_, hierarchy.levels[l].rho, l + 1 == levels_.size());
  }

  void assign_smoother(const AmgHierarchy<T>& hierarchy, std::size_t l) {
    const auto to_v = [](auto value) { return static_cast<V>(value); };
    const Array<T>& m = hierarchy.levels[l].smoother;
    const std::vector<double> factors = weights(hierarchy, l);
    std::transform(m.begin(), m.end(), levels_[l].m.begin(), to_v);
    std::transform(factors.begin(), factors.end(), levels_[l].weights.begin(), to_v);
  }

  Device device_;
  AmgOptions options_;
  CycleDense<V> dense_;
  mutable std::vector<Level> levels_;  ///< a product writes their vectors
  std::vector<AmgLayout> layouts_;
};

}  // namespace

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& options) {
  if (options.precision == AmgPrecision::single) return std::make_unique<HostCycle<T, float>>(hierarchy, options);
  return std::make_unique<HostCycle<T, T>>(hierarchy, options);
}

template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&);

}  // namespace tessera::host
