/// Matrices on several devices, and conjugate gradients with them: every rank runs the solver of one device.
#include "solvers/distributed/matrix.hpp"

#include "core/stopwatch.hpp"
#include "tessera/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tessera {

using detail::DistributedProduct;
using detail::ExchangeLists;
using detail::LocalMatrix;
using detail::RowBlock;

namespace {

template <class T>
Partition fitting(const DeviceGroup& group, const CsrView<T>& matrix, Partition partition) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a matrix on several devices must be square, is {} x {}", matrix.rows, matrix.cols));
  }
  if (partition.parts() != group.size() || partition.rows() != matrix.rows) {
    throw InvalidArgument(fmt::format("a partition of {} rows into {} parts does not fit {} rows on {} devices",
                                      partition.rows(), partition.parts(), matrix.rows, group.size()));
  }
  return partition;
}

/// Whom a rank gives elements to, and where it finds those of others.
template <class T>
ExchangeLists lists_of(const std::vector<RowBlock<T>>& blocks, const Partition& partition, int rank) {
  ExchangeLists lists;
  for (const RowBlock<T>& other : blocks) lists.rows_for.push_back(RowBlock<T>::rows_for(other, partition, rank));
  lists.halo_offsets = blocks[static_cast<std::size_t>(rank)].halo_offsets;
  return lists;
}

template <class T>
DevicePart facts_of(const RowBlock<T>& block, const ExchangeLists& lists, const Partition& partition, int rank) {
  DevicePart part;
  part.first_row = partition.first_row(rank);
  part.rows = partition.rows_of(rank);
  part.halo_nnz = block.off_diagonal.nnz();
  part.nnz = block.diagonal.nnz() + part.halo_nnz;
  part.boundary_rows = static_cast<index_t>(block.boundary_rows.size());
  part.halo = static_cast<index_t>(block.halo.size());
  for (const std::vector<index_t>& rows : lists.rows_for) part.sent += static_cast<index_t>(rows.size());
  for (std::size_t other = 0; other + 1 < lists.halo_offsets.size(); ++other) {
    if (lists.halo_offsets[other] < lists.halo_offsets[other + 1]) ++part.neighbours;
  }
  return part;
}

template <class T>
void add_plans(const LocalMatrix<T>& local, DevicePart& part) {
  part.kernel = to_string(local.diagonal.info().algorithm);
  part.reason = local.diagonal.info().reason;
  if (local.off_diagonal) part.halo_kernel = to_string(local.off_diagonal->info().algorithm);
  part.memory_bytes = local.bytes();
}

/// Threads of the host for each of the ranks.
Device share_of_host(int ranks) { return Device::host(std::max(1, Device{}.threads() / ranks)); }

template <class T>
void check_vector(const char* name, std::size_t size, index_t rows) {
  if (size == static_cast<std::size_t>(rows)) return;
  throw DimensionError(fmt::format("A is {0} x {0}: {1} must have {0} elements, has {2}", rows, name, size));
}

/// A rank's elements of a vector on the host: in place, or a copy on its GPU.
template <class T>
class LocalVector {
 public:
  LocalVector(std::span<T> of_host, const Device& device) : of_host_(of_host), device_(detail::alone(device)) {
    if (device.is_host()) return;
    copy_ = Array<std::remove_const_t<T>>::copy_of(of_host, device_);
  }
  [[nodiscard]] std::span<T> span() { return device_.is_host() ? of_host_ : copy_.span(); }
  void bring_back() {
    if (!device_.is_host()) detail::copy_bytes(Device{}, of_host_.data(), device_, copy_.data(), copy_.bytes());
  }

 private:
  std::span<T> of_host_;
  Device device_;
  Array<std::remove_const_t<T>> copy_;
};

/// Preconditioner of a rank: that of its rows.
template <class T>
std::unique_ptr<FusedOperator<T>> make_local(GroupPreconditioner kind, const DistributedProduct<T>& product) {
  if (kind == GroupPreconditioner::identity) {
    return std::make_unique<IdentityOperator<T>>(product.rows(), product.device());
  }
  return std::make_unique<JacobiPreconditioner<T>>(product.local().diagonal.matrix(), product.device());
}

}  // namespace

