/// \file
/// The operator interface of the solvers: y = α A x + β y, and optional capabilities.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

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
/// a whole vector (dual buffer: MERBIT, §4.2). Made by LinearOperator::make_output(). A loop with two products per
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

/// A linear map on vectors of element type T. Thread-compatible: const calls may run concurrently unless a class says
/// otherwise. Vectors are spans on the operator's device.
///
/// To write an operator, derive from this class and override rows(), cols(), do_apply() and, on a GPU, device(). The
/// solvers take it as A and as M. They call its products from the host, one at a time. Where A is an SpmvPlan on a GPU,
/// and M is one, an Amg or diagonal, the GPU iterates without the host. Both ways give the same bits where the products
/// do; the first waits for the GPU after every operation.
template <class T>
class LinearOperator {
 public:
  LinearOperator() = default;
  virtual ~LinearOperator() = default;

  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::int64_t cols() const = 0;
  [[nodiscard]] virtual Device device() const { return Device{}; }

  /// y = A x. The old y is not read, so NaN in it does not matter.
  /// \param x cols() elements
  /// \param y rows() elements, not overlapping x
  /// \throws DimensionError for other sizes, InvalidArgument when x and y overlap
  void apply(std::span<const T> x, std::span<T> y) const { apply(T{1}, x, T{0}, y); }

  /// y = α A x + β y. With β = 0 the old y is not read; with α = 0 the product is not formed.
  void apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const;

  /// y = A x together with <w, y> and <y, y>. \param w rows() elements, not overlapping y; may be x itself
  ProductDots apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const;

  /// Storage for apply(x, buffer); all the memory that repeated products need is allocated here.
  [[nodiscard]] virtual DualBuffer<T> make_output() const {
    return DualBuffer<T>(rows(), DualBuffer<T>::Mode::single, device());
  }

  /// out.current() = A x. Never allocates.
  /// \param out of this operator's make_output(); one of another operator of the same size costs one clearing
  /// \throws as above; InvalidArgument also when x or w lies in the buffer, as the result of an earlier product does
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

  /// Whether apply_transposed() works: for a plan made with SpmvOptions::with_transpose, for diagonal operators, and
  /// for a FunctionOperator with a transposed function.
  [[nodiscard]] virtual bool has_transpose() const { return false; }

  /// y = Aᵀ x. The old y is not read, so NaN in it does not matter.
  /// \param x rows() elements
  /// \param y cols() elements, not overlapping x
  /// \throws NotSupported naming the remedy when !has_transpose(); otherwise as apply()
  void apply_transposed(std::span<const T> x, std::span<T> y) const { apply_transposed(T{1}, x, T{0}, y); }

  /// y = α Aᵀ x + β y. With β = 0 the old y is not read; with α = 0 the product is not formed.
  void apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const;

  /// Entries of a diagonal operator, so that a solver can fuse it into its vector operations; nothing for all others.
  [[nodiscard]] virtual std::optional<std::span<const T>> diagonal() const { return std::nullopt; }
  /// True for the identity: solvers then skip it.
  [[nodiscard]] virtual bool is_identity() const { return false; }

 protected:
  LinearOperator(const LinearOperator&) = default;
  LinearOperator(LinearOperator&&) noexcept = default;
  LinearOperator& operator=(const LinearOperator&) = default;
  LinearOperator& operator=(LinearOperator&&) noexcept = default;

  /// Arguments arrive checked.
  virtual void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const = 0;
  /// Default: product, then one fused pass for both sums.
  virtual ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const;
  virtual double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const;
  /// Defaults: write current() in place.
  virtual void do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const;
  virtual ProductDots do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const;
  /// Called only where has_transpose(); override both together.
  virtual void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const;
  /// What to do when !has_transpose(); ends the message of the exception.
  [[nodiscard]] virtual std::string_view transpose_remedy() const;

 private:
  friend class detail::EnqueuedProduct<T>;
  /// Of the library's own plans on a GPU; null by default.
  [[nodiscard]] virtual const detail::EnqueuedProduct<T>* enqueued_product() const noexcept { return nullptr; }
};

/// The identity of size n; the "no preconditioner" of the solvers.
template <class T>
class IdentityOperator final : public LinearOperator<T> {
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

/// A matrix-free operator from any callable `void(std::span<const T> x, std::span<T> y)` that overwrites y with A x.
template <class T>
class FunctionOperator final : public LinearOperator<T> {
 public:
  using Function = std::function<void(std::span<const T>, std::span<T>)>;

  /// \throws InvalidArgument for negative sizes or an empty function
  FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, const Device& device = Device{});
  /// With the transpose: `transposed` overwrites its second vector, of `cols` elements, with Aᵀ times its first.
  FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, Function transposed,
                   const Device& device = Device{});
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t cols() const override { return cols_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool has_transpose() const override { return static_cast<bool>(transposed_); }

 protected:
  /// With β ≠ 0 a call allocates scratch space.
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  [[nodiscard]] std::string_view transpose_remedy() const override;

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  Function function_;
  Function transposed_;  ///< empty when not given
  Device device_;
};

extern template class LinearOperator<float>;
extern template class LinearOperator<double>;
extern template class IdentityOperator<float>;
extern template class IdentityOperator<double>;
extern template class FunctionOperator<float>;
extern template class FunctionOperator<double>;

}  // namespace tessera
