/// \file
/// PageRank's fused product on several GPUs: how an iteration ends there. A capability of RankProducts, beside that of
/// one GPU (rank_product.hpp).
#pragma once

#include "spmv/common/pagerank_iteration.hpp"

namespace tessera::detail {

/// Ends the iterations of one rank: hands the new ranks of its vertices to others, takes theirs, sums over all.
class RankExchange {
 public:
  RankExchange() = default;
  RankExchange(const RankExchange&) = delete;
  RankExchange& operator=(const RankExchange&) = delete;
  virtual ~RankExchange() = default;

  /// After a product whose sums over the own vertices lie in *own, on the device: puts finish_iteration() with those
  /// over all vertices into the stream. Neither allocates nor waits, and may be captured.
  virtual void enqueue_end(const RankRules& rules, RankState* state, const RankSums* own) = 0;
  /// Returns once all ranks have recorded their iterations: until then none may wait for another in a kernel.
  virtual void wait_for_recordings() = 0;
};

/// What a RankProduct of one vector is that can leave the end of its iterations to an exchange.
class EndsByExchange {
 public:
  EndsByExchange() = default;
  EndsByExchange(const EndsByExchange&) = delete;
  EndsByExchange& operator=(const EndsByExchange&) = delete;

  /// Before the first iteration. \param exchange outlives this
  void end_by(RankExchange& exchange) noexcept { exchange_ = &exchange; }

 protected:
  ~EndsByExchange() = default;
  [[nodiscard]] RankExchange* exchange() const noexcept { return exchange_; }

 private:
  RankExchange* exchange_ = nullptr;
};

}  // namespace tessera::detail
