// write_matrix MATRIX FILE [petsc options]: a generated matrix, "poisson3d:12", or a Matrix Market file, written by
// PETSc's MatView().
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <petscmat.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

PetscErrorCode write(const tessera::Csr<double>& matrix, const char* path) {
  PetscFunctionBegin;
  const std::vector<PetscInt> offsets(matrix.row_offsets().begin(), matrix.row_offsets().end());
  const std::vector<PetscInt> columns(matrix.columns().begin(), matrix.columns().end());
  const std::vector<PetscScalar> values(matrix.values().begin(), matrix.values().end());
  Mat a = nullptr;
  PetscViewer viewer = nullptr;
  PetscCall(MatCreate(PETSC_COMM_SELF, &a));
  PetscCall(MatSetSizes(a, matrix.rows(), matrix.cols(), matrix.rows(), matrix.cols()));
  PetscCall(MatSetType(a, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(a, offsets.data(), columns.data(), values.data()));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, path, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(a, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PetscErrorCode{});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string name = argv[1];
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  try {
    const bool is_file = name.find(".mtx") != std::string::npos;
    const tessera::Csr<double> matrix =
        is_file ? tessera::read_matrix_market<double>(name).matrix
                : tessera::generate<double>(tessera::parse_generator(name), tessera::ValueStorage::weighted);
    PetscCall(write(matrix, argv[2]));
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "write_matrix: %s\n", error.what());
    return 1;
  }
  PetscCall(PetscFinalize());
  return 0;
}
