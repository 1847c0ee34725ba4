/// \file
/// y = A x on several devices: the operator of one rank. Its vectors are the rows of the rank; A's other columns are
/// multiplied with the halo, the elements of x that other ranks have.
#pragma once

#include "core/group_rank.hpp"
#include "core/sums.hpp"
#include "solvers/distributed/copied_halo.hpp"
#include "solvers/distributed/halo_columns.hpp"
#include "solvers/distributed/row_block.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tessera::detail {

/// Options of a plan of one rank. \param alone the device of the rank, without the rank
[[nodiscard]] SpmvOptions options_of_rank(SpmvOptions options, const Device& alone);

/// The matrix of one rank on its device.
template <class T>
struct LocalMatrix {
  /// \param alone the device of the rank, without the rank \throws as SpmvPlan
  LocalMatrix(RowBlock<T> block, const SpmvOptions& options, const Device& alone);

  /// y = y + α z with z = A_halo halo. \returns what that adds to <w, y> and <y, y>
  TwoSums add_halo_product(T alpha, std::span<const T> w, std::span<T> y) const;
  [[nodiscard]] std::uint64_t bytes() const;

  SpmvPlan<T> diagonal;
  std::optional<SpmvPlan<T>> off_diagonal;  ///< none where the rank needs no halo
  Array<index_t> boundary_rows;
  Array<index_t> halo_columns;  ///< of the matrix
  mutable Array<T> halo;
  mutable Array<T> halo_product;  ///< z
};

/// Calls are collective: every rank makes the same ones. Residuals in float are summed in double.
template <class T>
class DistributedProduct : public FusedOperator<T> {
 public:
  [[nodiscard]] std::int64_t rows() const final { return local_.diagonal.rows(); }
  [[nodiscard]] std::int64_t cols() const final { return local_.diagonal.rows(); }
  [[nodiscard]] Device device() const final { return device_; }
  [[nodiscard]] const LocalMatrix<T>& local() const noexcept { return local_; }
  /// With what exchanges of the halo keep.
  [[nodiscard]] virtual std::uint64_t bytes() const { return local_.bytes() + copied_halo_.bytes(); }

 protected:
  /// Made by all ranks at once.
  DistributedProduct(LocalMatrix<T> local, const ExchangeLists& lists, const Device& device)
      : local_(std::move(local)), device_(device), copied_halo_(lists, local_.diagonal.rows(), device) {}
  double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const override;
  [[nodiscard]] const CopiedHalo<T>& copied_halo() const noexcept { return copied_halo_; }
  [[nodiscard]] const GroupRank& rank() const noexcept { return *rank_of(device_); }
  [[nodiscard]] Communicator& communicator() const noexcept { return *rank().communicator; }

 private:
  LocalMatrix<T> local_;
  Device device_;
  CopiedHalo<T> copied_halo_;
};

/// One on the host, or on GPUs that do not reach each other: elements are packed, then copied. Made by all ranks at
/// once. \param device of the rank \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<DistributedProduct<T>> make_copied_product(LocalMatrix<T> local,
                                                                         const ExchangeLists& lists,
                                                                         const Device& device);

extern template struct LocalMatrix<float>;
extern template struct LocalMatrix<double>;
extern template class DistributedProduct<float>;
extern template class DistributedProduct<double>;
extern template std::unique_ptr<DistributedProduct<float>> make_copied_product(LocalMatrix<float>, const ExchangeLists&,
                                                                               const Device&);
extern template std::unique_ptr<DistributedProduct<double>> make_copied_product(LocalMatrix<double>,
                                                                                const ExchangeLists&, const Device&);

}  // namespace tessera::detail

namespace tessera::cuda {

/// One on a GPU that reaches all others of the group: kernels write what others need into their memory, while the
/// diagonal block is multiplied; the whole product can be recorded. Made by all ranks at once. \throws as above
template <class T>
[[nodiscard]] std::unique_ptr<detail::DistributedProduct<T>> make_peer_product(detail::LocalMatrix<T> local,
                                                                               const detail::ExchangeLists& lists,
                                                                               const Device& device);

extern template std::unique_ptr<detail::DistributedProduct<float>> make_peer_product(detail::LocalMatrix<float>,
                                                                                     const detail::ExchangeLists&,
                                                                                     const Device&);
extern template std::unique_ptr<detail::DistributedProduct<double>> make_peer_product(detail::LocalMatrix<double>,
                                                                                      const detail::ExchangeLists&,
                                                                                      const Device&);

}  // namespace tessera::cuda
