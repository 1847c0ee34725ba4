/// \file
/// What the types of the plug-in share: their names, log events, threads, and exceptions as PETSc errors.
#pragma once

#include "tessera/device.hpp"

#include <petscmat.h>
#include <petscsys.h>

#include <type_traits>

#if PETSC_VERSION_LT(3, 18, 0)
#error "tessera-petsc needs PETSc 3.18 or newer"
#endif
#if defined(PETSC_USE_COMPLEX)
#error "tessera-petsc needs a PETSc of real numbers: this one was configured with complex ones"
#endif

namespace tessera::petsc {

static_assert(std::is_same_v<PetscScalar, double> || std::is_same_v<PetscScalar, float>,
              "tessera-petsc needs a PETSc in double or single precision");

inline constexpr PetscErrorCode success{};

inline constexpr const char* seq_aij_type = "seqaijtessera";
inline constexpr const char* mpi_aij_type = "mpiaijtessera";
inline constexpr const char* aij_type = "aijtessera";  ///< one of both, by the size of the communicator
inline constexpr const char* pc_type = "tessera";

/// Work that PETSc's own events do not tell apart; shown by -log_view.
struct Events {
  PetscLogEvent plan = -1;       ///< TesseraPlan: kernel and descriptors for a new structure
  PetscLogEvent values = -1;     ///< TesseraValues: new values for a kernel that keeps copies
  PetscLogEvent transpose = -1;  ///< TesseraTransp: a matrix and its values transposed
  PetscLogEvent symbolic = -1;   ///< TesseraSpGEMMSym
  PetscLogEvent numeric = -1;    ///< TesseraSpGEMMNum
};
inline Events events;

/// Threads of a matrix or preconditioner: those of `option`, else this process's share of the CPUs that it may use.
[[nodiscard]] PetscErrorCode get_host(PetscObject object, const char* option, Device* host);

/// Raises the exception that is being handled as a PETSc error with its message.
[[nodiscard]] PetscErrorCode raise_current_exception();

/// Runs code that may throw, and calls no function of PETSc.
template <class Body>
[[nodiscard]] PetscErrorCode guarded(const Body& body) {
  try {
    body();
    return success;
  } catch (...) {
    return raise_current_exception();
  }
}

/// Registration of the types, after MPI_Init().
[[nodiscard]] PetscErrorCode register_seq_aij();
[[nodiscard]] PetscErrorCode register_mpi_aij();
[[nodiscard]] PetscErrorCode register_pc();

/// Conversions of MATSEQAIJ to seqaijtessera and back, as PETSc calls them.
PetscErrorCode convert_seq_aij(Mat a, MatType type, MatReuse reuse, Mat* converted);
PetscErrorCode convert_seq_aij_back(Mat a, MatType type, MatReuse reuse, Mat* converted);
/// What both kinds of conversions share: `convert` works in place. \param converted as MatConvert() has it
[[nodiscard]] PetscErrorCode convert_by(Mat a, MatReuse reuse, Mat* converted, PetscErrorCode (*convert)(Mat));

/// Symbolic phase by our SpGEMM of C, a MATPRODUCT_AB or MATPRODUCT_PtAP of sequential matrices.
PetscErrorCode product_symbolic(Mat c);

}  // namespace tessera::petsc
