/// \file
/// Memory of measured choices (tessera/measured_choices.hpp), for all threads of the process.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <optional>
#include <string>

namespace tessera::detail {

struct MeasuredChoice {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  bool is_automatic = false;  ///< the kernel of `automatic`, made as `automatic` makes it
  std::string reason;         ///< after the word "measured"
};

/// Of what a choice depends on: version, device, options, sizes and hash of the matrix. O(nnz)
template <class T>
[[nodiscard]] std::string choice_key(const CsrView<T>& a, const SpmvOptions& options);

[[nodiscard]] std::optional<MeasuredChoice> recall_choice(const std::string& key);

/// Beyond 4096 choices the oldest are forgotten.
void remember_choice(std::string key, MeasuredChoice choice);

void forget_choice(const std::string& key);

}  // namespace tessera::detail
