/// \file
/// Matrices and checks of the tests of the plug-in for PETSc. All processes run all tests, with the same assertions.
#pragma once

#include <gtest/gtest.h>
#include <petscmat.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tessera::test {

/// A call of PETSc that must succeed.
inline void ok(PetscErrorCode code) { ASSERT_EQ(static_cast<int>(code), 0); }

/// The message of PETSc's latest error.
[[nodiscard]] inline std::string last_message() {
  char* message = nullptr;
  PetscErrorMessage(PETSC_ERR_LIB, nullptr, &message);
  return message == nullptr ? "" : message;
}

/// Owns a Mat, Vec, KSP or PC.
template <class Object, PetscErrorCode (*destroy)(Object*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { destroy(&object_); }
  operator Object() const { return object_; }  // NOLINT(google-explicit-constructor)
  Object* operator&() { return &object_; }     // NOLINT(google-runtime-operator)

 private:
  Object object_ = nullptr;
};
using OwnedMat = Owned<Mat, MatDestroy>;
using OwnedVec = Owned<Vec, VecDestroy>;

/// An option of PETSc while it lives.
class Option {
 public:
  Option(std::string name, const char* value) : name_(std::move(name)) {
    PetscOptionsSetValue(nullptr, name_.c_str(), value);
  }
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;
  ~Option() { PetscOptionsClearValue(nullptr, name_.c_str()); }

 private:
  std::string name_;
};

/// A number in [-1, 1) that i, j and seed determine.
[[nodiscard]] inline double random_number(PetscInt i, PetscInt j, std::uint64_t seed) {
  std::uint64_t z = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(j) + seed;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z ^= z >> 27U;
  }
  return static_cast<double>(z >> 11U) * 0x1p-52 - 1.0;
}

/// Which entries a matrix has.
enum class Pattern { random, every_fourth_row, diagonal, hub_row, none };

struct MatrixSpec {
  PetscInt rows = 0;
  PetscInt cols = 0;
  Pattern pattern = Pattern::random;

  [[nodiscard]] bool has(PetscInt i, PetscInt j) const {
    const bool chosen = random_number(i, j, 1) > 0.7;
    if (pattern == Pattern::every_fourth_row) return i % 4 == 1 && chosen;
    if (pattern == Pattern::diagonal) return i == j;
    if (pattern == Pattern::hub_row) return i == rows / 2 || i == j;
    return pattern == Pattern::random && (chosen || i == j);
  }
};

/// Sets the entries of this process's rows and assembles. \param strengthen what is added to the diagonal
inline void fill(Mat a, const MatrixSpec& spec, std::uint64_t seed, double strengthen = 0.0) {
  PetscInt begin = 0;
  PetscInt end = 0;
  ok(MatGetOwnershipRange(a, &begin, &end));
  for (PetscInt i = begin; i < end; ++i) {
    for (PetscInt j = 0; j < spec.cols; ++j) {
      if (!spec.has(i, j)) continue;
      const double value = random_number(i, j, seed) + (i == j ? strengthen : 0.0);
      ok(MatSetValue(a, i, j, static_cast<PetscScalar>(value), INSERT_VALUES));
    }
  }
  ok(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
}

[[nodiscard]] inline OwnedMat make_matrix(MatType type, const MatrixSpec& spec, std::uint64_t seed = 2,
                                          double strengthen = 0.0, MPI_Comm comm = PETSC_COMM_WORLD) {
  OwnedMat a;
  ok(MatCreate(comm, &a));
  ok(MatSetSizes(a, PETSC_DECIDE, PETSC_DECIDE, spec.rows, spec.cols));
  ok(MatSetType(a, type));
  ok(MatSetUp(a));
  fill(a, spec, seed, strengthen);
  return a;
}

inline void fill(Vec x, std::uint64_t seed) {
  PetscInt begin = 0;
  PetscInt end = 0;
  PetscScalar* entries = nullptr;
  ok(VecGetOwnershipRange(x, &begin, &end));
  ok(VecGetArrayWrite(x, &entries));
  for (PetscInt i = begin; i < end; ++i) entries[i - begin] = static_cast<PetscScalar>(random_number(i, 0, seed));
  ok(VecRestoreArrayWrite(x, &entries));
}

/// max |x - y|; \param y is overwritten
[[nodiscard]] inline double difference(Vec x, Vec y) {
  PetscReal norm = 0;
  ok(VecAXPY(y, -1.0, x));
  ok(VecNorm(y, NORM_INFINITY, &norm));
  return static_cast<double>(norm);
}

[[nodiscard]] inline PetscInt processes() {
  PetscMPIInt size = 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}

[[nodiscard]] inline std::string type_of(Mat a) {
  MatType type = nullptr;
  ok(MatGetType(a, &type));
  return type;
}

/// How often an event was logged so far.
[[nodiscard]] inline int event_count(const char* name) {
  PetscLogEvent event = -1;
  ok(PetscLogEventGetId(name, &event));
  PetscEventPerfInfo info{};
  ok(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  return info.count;
}

}  // namespace tessera::test
