/// \file
/// Distributed transition matrices inside: a plan, vectors and the halo per rank.
#pragma once

#include "solvers/distributed/copied_halo.hpp"
#include "solvers/distributed/group.hpp"
#include "solvers/pagerank_operands.hpp"
#include "tessera/pagerank_several_devices.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera {

namespace detail {

/// The vertices of one rank.
template <class T>
class TransitionPart final : private RankHalo<T> {
 public:
  /// Made by all ranks at once. \param in_links own vertices x (own vertices, halo) \param first of them
  /// \param device of the rank
  TransitionPart(Csr<T> in_links, ExchangeLists lists, const TransitionMatrix<T>& transition, index_t first,
                 const SpmvOptions& options, const Device& device);

  [[nodiscard]] const SpmvPlan<T>& plan() const noexcept { return plan_; }
  [[nodiscard]] const ExchangeLists& lists() const noexcept { return lists_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] RankOperands<T> operands() noexcept;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  void fetch(std::span<T> y) override;
  void release() override { halo_.release(); }

  Device device_;
  SpmvPlan<T> plan_;
  ExchangeLists lists_;
  CopiedHalo<T> halo_;
  Array<T> inverse_out_weight_;
  Array<index_t> out_degree_;
};

}  // namespace detail

template <class T>
struct DistributedTransitionMatrix<T>::Impl {
  DeviceGroup group;
  Partition partition;
  offset_t edges = 0;
  index_t dangling = 0;
  std::vector<DevicePart> parts = {};
  std::vector<std::unique_ptr<detail::TransitionPart<T>>> of_rank = {};
};

}  // namespace tessera
