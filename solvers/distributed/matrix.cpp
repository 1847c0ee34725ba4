/// Matrices on several devices, and their products.
#include "solvers/distributed/matrix.hpp"

#include "solvers/distributed/local_vector.hpp"

#include <fmt/format.h>

#include <algorithm>
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

template <class T>
DevicePart facts_of(const RowBlock<T>& block, const ExchangeLists& lists, const Partition& partition, int rank) {
  DevicePart part;
  part.first_row = partition.first_row(rank);
  part.rows = partition.rows_of(rank);
  part.halo_nnz = block.off_diagonal.nnz();
  part.nnz = block.diagonal.nnz() + part.halo_nnz;
  part.boundary_rows = static_cast<index_t>(block.boundary_rows.size());
  detail::describe_halo(lists, part);
  return part;
}

template <class T>
void add_plans(const LocalMatrix<T>& local, DevicePart& part) {
  part.kernel = to_string(local.diagonal.info().algorithm);
  part.reason = local.diagonal.info().reason;
  if (local.off_diagonal) part.halo_kernel = to_string(local.off_diagonal->info().algorithm);
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
  const Device host = detail::share_of_host(group.size());
  devices.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    blocks[own] = detail::make_row_block(matrix, impl_->partition, rank, host);
    devices.communicator->wait(rank);
    const ExchangeLists lists = detail::lists_of(blocks, impl_->partition, rank);
    DevicePart& part = impl_->parts[own] = facts_of(blocks[own], lists, impl_->partition, rank);
    part.device = devices.communicator->name(rank);
    devices.communicator->wait(rank);
    const Device device = devices.rank(rank, part.first_row, matrix.rows);
    LocalMatrix<T> local(std::move(blocks[own]), options, detail::alone(device));
    add_plans(local, part);
    impl_->products[own] = devices.links != nullptr ? cuda::make_peer_product(std::move(local), lists, device)
                                                    : detail::make_copied_product(std::move(local), lists, device);
    part.memory_bytes = impl_->products[own]->bytes();
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
  detail::check_vector<T>("x", x.size(), rows());
  detail::check_vector<T>("y", y.size(), rows());
  impl_->group.impl()->run([&](int rank) {
    const DistributedProduct<T>& product = impl_->product(rank);
    detail::LocalVector<const T> from(x.subspan(impl_->first(rank), impl_->count(rank)), product.device());
    detail::LocalVector<T> to(y.subspan(impl_->first(rank), impl_->count(rank)), product.device());
    product.LinearOperator<T>::apply(from.span(), to.span());
    detail::require_answers(product.device());
    to.bring_back();
  });
}

template class DistributedMatrix<float>;
template class DistributedMatrix<double>;

}  // namespace tessera
