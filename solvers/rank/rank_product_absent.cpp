/// \file
/// Stands in for the fused steps of PageRank where the CUDA backend is not built.
#include "solvers/rank/rank_product.hpp"

namespace tessera {

template <class T>
std::unique_ptr<RankProduct<T>> make_rank_product(const Device& /*device*/, const SpmvKernel<T>& /*kernel*/,
                                                  const CsrView<T>& /*a*/, int /*vectors*/) {
  return nullptr;
}

template std::unique_ptr<RankProduct<float>> make_rank_product(const Device&, const SpmvKernel<float>&,
                                                               const CsrView<float>&, int);
template std::unique_ptr<RankProduct<double>> make_rank_product(const Device&, const SpmvKernel<double>&,
                                                                const CsrView<double>&, int);

}  // namespace tessera
