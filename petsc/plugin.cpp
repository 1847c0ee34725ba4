// The plug-in as PETSc loads it: -dll_prepend libtessera-petsc.so registers the types, events and threads.
#include "plugin.hpp"

#include "tessera/error.hpp"

#include <petsc/private/petscimpl.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <vector>

namespace tessera::petsc {

namespace {

/// Threads of this process where no option says otherwise.
int default_threads = 1;

/// Processes of one node share its CPUs, unless mpiexec has bound them to different ones: the threads that this process
/// might have, over the number of processes whose CPUs overlap with its own. OMP_NUM_THREADS is for each process.
[[nodiscard]] PetscErrorCode find_default_threads(MPI_Comm comm) {
  PetscFunctionBegin;
  default_threads = default_host_threads().count;
  if (std::getenv("OMP_NUM_THREADS") != nullptr) PetscFunctionReturn(success);
  MPI_Comm node = MPI_COMM_NULL;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscMPIInt size = 1;
  PetscCallMPI(MPI_Comm_size(node, &size));
  cpu_set_t own;
  CPU_ZERO(&own);
  const bool known = sched_getaffinity(0, sizeof(own), &own) == 0;
  std::vector<cpu_set_t> all(static_cast<std::size_t>(size), own);
  PetscCallMPI(MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, node));
  PetscCallMPI(MPI_Comm_free(&node));
  const auto sharing = static_cast<int>(std::count_if(all.begin(), all.end(), [&own](const cpu_set_t& other) {
    cpu_set_t common;
    CPU_AND(&common, &own, &other);
    return CPU_COUNT(&common) > 0;
  }));
  default_threads = std::max(1, default_threads / (known ? std::max(1, sharing) : size));
  PetscFunctionReturn(success);
}

[[nodiscard]] PetscErrorCode register_events() {
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("TesseraPlan", MAT_CLASSID, &events.plan));
  PetscCall(PetscLogEventRegister("TesseraValues", MAT_CLASSID, &events.values));
  PetscCall(PetscLogEventRegister("TesseraTransp", MAT_CLASSID, &events.transpose));
  PetscCall(PetscLogEventRegister("TesseraSpGEMMSym", MAT_CLASSID, &events.symbolic));
  PetscCall(PetscLogEventRegister("TesseraSpGEMMNum", MAT_CLASSID, &events.numeric));
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode get_host(PetscObject object, const char* option, Device* host) {
  PetscFunctionBegin;
  PetscInt threads = default_threads;
  PetscCall(PetscOptionsGetInt(object->options, object->prefix, option, &threads, nullptr));
  PetscCheck(threads >= 1 && threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%s %" PetscInt_FMT ": expected a number of threads in [1, 4096]", option, threads);
  PetscCall(guarded([&] { *host = Device::host(static_cast<int>(threads)); }));
  PetscFunctionReturn(success);
}

PetscErrorCode raise_current_exception() {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "%s", error.what());
  } catch (const std::bad_alloc& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "%s", error.what());
  } catch (const DimensionError& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s", error.what());
  } catch (const SingularMatrix& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "%s", error.what());
  } catch (const InvalidMatrix& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s", error.what());
  } catch (const InvalidArgument& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s", error.what());
  } catch (const NotSupported& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s", error.what());
  } catch (const std::exception& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", error.what());
  }
}

}  // namespace tessera::petsc

/// Registers what the library offers; called by PETSc, again after each PetscInitialize().
extern "C" [[gnu::visibility("default")]] PetscErrorCode PetscDLLibraryRegister_tessera_petsc() {
  using namespace tessera::petsc;
  PetscFunctionBegin;
  PetscCall(find_default_threads(PETSC_COMM_WORLD));
  PetscCall(register_seq_aij());
  PetscCall(register_mpi_aij());
  PetscCall(register_pc());
  PetscCall(register_events());
  PetscFunctionReturn(success);
}

// PETSc looks for PetscDLLibraryRegister_ and the name of the file without lib and suffix, which is no identifier.
asm(".globl \"PetscDLLibraryRegister_tessera-petsc\"\n"
    ".set \"PetscDLLibraryRegister_tessera-petsc\", PetscDLLibraryRegister_tessera_petsc\n");