template <class T>
DistributedMatrix<T>::DistributedMatrix(const DeviceGroup& group, const CsrView<T>& matrix, const SpmvOptions& options)
    : DistributedMatrix(group, matrix, Partition::by_nonzeros(matrix, group.size()), options) {}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const DeviceGroup& group, const CsrView<T>& matrix, Partition partition,
                                        const SpmvOptions& options)
    : impl_(new Impl{.group = group, .partition = fitting(group, matrix, std::move(partition)), .nnz = matrix.nnz()}) {
  const DeviceGroup::Impl& devices = *group.impl();
  const auto size = static_cast<std::size_t>(group.size());
  impl_->parts.resize(size);
  impl_->products.resize(size);
  std::vector<RowBlock<T>> blocks(size);
  const Device host = share_of_host(group.size());
  devices.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    blocks[own] = detail::make_row_block(matrix, impl_->partition, rank, host);
    devices.communicator->wait(rank);
    const ExchangeLists lists = lists_of(blocks, impl_->partition, rank);
    DevicePart& part = impl_->parts[own] = facts_of(blocks[own], lists, impl_->partition, rank);
    part.device = devices.communicator->name(rank);
    devices.communicator->wait(rank);
    const Device device = devices.rank(rank, part.first_row, matrix.rows);
    LocalMatrix<T> local(std::move(blocks[own]), options, detail::alone(device));
    add_plans(local, part);
    impl_->products[own] = devices.links != nullptr ? cuda::make_peer_product(std::move(local), lists, device)
                                                    : detail::make_copied_product(std::move(local), lists, device);
  });
}

template <class T>
DistributedMatrix<T>::~DistributedMatrix() = default;
template <class T>
DistributedMatrix<T>::DistributedMatrix(DistributedMatrix&&) noexcept = default;
template <class T>
DistributedMatrix<T>& DistributedMatrix<T>::operator=(DistributedMatrix&&) noexcept = default;

template <class T>
index_t DistributedMatrix<T>::rows() const noexcept {
  return impl_->partition.rows();
}
template <class T>
offset_t DistributedMatrix<T>::nnz() const noexcept {
  return impl_->nnz;
}
template <class T>
const DeviceGroup& DistributedMatrix<T>::group() const noexcept {
  return impl_->group;
}
template <class T>
const Partition& DistributedMatrix<T>::partition() const noexcept {
  return impl_->partition;
}
template <class T>
const std::vector<DevicePart>& DistributedMatrix<T>::parts() const noexcept {
  return impl_->parts;
}
template <class T>
std::uint64_t DistributedMatrix<T>::memory_bytes() const noexcept {
  std::uint64_t total = 0;
  for (const DevicePart& part : impl_->parts) total += part.memory_bytes;
  return total;
}

template <class T>
void DistributedMatrix<T>::apply(std::span<const T> x, std::span<T> y) const {
  check_vector<T>("x", x.size(), rows());
  check_vector<T>("y", y.size(), rows());
  impl_->group.impl()->run([&](int rank) {
    const DistributedProduct<T>& product = impl_->product(rank);
    LocalVector<const T> from(x.subspan(impl_->first(rank), impl_->count(rank)), product.device());
    LocalVector<T> to(y.subspan(impl_->first(rank), impl_->count(rank)), product.device());
    product.LinearOperator<T>::apply(from.span(), to.span());
    detail::require_answers(product.device());
    to.bring_back();
  });
}

template <class T>
SolveReport cg(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options) {
  check_vector<T>("b", b.size(), A.rows());
  check_vector<T>("x", x.size(), A.rows());
  SolveReport result;
  A.impl().group.impl()->run([&](int rank) {
    const DistributedProduct<T>& product = A.impl().product(rank);
    const Device device = product.device();
    SolverOptions own = options;
    if (rank != 0) {
      own.observer = {};
      own.keep_history = false;
    }
    const Stopwatch uploading;
    LocalVector<const T> local_b(b.subspan(A.impl().first(rank), A.impl().count(rank)), device);
    LocalVector<T> local_x(x.subspan(A.impl().first(rank), A.impl().count(rank)), device);
    const double upload_ms = uploading.milliseconds();
    const Stopwatch preparing;
    const std::unique_ptr<FusedOperator<T>> preconditioner = make_local(M, product);
    const double preconditioner_ms = preparing.milliseconds();
    SolveReport report;
    try {
      report = cg<T>(product, *preconditioner, local_b.span(), local_x.span(), own);
    } catch (...) {
      local_x.bring_back();
      throw;
    }
    const Stopwatch downloading;
    local_x.bring_back();
    if (rank != 0) return;
    report.timings.upload_ms = upload_ms;
    report.timings.preconditioner_ms = preconditioner_ms;
    report.timings.download_ms = downloading.milliseconds();
    result = std::move(report);
  });
  return result;
}

template class DistributedMatrix<double>;
template SolveReport cg(const DistributedMatrix<double>&, GroupPreconditioner, std::span<const double>,
                        std::span<double>, const SolverOptions&);

}  // namespace tessera
