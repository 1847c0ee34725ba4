/// MatMult of PETSc's aij and of aijtessera, in turn, in one run: rounds of a batch of products of each. Wall-clock
/// time is that of the slowest process; processor time, summed over the threads of the first process, is what a busy
/// machine disturbs least. Medians, least times and their ratios. Every process forms the whole matrix and keeps its
/// rows.
///
///   mpiexec -n 2 bench_petsc_mult poisson3d:100 -dll_prepend build/release/lib/libtessera-petsc.so
///   bench_petsc_mult cnr-2000.mtx.gz -rounds 60 -batch_ms 30 -mat_tessera_threads 1 -dll_prepend ...
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <petscmat.h>
#include <petsctime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace {

[[nodiscard]] tessera::Csr<double> load(const std::string& name) {
  using namespace tessera;
  if (name.find(".mtx") != std::string::npos) return read_matrix_market<double>(name).matrix;
  return generate<double>(parse_generator(name), ValueStorage::weighted);
}

/// The rows of this process as MATAIJ; a pattern gets ones.
PetscErrorCode distribute(const tessera::Csr<double>& matrix, Mat* a) {
  PetscFunctionBegin;
  PetscInt rows = PETSC_DECIDE;
  PetscInt all_rows = matrix.rows();
  PetscInt cols = PETSC_DECIDE;
  PetscInt all_cols = matrix.cols();
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &all_rows));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &cols, &all_cols));
  PetscInt end = 0;
  PetscCallMPI(MPI_Scan(&rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  const auto* first = matrix.row_offsets().begin() + (end - rows);
  std::vector<PetscInt> offsets;
  for (PetscInt i = 0; i <= rows; ++i) offsets.push_back(static_cast<PetscInt>(first[i] - first[0]));
  const std::vector<PetscInt> columns(matrix.columns().begin() + first[0], matrix.columns().begin() + first[rows]);
  std::vector<PetscScalar> values(columns.size(), 1.0);
  if (!matrix.is_pattern()) std::copy_n(matrix.values().begin() + first[0], values.size(), values.begin());
  PetscCall(MatCreate(PETSC_COMM_WORLD, a));
  PetscCall(MatSetSizes(*a, rows, cols, all_rows, all_cols));
  PetscCall(MatSetType(*a, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*a, offsets.data(), columns.data(), values.data()));
  PetscCall(MatMPIAIJSetPreallocationCSR(*a, offsets.data(), columns.data(), values.data()));
  PetscFunctionReturn(PetscErrorCode{});
}

/// Per product, in milliseconds.
struct Times {
  std::vector<double> wall;
  std::vector<double> processor;
};

PetscErrorCode time_products(Mat a, Vec x, Vec y, PetscInt count, Times* times) {
  const auto processor_ms = [] { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  PetscFunctionBegin;
  PetscLogDouble begin = 0;
  PetscLogDouble end = 0;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  const double processor = processor_ms();
  PetscCall(PetscTime(&begin));
  for (PetscInt k = 0; k < count; ++k) PetscCall(MatMult(a, x, y));
  PetscCall(PetscTime(&end));
  times->processor.push_back((processor_ms() - processor) / static_cast<double>(count));
  const double own = 1e3 * (end - begin) / static_cast<double>(count);
  double wall = 0.0;
  PetscCallMPI(MPI_Allreduce(&own, &wall, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  times->wall.push_back(wall);
  PetscFunctionReturn(PetscErrorCode{});
}

PetscErrorCode report(const char* what, std::vector<double> aij, std::vector<double> ours) {
  PetscFunctionBegin;
  for (auto* each : {&aij, &ours}) std::sort(each->begin(), each->end());
  const std::size_t middle = aij.size() / 2;
  PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "  %-14s aij %9.4f ms (least %9.4f), aijtessera %9.4f ms (least %9.4f), ratio %.3f (least %.3f)\n",
                  what, aij[middle], aij[0], ours[middle], ours[0], ours[middle] / aij[middle], ours[0] / aij[0]));
  PetscFunctionReturn(PetscErrorCode{});
}

PetscErrorCode compare(const std::string& name, Mat aij) {
  PetscFunctionBegin;
  PetscInt rounds = 40;
  PetscReal batch_ms = 20.0;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-rounds", &rounds, nullptr));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-batch_ms", &batch_ms, nullptr));
  std::array<Mat, 2> matrices{aij, nullptr};
  PetscCall(MatConvert(aij, "aijtessera", MAT_INITIAL_MATRIX, &matrices[1]));
  Vec x = nullptr;
  Vec y = nullptr;
  PetscCall(MatCreateVecs(aij, &x, &y));
  PetscCall(VecSetRandom(x, nullptr));
  Times warming;
  for (int round = 0; round < 3; ++round) {
    for (Mat each : matrices) PetscCall(time_products(each, x, y, 2, &warming));
  }
  const double ms = *std::min_element(warming.wall.begin(), warming.wall.end());
  const PetscInt count = std::max<PetscInt>(1, static_cast<PetscInt>(batch_ms / ms));
  std::array<Times, 2> times;
  for (PetscInt round = 0; round < rounds; ++round) {
    // Whoever goes first changes from round to round.
    for (std::size_t turn = 0; turn < 2; ++turn) {
      const std::size_t k = (turn + static_cast<std::size_t>(round)) % 2;
      PetscCall(time_products(matrices[k], x, y, count, &times[k]));
    }
  }
  PetscMPIInt processes = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &processes));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d processes, %d rounds of %d products\n", name.c_str(), processes,
                        static_cast<int>(rounds), static_cast<int>(count)));
  PetscCall(report("wall clock", times[0].wall, times[1].wall));
  PetscCall(report("processor time", times[0].processor, times[1].processor));
  PetscCall(MatViewFromOptions(matrices[1], nullptr, "-kernel_view"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&matrices[1]));
  PetscFunctionReturn(PetscErrorCode{});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string name = argv[1];
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  try {
    Mat aij = nullptr;
    PetscCall(distribute(load(name), &aij));
    PetscCall(compare(name.substr(name.rfind('/') + 1), aij));
    PetscCall(MatDestroy(&aij));
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "bench_petsc_mult: %s\n", error.what());
    return 1;
  }
  PetscCall(PetscFinalize());
  return 0;
}
