/// \file
/// What `automatic` does.
#pragma once

#include "tessera/spmv.hpp"

#include <string>

namespace tessera {

/// A kernel and the sentence that says why.
struct SpmvSelection {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  std::string reason;
};

/// Chooses from the row lengths and options.expected_applications, as bench/NOTES.md measured: rows that together read
/// x several times go to MERBIT, a row too long for one thread to MERGE, all else to CSR. The number of threads plays
/// no part: the choice, and with it every bit of the results, is the same on all machines. CSR5 is taken by name only:
/// on the host it reads copies as large as the matrix (1.4 times the time of csr, Poisson 1000 x 1000, double, two
/// threads). O(rows). On a GPU long rows of like length go to CSR_VECTOR, the rest goes by expected_applications.
/// \param a where options.device is
/// \throws NotSupported where no kernel on the GPU keeps the class asked for
template <class T>
[[nodiscard]] SpmvSelection select_spmv_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace tessera
