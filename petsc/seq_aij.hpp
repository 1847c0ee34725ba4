/// \file
/// Arrays of a MATSEQAIJ, in place.
#pragma once

#include "tessera/adopt_csr.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <petscmat.h>

#include <cstddef>
#include <span>

namespace tessera::petsc {

/// What has to stay as it is for a plan to stay valid. Values are not part of it, but the place where they lie.
struct StructureKey {
  PetscObjectState nonzero_state = -1;
  PetscInt rows = -1;
  PetscInt cols = -1;
  const PetscInt* offsets = nullptr;
  const PetscInt* columns = nullptr;
  const PetscScalar* values = nullptr;

  friend bool operator==(const StructureKey&, const StructureKey&) = default;
};

/// An assembled matrix as its owner sees it now.
struct SeqAijArrays {
  StructureKey key;
  PetscObjectState state = -1;  ///< grows with every change of values
  std::span<const PetscInt> offsets;
  std::span<const PetscInt> columns;
  std::span<const PetscScalar> values;

  /// The matrix on these arrays, which outlive it.
  [[nodiscard]] Csr<PetscScalar> borrow(const Device& host, Check check) const {
    return adopt_csr<PetscScalar>(key.rows, key.cols, offsets, columns, values,
                                  {.device = host, .owner = nullptr, .check = check});
  }
};

/// \param a MATSEQAIJ or a type derived from it, assembled
[[nodiscard]] PetscErrorCode get_arrays(Mat a, SeqAijArrays* arrays);

}  // namespace tessera::petsc
