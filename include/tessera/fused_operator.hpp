/// \file
/// FusedOperator: an operator that offers the solvers more than its product: inner products, output buffers, residuals,
/// and what lets a GPU iterate by itself.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/linear_operator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace tessera {

namespace detail {
template <class T>
class EnqueuedProduct;
}

/// Inner products that are summed while a product is stored. Sums are double for both element types.
struct ProductDots {
  double wy = 0.0;  ///< <w, y>
  double yy = 0.0;  ///< <y, y>

  ProductDots& operator+=(const ProductDots& other) noexcept {
    wy += other.wy;
    yy += other.yy;
    return *this;
  }
};

/// Output storage for repeated products. Most operators use one vector. A kernel that adds to a few rows from several
/// places (MERBIT) uses two in turn: while it writes one, it clears just those rows of the other, and no product clears
/// a whole vector (dual buffer: MERBIT, §4.2). Made by FusedOperator::make_output(). A loop with two products per
/// iteration uses two of them.
template <class T>
class DualBuffer {
 public:
  enum class Mode { single, dual };

  DualBuffer(std::int64_t size, Mode mode, const Device& device)
      : buffers_{Array<T>(size, Init::zero, device), Array<T>(mode == Mode::dual ? size : 0, Init::zero, device)},
        mode_(mode) {}

  /// The result of the latest product. It stays valid and unchanged until the next product into this buffer; the caller
  /// may overwrite it.
  [[nodiscard]] std::span<T> current() noexcept { return buffers_[active_].span(); }
  [[nodiscard]] std::span<const T> current() const noexcept { return buffers_[active_].span(); }
  [[nodiscard]] std::int64_t size() const noexcept { return buffers_[0].size(); }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return buffers_[0].bytes() + buffers_[1].bytes(); }

  // For operators that write two vectors in turn.

  /// The vector that the next product writes, while it clears the shared rows of current().
  [[nodiscard]] std::span<T> next() noexcept { return buffers_[1 - active_].span(); }
  void swap() noexcept { active_ = 1 - active_; }
  /// Identity of the plan for which the shared rows of next() are zero; 0 when they may not be (another plan's buffer,
  /// or a product that threw).
  [[nodiscard]] std::uint64_t prepared_for() const noexcept { return prepared_for_; }
  void set_prepared_for(std::uint64_t plan) noexcept { prepared_for_ = plan; }

 private:
  Array<T> buffers_[2];
  Mode mode_;
  int active_ = 0;
  std::uint64_t prepared_for_ = 0;
};

/// An operator that offers the solvers more than its product: plans and preconditioners of the library are such. Any
/// other LinearOperator serves as well: a solver forms its inner products and residuals in passes of their own.
/// Everything here has a default that does so; override what can be fused.
template <class T>
class FusedOperator : public LinearOperator<T> {
 public:
  using LinearOperator<T>::apply;

  /// y = A x together with <w, y> and <y, y>. \param w rows() elements, not overlapping y; may be x itself
  /// \throws as apply()
  ProductDots apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const;

  /// Storage for apply(x, buffer); all the memory that repeated products need is allocated here.
  [[nodiscard]] virtual DualBuffer<T> make_output() const {
    return DualBuffer<T>(this->rows(), DualBuffer<T>::Mode::single, this->device());
  }

  /// out.current() = A x. Never allocates.
  /// \param out of this operator's make_output(); one of another operator of the same size costs one clearing
  /// \throws as apply(); InvalidArgument also when x or w lies in the buffer, as the result of an earlier product does
  void apply(std::span<const T> x, DualBuffer<T>& out) const;
  ProductDots apply_and_dot(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const;

  /// r = 2^exponent b - A x, the true residual of solvers. By default one product in T. An operator that can sum more
  /// accurately does (SpmvPlan<float> sums in double), so that rounding does not hide a residual.
  /// \param exponent scales b without rounding; b in plain units with 0
  /// \param b,r rows() elements; r overlaps neither b nor x
  /// \param x cols() elements
  /// \returns ‖r‖₂², summed in double
  /// \throws as apply()
  double residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const;

  /// Entries of a diagonal operator, so that a solver can fuse it into its vector operations; nothing for all others.
  [[nodiscard]] virtual std::optional<std::span<const T>> diagonal() const { return std::nullopt; }
  /// True for the identity: solvers then skip it.
  [[nodiscard]] virtual bool is_identity() const { return false; }

 protected:
  // Arguments arrive checked.

  /// Default: product, then one fused pass for both sums.
  virtual ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const;
  virtual double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const;
  /// Defaults: write current() in place.
  virtual void do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const;
  virtual ProductDots do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const;

 private:
  friend class detail::EnqueuedProduct<T>;
  /// Of the library's own operators on a GPU; null by default.
  [[nodiscard]] virtual const detail::EnqueuedProduct<T>* enqueued_product() const noexcept { return nullptr; }
};

/// The identity of size n; the "no preconditioner" of the solvers.
template <class T>
class IdentityOperator final : public FusedOperator<T> {
 public:
  explicit IdentityOperator(std::int64_t n, const Device& device = Device{}) : n_(n), device_(device) {}
  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool is_identity() const override { return true; }
  [[nodiscard]] bool has_transpose() const override { return true; }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    do_apply(alpha, x, beta, y);
  }

 private:
  std::int64_t n_;
  Device device_;
};

/// Aᵀ as an operator, for solvers: `gmres(*transposed(A), *transposed(M), b, x)` solves Aᵀ x = b by the factors or the
/// hierarchy of M. It multiplies by A.apply_transposed(); A itself serves where its class says that A = Aᵀ. Refers to
/// A. O(1).
/// \throws NotSupported naming the remedy when !A.has_transpose()
template <class T>
[[nodiscard]] std::shared_ptr<const FusedOperator<T>> transposed(const LinearOperator<T>& A);

extern template std::shared_ptr<const FusedOperator<float>> transposed(const LinearOperator<float>&);
extern template std::shared_ptr<const FusedOperator<double>> transposed(const LinearOperator<double>&);
extern template class FusedOperator<float>;
extern template class FusedOperator<double>;
extern template class IdentityOperator<float>;
extern template class IdentityOperator<double>;

}  // namespace tessera
