/// \file
/// The operator interface of the solvers: y = α A x + β y, optionally transposed, optionally put into a stream.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace tessera {

/// A linear map on vectors of element type T. Thread-compatible: const calls may run concurrently unless a class says
/// otherwise; those of the library's own classes are right, and take turns where a class says so. A solve on a GPU has
/// its context to itself (Context). Vectors are spans on the operator's device.
///
/// To write an operator, derive from this class and override rows(), cols(), do_apply() and, on a GPU, device(). The
/// solvers take it as A and as M. They call its products from the host, one at a time, and wait for the GPU after every
/// operation. An operator on a GPU that overrides can_enqueue() and do_enqueue() too is recorded into the loop that the
/// GPU runs by itself, as the library's own operators are (FusedOperator). Both ways give the same bits where the
/// products do.
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

  /// Whether apply_transposed() works: for a plan with its transpose prepared, for a FunctionOperator with a transposed
  /// function, for all preconditioners on the host but a nonsymmetric K-cycle of AMG, and on a GPU for symmetric ones,
  /// SPAI and polynomials. What a preconditioner needs for it is made by its first call.
  [[nodiscard]] virtual bool has_transpose() const { return false; }

  /// y = Aᵀ x. The old y is not read, so NaN in it does not matter.
  /// \param x rows() elements
  /// \param y cols() elements, not overlapping x
  /// \throws NotSupported naming the remedy when !has_transpose(); otherwise as apply()
  void apply_transposed(std::span<const T> x, std::span<T> y) const { apply_transposed(T{1}, x, T{0}, y); }

  /// y = α Aᵀ x + β y. With β = 0 the old y is not read; with α = 0 the product is not formed.
  void apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const;

  /// Whether enqueue() works, on a GPU; asked once per solve. The library's own operators say false: a solver records
  /// them in a way of its own.
  [[nodiscard]] virtual bool can_enqueue() const { return false; }

  /// Puts y = A x into a stream of the operator's GPU and returns before it is done. The old y is not read.
  /// \param x, y as for apply(); they must stay where they are until the stream is done, or as long as a graph that the
  /// call was recorded into lives
  /// \param stream of device(), which is the current device of the calling thread; may be being captured
  /// \throws NotSupported when !can_enqueue() or on the host; otherwise as apply()
  void enqueue(std::span<const T> x, std::span<T> y, CUstream_st* stream) const;

 protected:
  LinearOperator(const LinearOperator&) = default;
  LinearOperator(LinearOperator&&) noexcept = default;
  LinearOperator& operator=(const LinearOperator&) = default;
  LinearOperator& operator=(LinearOperator&&) noexcept = default;

  /// Arguments arrive checked; y is not empty, α is not 0.
  virtual void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const = 0;
  /// Called only where has_transpose(); override both together.
  virtual void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const;
  /// What to do when !has_transpose(); ends the message of the exception.
  [[nodiscard]] virtual std::string_view transpose_remedy() const;

  /// Called only where can_enqueue(); override both together. Overwrites y with A x by work in `stream` alone, or in
  /// streams that fork from it and join it by events. A solver calls it while it records a CUDA graph that repeats the
  /// work, so it neither waits nor allocates, and what it hands to kernels stays valid as long as the operator. What it
  /// throws ends the solve. Errors of launches need no check: the solver looks for them.
  virtual void do_enqueue(std::span<const T> x, std::span<T> y, CUstream_st* stream) const;
  /// A do_apply() for operators that can_enqueue(): by do_enqueue() in the stream of the library, where all of its work
  /// on the GPU is ordered. With β ≠ 0 a call allocates scratch space. \throws CudaError when a launch failed
  void apply_by_enqueue(T alpha, std::span<const T> x, T beta, std::span<T> y) const;
};

/// A matrix-free operator from any callable `void(std::span<const T> x, std::span<T> y)` that overwrites y with A x, or
/// on a GPU from one that takes a stream, too. Products may run concurrently where the callable may.
template <class T>
class FunctionOperator final : public LinearOperator<T> {
 public:
  using Function = std::function<void(std::span<const T>, std::span<T>)>;
  /// Keeps the rules of LinearOperator::do_enqueue().
  using StreamFunction = std::function<void(std::span<const T>, std::span<T>, CUstream_st*)>;

  /// \throws InvalidArgument for negative sizes or an empty function
  FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, const Device& device = Device{});
  /// With the transpose: `transposed` overwrites its second vector, of `cols` elements, with Aᵀ times its first.
  FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, Function transposed,
                   const Device& device = Device{});
  /// Of a function that launches kernels in the stream it gets. \throws InvalidArgument for the host, which has no
  /// streams; otherwise as above
  FunctionOperator(std::int64_t rows, std::int64_t cols, StreamFunction function, const Device& device);
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t cols() const override { return cols_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool has_transpose() const override { return static_cast<bool>(transposed_); }
  [[nodiscard]] bool can_enqueue() const override { return static_cast<bool>(enqueued_); }

 protected:
  /// With β ≠ 0 a call allocates scratch space.
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  [[nodiscard]] std::string_view transpose_remedy() const override;
  void do_enqueue(std::span<const T> x, std::span<T> y, CUstream_st* stream) const override;

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  Function function_;    ///< empty when enqueued_ is given
  Function transposed_;  ///< empty when not given
  Device device_;
  StreamFunction enqueued_;  ///< empty when function_ is given
};

extern template class LinearOperator<float>;
extern template class LinearOperator<double>;
extern template class FunctionOperator<float>;
extern template class FunctionOperator<double>;

}  // namespace tessera
