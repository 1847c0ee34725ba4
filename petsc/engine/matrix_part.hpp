/// \file
/// The entries that a process reads or makes of a distributed matrix, and the matrix that PETSc assembles of them.
#pragma once

#include "petsc/engine/collective.hpp"
#include "petsc/engine/engine.hpp"

#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::petsc {

/// 0-based entries of any rows; the parts of all processes are the matrix.
struct MatrixPart {
  MatrixMarketHeader header;  ///< sizes of the whole matrix; of a file all that its header says
  offset_t duplicates = 0;    ///< merged when the file was written
  std::vector<PetscInt> rows;
  std::vector<PetscInt> columns;
  std::vector<PetscScalar> values;

  void add(std::int64_t row, std::int64_t column, double value) {
    rows.push_back(static_cast<PetscInt>(row));
    columns.push_back(static_cast<PetscInt>(column));
    values.push_back(value);
  }
};

/// An equal share of the bytes of a coordinate file, cut at ends of lines.
/// \throws in all processes: IoError; InvalidMatrix "file:line:column: ..." for the first malformed line of the file;
///         InvalidArgument for a compressed file
[[nodiscard]] MatrixPart read_matrix_market_part(MPI_Comm comm, const std::string& path);

/// The rows of this process from a binary file. The checksum of the file is verified by all processes together.
/// \throws in all processes: IoError; InvalidMatrix; InvalidArgument for a file of tiles
[[nodiscard]] MatrixPart read_binary_part(MPI_Comm comm, const std::string& path);

/// The rows of this process of a model problem on a grid of n points a side. \throws InvalidArgument for its size
[[nodiscard]] MatrixPart make_grid_part(MPI_Comm comm, MatrixSource source, std::int64_t n);

struct DistributedMatrix {
  OwnedMat matrix;
  offset_t duplicates = 0;
};

/// Entries go to the processes of their rows; repeated ones are summed. The matrix has the type aijtessera. Collective.
/// \throws InvalidMatrix where entries repeat and `duplicates` refuses them
[[nodiscard]] DistributedMatrix assemble(MPI_Comm comm, MatrixPart part, Duplicates duplicates,
                                         const std::string& name);

/// Sizes, row lengths, symmetry and diagonal. Symmetry is told from sums of 64-bit hashes of (i, j, a_ij) and of
/// (j, i, a_ij), which are equal for a symmetric matrix and for another one with probability 2^-64. Collective.
[[nodiscard]] MatrixStatistics facts_of(MPI_Comm comm, Mat matrix);

/// Whether A times ones is 0 up to the rounding of its sums, and A is not. \param image A times ones. Collective.
[[nodiscard]] bool is_rounding(MPI_Comm comm, Mat matrix, Vec image);

}  // namespace tessera::petsc
