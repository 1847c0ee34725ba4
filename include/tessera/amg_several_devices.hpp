/// \file
/// Algebraic multigrid as the preconditioner of solves on several devices: the hierarchy of one device, whose finer
/// levels are shared out by rows.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/several_devices.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera {

struct DistributedAmgOptions {
  /// Levels with fewer rows are not shared out: every device has them whole, and runs the rest of the cycle on all of
  /// their rows. An exchange takes longer there than the rows. At least 1.
  index_t least_rows = 50'000;
};

/// What set-up built.
struct DistributedAmgInfo {
  AmgInfo hierarchy;      ///< that of one device; layouts are those of the first one, bytes those of all together
  int shared_levels = 0;  ///< the finest ones, whose rows are shared out
  bool is_symmetric = false;
  double setup_ms = 0.0;     ///< of the hierarchy, with the way of the matrix to devices that do not share its work
  double exchange_ms = 0.0;  ///< of that, on the first GPU: copies of what others have formed, and waiting for it
  double share_ms = 0.0;     ///< until all devices have their rows in the layouts of the cycle
  double check_ms = 0.0;     ///< of a cycle that checks M
  std::vector<std::uint64_t> bytes;  ///< per device: matrices, smoothers and vectors of the cycle
};

/// Smoothed-aggregation AMG on the devices of a group: M is one V cycle from the guess 0, that of Amg up to rounding
/// (on the host bit by bit). GPUs that reach each other's memory set the hierarchy up together, each from its rows of A
/// and some beside them, others each by itself, with the memory of a set-up on one; all have the same bits. Then a GPU
/// keeps its rows of A, P and R of the finer levels, and the coarser levels whole. Hosts share one set-up. The group
/// refuses a second call while one runs.
template <class T>
class DistributedAmg {
 public:
  /// \param A that the solves take; its group and partition count \param matrix the same, on the host or a GPU; read
  /// where devices do not reach each other, and not needed afterwards \param options prepare_refresh does not count
  /// \throws as Amg, on the calling thread; NotSupported for the cycles W and K; DimensionError where A and matrix have
  /// other sizes; InvalidArgument for least_rows < 1; DeviceFailure naming a device that failed
  DistributedAmg(const DistributedMatrix<T>& A, const Csr<T>& matrix, const AmgOptions& options = {},
                 const DistributedAmgOptions& sharing = {});
  /// The same for a matrix on the host.
  DistributedAmg(const DistributedMatrix<T>& A, const CsrView<T>& matrix, const AmgOptions& options = {},
                 const DistributedAmgOptions& sharing = {});
  ~DistributedAmg();
  DistributedAmg(DistributedAmg&&) noexcept;
  DistributedAmg& operator=(DistributedAmg&&) noexcept;

  [[nodiscard]] index_t rows() const noexcept;
  [[nodiscard]] const DistributedAmgInfo& info() const noexcept;

  /// z = M r, vectors on the host. \throws DimensionError, DeviceFailure
  void apply(std::span<const T> r, std::span<T> z) const;

  struct Impl;  ///< of the library
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// cg() and bicgstab() on several devices with a DistributedAmg, made once for several solves.
/// \throws as those with a GroupPreconditioner; InvalidArgument where M was made for another group or partition
template <class T>
SolveReport cg(const DistributedMatrix<T>& A, const DistributedAmg<T>& M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options = {});
template <class T>
SolveReport bicgstab(const DistributedMatrix<T>& A, const DistributedAmg<T>& M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options = {});

extern template class DistributedAmg<float>;
extern template class DistributedAmg<double>;
extern template SolveReport cg(const DistributedMatrix<float>&, const DistributedAmg<float>&, std::span<const float>,
                               std::span<float>, const SolverOptions&);
extern template SolveReport bicgstab(const DistributedMatrix<float>&, const DistributedAmg<float>&,
                                     std::span<const float>, std::span<float>, const SolverOptions&);
extern template SolveReport cg(const DistributedMatrix<double>&, const DistributedAmg<double>&, std::span<const double>,
                               std::span<double>, const SolverOptions&);
extern template SolveReport bicgstab(const DistributedMatrix<double>&, const DistributedAmg<double>&,
                                     std::span<const double>, std::span<double>, const SolverOptions&);

}  // namespace tessera
