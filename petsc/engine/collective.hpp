/// \file
/// Errors that all processes have to agree on, and handles of PETSc that free themselves.
#pragma once

#include "tessera/error.hpp"

#include <petscksp.h>

#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera::petsc {

static_assert(std::is_same_v<PetscScalar, double>, "PETSc has to be built with real numbers in double precision");

/// A call of PETSc or MPI failed in this process, and nobody knows where the others are.
class PetscFailure : public Error {
 public:
  using Error::Error;
};

/// What PETSc's error handler heard last. \throws PetscFailure where the code is not 0
void check(PetscErrorCode code);
void check_mpi(int code);
/// Lets PETSc tell its errors to check() instead of printing them.
void catch_petsc_errors();

/// Sets an option of PETSc unless PETSC_OPTIONS or a file has set it.
void set_default(const char* option, const std::string& value);

[[nodiscard]] int process_count(MPI_Comm comm);
[[nodiscard]] int process_number(MPI_Comm comm);

/// Rows [begin, end) of a process.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};
/// As PETSc divides n rows among processes.
[[nodiscard]] RowRange rows_of_process(MPI_Comm comm, std::int64_t n);

template <class T>
[[nodiscard]] T sum_over(MPI_Comm comm, T value, MPI_Datatype type) {
  T sum{};
  check_mpi(MPI_Allreduce(&value, &sum, 1, type, MPI_SUM, comm));
  return sum;
}
[[nodiscard]] inline std::int64_t sum_over(MPI_Comm comm, std::int64_t value) {
  return sum_over(comm, value, MPI_INT64_T);
}
template <class T>
[[nodiscard]] T largest_of(MPI_Comm comm, T value, MPI_Datatype type) {
  T largest{};
  check_mpi(MPI_Allreduce(&value, &largest, 1, type, MPI_MAX, comm));
  return largest;
}
/// Sum over the processes before this one.
[[nodiscard]] std::int64_t sum_before(MPI_Comm comm, std::int64_t value);

/// Where a process caught an exception, all throw that of the lowest process. Collective.
/// \param caught by this process; may be empty
void throw_together(MPI_Comm comm, const std::exception_ptr& caught);

/// Runs `work`, which communicates with nobody; where it throws in a process, all throw. Collective.
template <class Work>
void together(MPI_Comm comm, const Work& work) {
  std::exception_ptr fault;
  try {
    work();
  } catch (...) {
    fault = std::current_exception();
  }
  throw_together(comm, fault);
}

/// An object of PETSc that is destroyed with this.
template <class Handle, PetscErrorCode (*destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { static_cast<void>(destroy(&handle_)); }

  [[nodiscard]] Handle get() const noexcept { return handle_; }
  /// For a function that creates the object.
  [[nodiscard]] Handle* out() noexcept { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

using OwnedMat = Owned<Mat, MatDestroy>;
using OwnedVec = Owned<Vec, VecDestroy>;
using OwnedKsp = Owned<KSP, KSPDestroy>;
using OwnedScatter = Owned<VecScatter, VecScatterDestroy>;

}  // namespace tessera::petsc
