/// \file
/// PageRank of one graph again and again, on a GPU: with the graph on the host or in the memory of the GPU, by the
/// function or by a solver that keeps its vectors.
#pragma once

#include "bench/report.hpp"
#include "tessera/context.hpp"

namespace tessera::bench {

/// R-MAT graph of 2^scale vertices and 16 draws of an edge per vertex. \param rounds samples of each way
[[nodiscard]] Json measure_ranks(const Context& context, int scale, int rounds);

}  // namespace tessera::bench
