/// \file
/// The right factors of optimized-esc-spgemm.txt, §4: interpolation of a smoothed aggregation.
#pragma once

#include "tessera/csr.hpp"

namespace tessera::bench {

/// P = (I - ω D⁻¹ A) T, ω = 2/3, for an A without empty rows and with a diagonal. T has a column an aggregate: the
/// roots are a maximal set of points that are more than two edges apart (MIS-2), taken in the order of the rows;
/// neighbours of a root are of its aggregate, and points between roots of that of their first neighbour in one.
[[nodiscard]] Csr<double> smoothed_interpolation(const Csr<double>& a);

}  // namespace tessera::bench
