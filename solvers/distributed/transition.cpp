/// Transition matrices on several devices: their vertices shared out.
#include "solvers/distributed/transition.hpp"

#include "solvers/distributed/product.hpp"
#include "solvers/distributed/transition_block.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace tessera {

namespace {

/// \throws InvalidArgument
template <class T>
Partition fitting(const DeviceGroup& group, const TransitionMatrix<T>& transition, Partition partition) {
  if (partition.parts() == group.size() && partition.rows() == transition.vertices()) return partition;
  throw InvalidArgument(fmt::format("a partition of {} rows into {} parts does not fit {} vertices on {} devices",
                                    partition.rows(), partition.parts(), transition.vertices(), group.size()));
}

/// \throws InvalidArgument
template <class T>
const TransitionMatrix<T>& on_host(const TransitionMatrix<T>& transition) {
  if (transition.device().is_host()) return transition;
  throw InvalidArgument(
      fmt::format("the transition matrix of several devices is handed over on the host; this one "
                  "lies on {}",
                  transition.device().name()));
}

template <class T>
DevicePart facts_of(const detail::TransitionBlock<T>& block, const detail::ExchangeLists& lists,
                    const Partition& partition, int rank) {
  DevicePart part;
  part.first_row = partition.first_row(rank);
  part.rows = partition.rows_of(rank);
  part.nnz = block.in_links.nnz();
  part.halo_nnz = block.halo_nnz;
  part.boundary_rows = block.boundary_rows;
  detail::describe_halo(lists, part);
  return part;
}

SpmvOptions rank_options(const SpmvOptions& options, const Device& alone) {
  SpmvOptions result = detail::options_of_rank(options, alone);
  result.rank_products = true;
  return result;
}

}  // namespace

namespace detail {

template <class T>
TransitionPart<T>::TransitionPart(Csr<T> in_links, ExchangeLists lists, const TransitionMatrix<T>& transition,
                                  index_t first, const SpmvOptions& options, const Device& device)
    : device_(device),
      plan_(std::move(in_links), rank_options(options, alone(device))),
      lists_(std::move(lists)),
      halo_(lists_, plan_.rows(), device) {
  const auto begin = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(plan_.rows());
  inverse_out_weight_ = Array<T>::copy_of(transition.inverse_out_weight().subspan(begin, count), alone(device));
  out_degree_ = Array<index_t>::copy_of(transition.out_degree().subspan(begin, count), alone(device));
}

template <class T>
RankOperands<T> TransitionPart<T>::operands() noexcept {
  return {.device = device_,
          .home = alone(device_),
          .inverse_out_weight = inverse_out_weight_.span(),
          .out_degree = out_degree_.span(),
          .elements = plan_.cols(),
          .halo = this};
}

template <class T>
void TransitionPart<T>::fetch(std::span<T> y) {
  const auto own = static_cast<std::size_t>(plan_.rows());
  halo_.fetch(y.first(own), y.subspan(own));
}

template <class T>
std::uint64_t TransitionPart<T>::bytes() const {
  const CsrView<T> a = plan_.matrix();
  return plan_.info().bytes + a.row_offsets.size_bytes() + a.columns.size_bytes() + a.values.size_bytes() +
         halo_.bytes() + inverse_out_weight_.bytes() + out_degree_.bytes();
}

}  // namespace detail

template <class T>
DistributedTransitionMatrix<T>::DistributedTransitionMatrix(const DeviceGroup& group,
                                                            const TransitionMatrix<T>& transition,
                                                            const SpmvOptions& options)
    : DistributedTransitionMatrix(
          group, transition, Partition::by_nonzeros(on_host(transition).in_links()->view(), group.size()), options) {}

template <class T>
DistributedTransitionMatrix<T>::DistributedTransitionMatrix(const DeviceGroup& group,
                                                            const TransitionMatrix<T>& transition, Partition partition,
                                                            const SpmvOptions& options)
    : impl_(new Impl{.group = group,
                     .partition = fitting(group, on_host(transition), std::move(partition)),
                     .edges = transition.edges(),
                     .dangling = static_cast<index_t>(transition.dangling().size())}) {
  const DeviceGroup::Impl& devices = *group.impl();
  const auto size = static_cast<std::size_t>(group.size());
  impl_->parts.resize(size);
  impl_->of_rank.resize(size);
  std::vector<detail::TransitionBlock<T>> blocks(size);
  const CsrView<T> in_links = transition.in_links()->view();
  const Device host = detail::share_of_host(group.size());
  devices.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    blocks[own] = detail::make_transition_block(in_links, impl_->partition, rank, host);
    devices.communicator->wait(rank);
    detail::ExchangeLists lists = detail::lists_of(blocks, impl_->partition, rank);
    DevicePart& part = impl_->parts[own] = facts_of(blocks[own], lists, impl_->partition, rank);
    part.device = devices.communicator->name(rank);
    devices.communicator->wait(rank);
    impl_->of_rank[own] = std::make_unique<detail::TransitionPart<T>>(
        std::move(blocks[own].in_links), std::move(lists), transition, part.first_row, options,
        devices.rank(rank, part.first_row, transition.vertices()));
    const detail::TransitionPart<T>& made = *impl_->of_rank[own];
    part.kernel = to_string(made.plan().info().algorithm);
    part.reason = made.plan().info().reason;
    part.memory_bytes = made.bytes();
  });
}

template <class T>
DistributedTransitionMatrix<T>::~DistributedTransitionMatrix() = default;
template <class T>
DistributedTransitionMatrix<T>::DistributedTransitionMatrix(DistributedTransitionMatrix&&) noexcept = default;
template <class T>
DistributedTransitionMatrix<T>& DistributedTransitionMatrix<T>::operator=(DistributedTransitionMatrix&&) noexcept =
    default;

template <class T>
index_t DistributedTransitionMatrix<T>::vertices() const noexcept {
  return impl_->partition.rows();
}
template <class T>
offset_t DistributedTransitionMatrix<T>::edges() const noexcept {
  return impl_->edges;
}
template <class T>
const DeviceGroup& DistributedTransitionMatrix<T>::group() const noexcept {
  return impl_->group;
}
template <class T>
const Partition& DistributedTransitionMatrix<T>::partition() const noexcept {
  return impl_->partition;
}
template <class T>
const std::vector<DevicePart>& DistributedTransitionMatrix<T>::parts() const noexcept {
  return impl_->parts;
}
template <class T>
std::uint64_t DistributedTransitionMatrix<T>::memory_bytes() const noexcept {
  std::uint64_t total = 0;
  for (const DevicePart& part : impl_->parts) total += part.memory_bytes;
  return total;
}

template class detail::TransitionPart<float>;
template class detail::TransitionPart<double>;
template class DistributedTransitionMatrix<float>;
template class DistributedTransitionMatrix<double>;

}  // namespace tessera
