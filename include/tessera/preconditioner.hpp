/// \file
/// Preconditioners: approximate inverses M of a matrix, set up once and applied in every iteration of a Krylov method.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

/// What every preconditioner tells of itself.
struct PreconditionerInfo {
  std::string_view name;      ///< "jacobi", "amg"
  double setup_ms = 0.0;      ///< wall-clock time of the set-up, or of the latest refresh()
  std::uint64_t bytes = 0;    ///< memory that it holds on its device, without the matrix
  bool is_symmetric = false;  ///< <M u, v> = <u, M v>, so that CG may use it
};

/// z = M r, where M approximates the inverse of a square matrix. The solvers take any LinearOperator as M; this class
/// adds what set-up cost and how new values are taken. Set-up and refresh() check that M is finite. Products of several
/// threads by one M are right; a class says so where they take turns.
template <class T>
class Preconditioner : public FusedOperator<T> {
 public:
  [[nodiscard]] virtual const PreconditionerInfo& info() const noexcept = 0;

  /// Takes new values of a matrix with the structure of the one that M was set up for. Not concurrent with products.
  /// \param matrix on the device of M
  /// \throws DimensionError for another size; as the constructor
  virtual void refresh(const CsrView<T>& matrix) = 0;
};

/// Jacobi preconditioner: the inverse of the diagonal.
template <class T>
class JacobiPreconditioner final : public Preconditioner<T> {
 public:
  /// \param matrix on `device`, or on the host, where set-up then runs: that of a plan that streams it
  /// \throws InvalidMatrix naming the first row whose diagonal entry is missing, zero, not finite, or without a finite
  ///         inverse; DimensionError for a matrix that is not square
  explicit JacobiPreconditioner(const CsrView<T>& matrix, const Device& device = Device{});

  [[nodiscard]] std::int64_t rows() const override { return inverse_diagonal_.size(); }
  [[nodiscard]] std::int64_t cols() const override { return inverse_diagonal_.size(); }
  [[nodiscard]] Device device() const override { return inverse_diagonal_.device(); }
  [[nodiscard]] std::optional<std::span<const T>> diagonal() const override { return inverse_diagonal_.span(); }
  [[nodiscard]] bool has_transpose() const override { return true; }
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override { return info_; }

  /// Never allocates, but on the host for a matrix there. \throws as the constructor, and keeps the old state
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    do_apply(alpha, x, beta, y);
  }

 private:
  Array<T> inverse_diagonal_;
  PreconditionerInfo info_{.name = "jacobi", .is_symmetric = true};
};

extern template class JacobiPreconditioner<float>;
extern template class JacobiPreconditioner<double>;

}  // namespace tessera
