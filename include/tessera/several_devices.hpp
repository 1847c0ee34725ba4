/// \file
/// One system on several devices of one machine: its rows are shared out, every device works on its own, and together
/// they solve as one device does.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct DeviceGroupOptions {
  /// How long a GPU waits for another one in the middle of a loop before the solve ends as DeviceFailure.
  double patience_seconds = 30.0;
  /// Whether GPUs may use each other's memory where they can.
  bool peer_access = true;
};

/// Devices that work together, at most 16: GPUs, or the host several times, each time with the threads of that Device
/// (which shows what several GPUs would do). A small value; copies stand for the same group. It serves one call at a
/// time, and refuses (InvalidArgument) a second one. Every GPU gets a context of its own.
class DeviceGroup {
 public:
  /// \param devices all GPUs or all the host; a GPU that is named twice serves as two, for tests: without
  /// peer_access, since of two kernels on one GPU that wait for each other one may never start
  /// \throws InvalidArgument for none, too many or both kinds; OutOfMemory, CudaError
  explicit DeviceGroup(std::vector<Device> devices, const DeviceGroupOptions& options = {});

  /// Reads "cuda:0,1", "cuda:all", or "host,host". \throws InvalidArgument for other text and for a GPU named twice,
  /// DeviceUnavailable as Device::cuda()
  [[nodiscard]] static DeviceGroup parse(std::string_view text);
  /// Whether a text names several devices, or asks for all.
  [[nodiscard]] static bool is_group(std::string_view text) noexcept;

  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] Device device(int number) const;
  /// Whether every GPU reads and writes the memory of every other one, as over NVLink. Where not, halos are copied, and
  /// the host drives loops.
  [[nodiscard]] bool has_peer_access() const noexcept;

  struct Impl;  ///< of the library
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// Consecutive rows for every device.
class Partition {
 public:
  /// \param first_rows of every part, and the number of rows: ascending, the first 0, no part empty
  /// \throws InvalidArgument naming the first that is not
  explicit Partition(std::vector<index_t> first_rows);

  /// Parts with about equally many nonzeros, a row counted as one more. O(parts log rows)
  /// \throws InvalidArgument where there are more parts than rows, or none
  template <class T>
  [[nodiscard]] static Partition by_nonzeros(const CsrView<T>& matrix, int parts);

  [[nodiscard]] int parts() const noexcept { return static_cast<int>(first_rows_.size()) - 1; }
  [[nodiscard]] index_t rows() const noexcept { return first_rows_.back(); }
  /// For part = parts(): the number of rows.
  [[nodiscard]] index_t first_row(int part) const noexcept { return first_rows_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] index_t rows_of(int part) const noexcept { return first_row(part + 1) - first_row(part); }
  /// Elements of x that parts need from others for a product, distinct in each part, in sum: what crosses between
  /// devices. O(nnz + parts · rows) \param matrix square, of rows() rows, on the host \throws DimensionError
  template <class T>
  [[nodiscard]] std::int64_t halo(const CsrView<T>& matrix) const;
  /// The part that a row belongs to. O(log parts)
  [[nodiscard]] int part_of(index_t row) const noexcept;

 private:
  std::vector<index_t> first_rows_;
};

/// What one device has of a matrix.
struct DevicePart {
  std::string device;  ///< "cuda:1"
  index_t first_row = 0;
  index_t rows = 0;
  offset_t nnz = 0;                ///< of its rows
  offset_t halo_nnz = 0;           ///< of these, in columns of other devices
  index_t boundary_rows = 0;       ///< rows with such entries
  index_t halo = 0;                ///< distinct elements of x that it gets from other devices for a product
  index_t sent = 0;                ///< elements that it gives them
  int neighbours = 0;              ///< devices that it gets elements from
  std::string kernel;              ///< of its own columns
  std::string reason;              ///< why this kernel
  std::string halo_kernel;         ///< of the others; empty where there are none
  std::uint64_t memory_bytes = 0;  ///< matrix, plans and halo, on the device
};

/// A square matrix whose rows lie on the devices of a group. A device multiplies its own columns while the elements of
/// x that it lacks travel, then adds the rest.
template <class T>
class DistributedMatrix {
 public:
  /// \param matrix on the host; not needed afterwards
  /// \param options device and transpose do not count \throws DimensionError for a matrix that is not square,
  /// InvalidArgument where a partition has other sizes than group and matrix, or there are more devices than rows;
  /// otherwise as SpmvPlan
  DistributedMatrix(const DeviceGroup& group, const CsrView<T>& matrix, const SpmvOptions& options = {});
  DistributedMatrix(const DeviceGroup& group, const CsrView<T>& matrix, Partition partition,
                    const SpmvOptions& options = {});
  ~DistributedMatrix();
  DistributedMatrix(DistributedMatrix&&) noexcept;
  DistributedMatrix& operator=(DistributedMatrix&&) noexcept;

  [[nodiscard]] index_t rows() const noexcept;
  [[nodiscard]] offset_t nnz() const noexcept;
  [[nodiscard]] const DeviceGroup& group() const noexcept;
  [[nodiscard]] const Partition& partition() const noexcept;
  [[nodiscard]] const std::vector<DevicePart>& parts() const noexcept;
  /// Of all devices.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  /// y = A x, vectors on the host. \throws DimensionError, DeviceFailure
  void apply(std::span<const T> x, std::span<T> y) const;

  struct Impl;  ///< of the library
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Preconditioners of solves on several devices: those that need no other device.
enum class GroupPreconditioner { identity, jacobi };

/// cg() on several devices. Every device runs the loop of one device on its rows; sums are added in the order of the
/// devices, so results are equal from run to run, and to those of one device within rounding. The observer is called on
/// the calling thread.
/// \param b,x on the host
/// \returns the report of cg(); Timings::upload_ms and download_ms are those of vectors, preconditioner_ms is filled
/// too \throws as cg(); InvalidMatrix as JacobiPreconditioner; DeviceFailure naming a device that failed
template <class T>
SolveReport cg(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options = {});

/// bicgstab() on several devices, as cg() there: with the loop, the restarts and the random r̂ of one device.
/// \throws as bicgstab(), and as cg() on several devices
template <class T>
SolveReport bicgstab(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options = {});

extern template class DistributedMatrix<float>;
extern template class DistributedMatrix<double>;
extern template Partition Partition::by_nonzeros(const CsrView<float>&, int);
extern template Partition Partition::by_nonzeros(const CsrView<double>&, int);
extern template std::int64_t Partition::halo(const CsrView<float>&) const;
extern template std::int64_t Partition::halo(const CsrView<double>&) const;
extern template SolveReport cg(const DistributedMatrix<float>&, GroupPreconditioner, std::span<const float>,
                               std::span<float>, const SolverOptions&);
extern template SolveReport bicgstab(const DistributedMatrix<float>&, GroupPreconditioner, std::span<const float>,
                                     std::span<float>, const SolverOptions&);
extern template SolveReport cg(const DistributedMatrix<double>&, GroupPreconditioner, std::span<const double>,
                               std::span<double>, const SolverOptions&);
extern template SolveReport bicgstab(const DistributedMatrix<double>&, GroupPreconditioner, std::span<const double>,
                                     std::span<double>, const SolverOptions&);

}  // namespace tessera
