/// \file
/// PETSc's binary files, as MatView() and VecView() write them and MatLoad() and VecLoad() read them; read_matrix()
/// (tessera/matrix_file.hpp) and read_vector() read them here.
#pragma once

#include "tessera/csr.hpp"

#include <filesystem>
#include <span>

namespace tessera {

/// Integers of the PETSc that shall read the file: those of its configuration (--with-64-bit-indices). `automatic`: 32
/// bits where the number of nonzeros, or of elements, fits them.
enum class PetscIndices { automatic, bits32, bits64 };

/// Writes a sparse matrix in double precision, the values of a pattern as 1. The file appears under its name only when
/// complete. \throws IoError; InvalidMatrix for NaN or infinity; InvalidArgument for a name that ends in ".gz" and for
/// more nonzeros than the indices hold
template <class T>
void write_petsc(const std::filesystem::path& path, const CsrView<T>& matrix,
                 PetscIndices indices = PetscIndices::automatic);

/// Writes a vector; as write_petsc().
template <class T>
void write_petsc_vector(const std::filesystem::path& path, std::span<const T> vector,
                        PetscIndices indices = PetscIndices::automatic);

}  // namespace tessera
