/// \file
/// Rows in parts between which few elements cross, by METIS, which is loaded at run time where it is installed.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/ordering.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/types.hpp"

#include <string>
#include <vector>

namespace tessera {

/// Rows of a matrix, those of a part together.
struct GroupedRows {
  std::vector<index_t> order;  ///< the row of the matrix that stands at a position, for permuted()
  Partition partition;         ///< of the permuted matrix
};

/// What of METIS this process can load.
struct MetisSurvey {
  std::string library;  ///< "libmetis.so.5"; empty where there is none
  int index_bits = 0;   ///< of its numbers
  std::string problem;  ///< why there is none
};
[[nodiscard]] MetisSurvey survey_metis();

/// Parts of about equally many nonzeros, a row counted as one more, as Partition::by_nonzeros, with a small halo:
/// multilevel k-way partition of the graph of A + Aᵀ with few edges cut (G. Karypis, V. Kumar, J. Parallel Distrib.
/// Comput. 48(1), 1998; METIS_PartGraphKway with its own options. Its objective of the least volume, which is the halo,
/// gave none smaller on the whole: docs/scale.md). Every part has a row; METIS lets the heaviest one be 3 % heavier
/// than the mean, and heavier where rows are. One thread, O(nnz); the same parts from run to run, by METIS's own seed,
/// unless other threads call rand() meanwhile. METIS catches SIGTERM and SIGABRT of the process while it runs, and ends
/// with an error then. The environment variable TESSERA_METIS_LIBRARY names the library where it is another than
/// libmetis.so.5 or libmetis.so.
/// \param matrix square, on the host \param parts 1 to the number of rows
/// \param inside numbering of the rows of a part: that of ordering(matrix, inside)
/// \throws NotSupported where METIS cannot be loaded, where its numbers are neither of 32 nor of 64 bits, and for more
/// entries than they count; DimensionError for a matrix that is not square; InvalidArgument for other parts;
/// OutOfMemory; Error for what METIS reports else
template <class T>
[[nodiscard]] GroupedRows metis_partition(const CsrView<T>& matrix, int parts, Ordering inside = Ordering::natural);

extern template GroupedRows metis_partition(const CsrView<float>&, int, Ordering);
extern template GroupedRows metis_partition(const CsrView<double>&, int, Ordering);

}  // namespace tessera
