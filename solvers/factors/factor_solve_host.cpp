/// M = C Q U⁻¹ L⁻¹ P R on the host: forward and backward substitution, by one thread in the order of rows, or by all
/// threads level by level where levels are wide. Every row adds in the order of its columns, so both give the same
/// bits. Mᵀ is such an operator, too, of the transposed factors, formed by the first product with it.
#include "core/detail_namespace.hpp"
#include "core/parallel.hpp"
#include "core/workspace_pool.hpp"
#include "solvers/factors/level_schedule.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "tessera/statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace tessera::host {

namespace {

template <class U>
std::uint64_t vector_bytes(const std::vector<U>& vector) {
  return vector.size() * sizeof(U);
}

/// z = α M r + β z
template <class T>
struct FactorOperands {
  T alpha;
  const T* r;
  T beta;
  T* z;
  T* work;
};

/// A triangle and the order in which its rows are computed.
template <class T>
class HostTriangle {
 public:
  HostTriangle(TriangularFactor<T> factor, Triangle triangle, const Device& device)
      : factor_(std::move(factor)),
        triangle_(triangle),
        schedule_(level_schedule(factor_.strict.row_offsets().span(), factor_.strict.columns().span(), triangle)),
        levels_(schedule_.levels()),
        by_levels_(is_worth_threads(schedule_, factor_.strict.nnz() + rows(), device)) {
    if (!by_levels_) schedule_ = {};
  }

  [[nodiscard]] index_t rows() const noexcept { return factor_.strict.rows(); }
  [[nodiscard]] TriangularFactor<T> transposed(const Device& device) const {
    return {transpose(factor_.strict.view(), device), factor_.inverse_diagonal.to(device)};
  }
  [[nodiscard]] index_t levels() const noexcept { return levels_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return factor_.strict.bytes() + factor_.inverse_diagonal.bytes() + vector_bytes(schedule_.offsets) +
           vector_bytes(schedule_.rows);
  }

  /// (b - Σ_j s_ij x_j) / d_i
  [[nodiscard]] T value(index_t i, T b, const T* x) const {
    const offset_t* const offsets = factor_.strict.row_offsets().data();
    const index_t* const columns = factor_.strict.columns().data();
    const T* const values = factor_.strict.values().data();
    const offset_t end = offsets[i + 1];
    T sum = b;
    for (offset_t k = offsets[i]; k < end; ++k) sum -= values[k] * x[columns[k]];
    return factor_.inverse_diagonal.empty() ? sum : sum * factor_.inverse_diagonal[i];
  }

  /// row(i) for all rows, those that a row needs before it.
  template <class Row>
  void for_each(const Device& device, const Row& row) const {
    if (by_levels_) return for_each_level(schedule_, device, [&](std::size_t, index_t i) { row(i); });
    if (triangle_ == Triangle::lower) {
      for (index_t i = 0; i < rows(); ++i) row(i);
    } else {
      for (index_t i = rows() - 1; i >= 0; --i) row(i);
    }
  }

 private:
  TriangularFactor<T> factor_;
  Triangle triangle_;
  LevelSchedule schedule_;  ///< empty where rows are computed in their own order
  index_t levels_;
  bool by_levels_;
};

template <class T>
class HostFactorSolve final : public FactorSolve<T> {
 public:
  HostFactorSolve(PreparedFactors<T> factors, const Device& device)
      : device_(device),
        lower_(std::move(factors.lower), Triangle::lower, device),
        upper_(std::move(factors.upper), Triangle::upper, device),
        row_from_(std::move(factors.row_from)),
        row_scale_(std::move(factors.row_scale)),
        column_to_(std::move(factors.column_to)),
        column_scale_(std::move(factors.column_scale)) {
    static_cast<void>(borrow());  // products one by one allocate nothing
  }

  [[nodiscard]] std::int64_t rows() const override { return lower_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return lower_.rows(); }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] TriangularSolve kind() const noexcept override { return TriangularSolve::levels; }
  [[nodiscard]] index_t lower_levels() const noexcept override { return lower_.levels(); }
  [[nodiscard]] index_t upper_levels() const noexcept override { return upper_.levels(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return lower_.bytes() + upper_.bytes() + row_from_.bytes() + row_scale_.bytes() + column_to_.bytes() +
           column_scale_.bytes() + static_cast<std::uint64_t>(lower_.rows()) * sizeof(T);
  }
  [[nodiscard]] bool has_transpose() const override { return true; }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const auto work = borrow();
    const FactorOperands<T> operands{alpha, x.data(), beta, y.data(), work->data()};
    lower_.for_each(device_, [this, operands](index_t i) { lower_row(i, operands); });
    upper_.for_each(device_, [this, operands](index_t i) { upper_row(i, operands); });
  }

  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    std::call_once(is_transposed_,
                   [this] { transposed_ = std::make_unique<HostFactorSolve>(transposed_factors(), device_); });
    transposed_->apply(alpha, x, beta, y);
  }

 private:
  /// Factors of Mᵀ = R Pᵀ L⁻ᵀ U⁻ᵀ Qᵀ C.
  [[nodiscard]] PreparedFactors<T> transposed_factors() const {
    return {.lower = upper_.transposed(device_),
            .upper = lower_.transposed(device_),
            .row_from = column_to_.to(device_),
            .row_scale = column_scale_.to(device_),
            .column_to = row_from_.to(device_),
            .column_scale = row_scale_.to(device_)};
  }

  [[nodiscard]] auto borrow() const {
    return work_.borrow([n = lower_.rows()] { return Array<T>(n); });
  }
  void lower_row(index_t i, const FactorOperands<T>& operands) const {
    const T r = operands.r[row_from_.empty() ? i : row_from_[i]];
    operands.work[i] = lower_.value(i, row_scale_.empty() ? r : row_scale_[i] * r, operands.work);
  }
  void upper_row(index_t i, const FactorOperands<T>& operands) const {
    const T w = upper_.value(i, operands.work[i], operands.work);
    operands.work[i] = w;
    const T scaled = operands.alpha * (column_scale_.empty() ? w : column_scale_[i] * w);
    T& z = operands.z[column_to_.empty() ? i : column_to_[i]];
    z = operands.beta == T{0} ? scaled : scaled + operands.beta * z;
  }

  Device device_;
  HostTriangle<T> lower_;
  HostTriangle<T> upper_;
  Array<index_t> row_from_;
  Array<T> row_scale_;
  Array<index_t> column_to_;
  Array<T> column_scale_;
  WorkspacePool<Array<T>> work_;
  mutable std::once_flag is_transposed_;
  mutable std::unique_ptr<HostFactorSolve> transposed_;  ///< of the first product with Mᵀ on
};

}  // namespace

template <class T>
std::unique_ptr<FactorSolve<T>> make_factor_solve(PreparedFactors<T> factors, const Device& device) {
  return std::make_unique<HostFactorSolve<T>>(std::move(factors), device);
}

template std::unique_ptr<FactorSolve<float>> make_factor_solve(PreparedFactors<float>, const Device&);
template std::unique_ptr<FactorSolve<double>> make_factor_solve(PreparedFactors<double>, const Device&);

}  // namespace tessera::host
