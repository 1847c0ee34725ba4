/// \file
/// Outlook on layouts: in which layouts a kernel on a GPU could keep a matrix, which it takes, and why not the others.
/// Told on the host from all of the matrix, by the rules of the kernels themselves.
#pragma once

#include "spmv/common/value_dictionary.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::detail {

struct LayoutOutlook {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  std::string layout;              ///< "row templates"
  bool qualifies = false;          ///< the matrix does
  bool taken = false;              ///< the kernel takes this one
  double bytes_per_nonzero = 0.0;  ///< of the matrix that a product reads; where it qualifies
  std::string reason;              ///< of one that is taken, as the reason of a plan has it; else why (not)
};

/// What all values of a matrix allow.
struct ValueFacts {
  int distinct = 0;         ///< values of the dictionary; 0: more than it holds, or a pattern
  offset_t not_floats = 0;  ///< values that single precision does not hold exactly
};
/// O(nnz). \param threads of the host
template <class T>
[[nodiscard]] ValueFacts value_facts(const CsrView<T>& a, const Device& threads);

/// "more than 255 different values".
[[nodiscard]] std::string why_no_dictionary();
/// "it holds 12 of 30 values exactly".
[[nodiscard]] std::string why_single_precision(const ValueFacts& facts, offset_t nnz);

/// Layouts of `patterns`, one alone where its rows do not repeat; none for a matrix without nonzeros.
/// O(nnz log of the longest row). \param a on the host \param threads of the host
template <class T>
[[nodiscard]] std::vector<LayoutOutlook> outlook_on_patterns(const CsrView<T>& a, const ValueFacts& facts,
                                                             const Device& threads);

/// Layouts of `sell`. O(nnz). \param multiprocessors of the GPU, which small matrices feel; 0: rows are sorted in the
/// largest windows
template <class T>
[[nodiscard]] std::vector<LayoutOutlook> outlook_on_sell(const CsrView<T>& a, const ValueFacts& facts,
                                                         int multiprocessors = 0);

/// The layout of `tiles`. \param fill of its tiles of 8 x 8, above 0
template <class T>
[[nodiscard]] LayoutOutlook outlook_on_tiles(const CsrView<T>& a, double fill);

}  // namespace tessera::detail
