/// \file
/// PageRank as it is written by hand: cuSPARSE's product with the weighted transition matrix, then one pass of one's
/// own that updates the ranks and sums. Rank of vertices without out-links goes to all vertices alike.
#pragma once

#include "bench/hand_written_kernels.hpp"
#include "bench/pinned_value.hpp"
#include "bench/vendor_product.hpp"
#include "tessera/pagerank.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::bench {

class HandWrittenPageRank {
 public:
  /// Copies the graph to the GPU, makes the values 1 / out-degree there and prepares the product.
  /// \param transition without weights \throws NotSupported, OutOfMemory, CudaError
  HandWrittenPageRank(const TransitionMatrix<double>& transition, const Device& device);

  /// Steps from uniform ranks. \param check_every steps from one change brought to the host to the next
  /// \returns milliseconds from the first step to the last change on the host
  double run(double damping, std::int64_t iterations, int check_every);

  /// \returns the ranks, on the host
  [[nodiscard]] std::vector<double> ranks() const;

  [[nodiscard]] double upload_ms() const noexcept { return upload_ms_; }
  /// Values, narrow offsets and cuSPARSE's preparation; median of three.
  [[nodiscard]] double setup_ms() const noexcept { return setup_ms_; }

 private:
  void set_up();
  void start();

  Device device_;
  std::int64_t n_;
  double upload_ms_ = 0.0;
  double setup_ms_ = 0.0;
  std::unique_ptr<const Csr<double>> in_links_;
  Array<double> out_inverse_;
  Array<std::int32_t> offsets_;
  Array<double> values_;
  std::unique_ptr<const VendorProduct> product_;
  VendorVector ranks_;
  VendorVector next_;
  Array<RankStepSums> partial_;
  Array<RankStepSums> sums_;
  PinnedValue<RankStepSums> on_host_;
};

}  // namespace tessera::bench
