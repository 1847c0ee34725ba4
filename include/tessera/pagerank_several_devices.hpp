/// \file
/// PageRank on several devices of one machine: the vertices are shared out, every device iterates on its own, and
/// together they rank as one device does.
#pragma once

#include "tessera/pagerank.hpp"
#include "tessera/several_devices.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera {

/// A transition matrix whose vertices lie on the devices of a group. A device holds the in-links of its vertices, and
/// of other vertices, by which a product reads them, the ranks that it needs: all of another device's where that is
/// most of them, which then travel in one piece.
template <class T>
class DistributedTransitionMatrix {
 public:
  /// Vertices with about equally many in-links to every device. O(vertices + edges), and bytes of one index per vertex
  /// and device beside the result.
  /// \param transition on the host; not needed afterwards
  /// \param options device and transpose do not count \throws InvalidArgument where the transition matrix lies on a
  /// GPU, where a partition has other sizes than group and graph, or there are more devices than vertices; otherwise as
  /// SpmvPlan
  DistributedTransitionMatrix(const DeviceGroup& group, const TransitionMatrix<T>& transition,
                              const SpmvOptions& options = {});
  DistributedTransitionMatrix(const DeviceGroup& group, const TransitionMatrix<T>& transition, Partition partition,
                              const SpmvOptions& options = {});
  ~DistributedTransitionMatrix();
  DistributedTransitionMatrix(DistributedTransitionMatrix&&) noexcept;
  DistributedTransitionMatrix& operator=(DistributedTransitionMatrix&&) noexcept;

  [[nodiscard]] index_t vertices() const noexcept;
  [[nodiscard]] offset_t edges() const noexcept;
  [[nodiscard]] const DeviceGroup& group() const noexcept;
  [[nodiscard]] const Partition& partition() const noexcept;
  /// Rows are in-links; halo_kernel is empty: one product has all columns.
  [[nodiscard]] const std::vector<DevicePart>& parts() const noexcept;
  /// Of all devices.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  struct Impl;  ///< of the library
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// pagerank() on several devices. Every device runs the loop of one device on its vertices; sums are added in the order
/// of the devices, so ranks are equal from run to run, and to those of one device within rounding. On GPUs that reach
/// each other's memory, and where the kernel of every part has fused iterations, the host hears of them every few
/// milliseconds; elsewhere it drives the loop. The observer is called on the calling thread.
/// \param options personalization on the host; spmv does not count: the plans are made
/// \returns the result of pagerank() with ranks on the host; `plan` is that of the first device
/// \throws as pagerank(); DeviceFailure naming a device that failed
template <class T>
[[nodiscard]] PageRankResult<T> pagerank(const DistributedTransitionMatrix<T>& transition,
                                         const PageRankOptions& options = {});

extern template class DistributedTransitionMatrix<float>;
extern template class DistributedTransitionMatrix<double>;
extern template PageRankResult<float> pagerank(const DistributedTransitionMatrix<float>&, const PageRankOptions&);
extern template PageRankResult<double> pagerank(const DistributedTransitionMatrix<double>&, const PageRankOptions&);

}  // namespace tessera
