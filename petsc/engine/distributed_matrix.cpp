// Model problems by rows, assembly, and the statistics of a distributed matrix.
#include "core/random.hpp"
#include "io/stencil_matrix.hpp"
#include "petsc/engine/matrix_part.hpp"
#include "petsc/plugin.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

namespace tessera::petsc {

namespace {

using io::StencilPoint;

/// Points in ascending order of columns, as the generators have them.
[[nodiscard]] std::vector<StencilPoint> stencil_of(MatrixSource source) {
  std::vector<StencilPoint> stencil = io::star_stencil(source == MatrixSource::poisson2d ? 2 : 3);
  if (source != MatrixSource::convdiff) return stencil;
  // Upwind, cell Peclet numbers 1, 0.5, 0.25: the flow comes from the lower sides.
  for (StencilPoint& p : stencil) {
    if (p.dx < 0) p.value = -2.0;
    if (p.dy < 0) p.value = -1.5;
    if (p.dz < 0) p.value = -1.25;
    if (p.dx == 0 && p.dy == 0 && p.dz == 0) p.value = 7.75;
  }
  return stencil;
}

}  // namespace

MatrixPart make_grid_part(MPI_Comm comm, MatrixSource source, std::int64_t n) {
  const bool is_flat = source == MatrixSource::poisson2d;
  const std::int64_t most = is_flat ? io::max_square_side : io::max_cube_side;
  if (n < 1 || n > most) throw InvalidArgument(fmt::format("a grid of {} points a side: 1 to {}", n, most));
  const std::int64_t depth = is_flat ? 1 : n;
  MatrixPart part;
  part.header.rows = part.header.cols = n * n * depth;
  const std::vector<StencilPoint> stencil = stencil_of(source);
  together(comm, [&] {
    const RowRange range = rows_of_process(comm, part.header.rows);
    const auto is_inside = [](std::int64_t i, std::int64_t side) { return i >= 0 && i < side; };
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const std::int64_t x = row % n;
      const std::int64_t y = row / n % n;
      const std::int64_t z = row / (n * n);
      for (const StencilPoint& p : stencil) {
        if (!is_inside(x + p.dx, n) || !is_inside(y + p.dy, n) || !is_inside(z + p.dz, depth)) continue;
        part.add(row, row + p.dx + n * (p.dy + n * p.dz), p.value);
      }
    }
  });
  return part;
}

namespace {

/// Repeated entries of a pattern count once.
void set_to_ones(Mat block) {
  MatInfo info;
  PetscScalar* values = nullptr;
  check(MatGetInfo(block, MAT_LOCAL, &info));
  check(MatSeqAIJGetArray(block, &values));
  std::fill_n(values, static_cast<std::size_t>(info.nz_used), 1.0);
  check(MatSeqAIJRestoreArray(block, &values));
}

void set_all_to_ones(MPI_Comm comm, Mat matrix) {
  if (process_count(comm) == 1) return set_to_ones(matrix);
  Mat diagonal = nullptr;
  Mat off_diagonal = nullptr;
  check(MatMPIAIJGetSeqAIJ(matrix, &diagonal, &off_diagonal, nullptr));
  set_to_ones(diagonal);
  set_to_ones(off_diagonal);
}

}  // namespace

DistributedMatrix assemble(MPI_Comm comm, MatrixPart part, Duplicates duplicates, const std::string& name) {
  DistributedMatrix result;
  const auto rows = static_cast<PetscInt>(part.header.rows);
  const auto entries = static_cast<PetscCount>(part.values.size());
  check(MatCreate(comm, result.matrix.out()));
  check(MatSetSizes(result.matrix.get(), PETSC_DECIDE, PETSC_DECIDE, rows, static_cast<PetscInt>(part.header.cols)));
  check(MatSetType(result.matrix.get(), MATAIJ));
  check(MatSetPreallocationCOO(result.matrix.get(), entries, part.rows.data(), part.columns.data()));
  check(MatSetValuesCOO(result.matrix.get(), part.values.data(), ADD_VALUES));
  if (part.header.field == MatrixMarketField::pattern) set_all_to_ones(comm, result.matrix.get());
  // PETSc makes new blocks of the entries, so the type follows them.
  check(MatConvert(result.matrix.get(), process_count(comm) == 1 ? seq_aij_type : mpi_aij_type, MAT_INPLACE_MATRIX,
                   result.matrix.out()));
  MatInfo info;
  check(MatGetInfo(result.matrix.get(), MAT_GLOBAL_SUM, &info));
  const std::int64_t given = sum_over(comm, static_cast<std::int64_t>(entries));
  result.duplicates = given - static_cast<std::int64_t>(info.nz_used) + part.duplicates;
  if (result.duplicates > 0 && duplicates == Duplicates::error) {
    throw InvalidMatrix(fmt::format("{}: {} entries repeat a position", name, result.duplicates));
  }
  return result;
}

namespace {

/// Sums of hashes whose total over all processes is 0 where the property holds, but for a chance of 2^-64.
struct SymmetrySums {
  std::uint64_t structural = 0;
  std::uint64_t numerical = 0;
  std::uint64_t skew = 0;
};

[[nodiscard]] std::uint64_t mixed(std::uint64_t hash, std::uint64_t bits) {
  return tessera::detail::SplitMix64(hash ^ bits).next();
}

void add_entry(SymmetrySums& sums, PetscInt i, PetscInt j, double value) {
  const auto positions = [](PetscInt from, PetscInt to) {
    return mixed(mixed(1, static_cast<std::uint64_t>(from)), static_cast<std::uint64_t>(to));
  };
  const std::uint64_t here = positions(i, j);
  const std::uint64_t mirrored = positions(j, i);
  // 0 and -0 are the same number.
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number == 0.0 ? 0.0 : number); };
  sums.structural += here - mirrored;
  sums.numerical += mixed(here, bits(value)) - mixed(mirrored, bits(value));
  sums.skew += mixed(here, bits(value)) - mixed(mirrored, bits(-value));
}

[[nodiscard]] Symmetry symmetry_of(MPI_Comm comm, const SymmetrySums& sums, bool has_values) {
  const auto vanishes = [&](std::uint64_t sum) { return sum_over(comm, sum, MPI_UINT64_T) == 0; };
  const bool is_structural = vanishes(sums.structural);
  const bool is_numerical = vanishes(sums.numerical);
  const bool is_skew = vanishes(sums.skew);
  if (is_numerical) return Symmetry::numerical;
  if (is_skew && has_values) return Symmetry::skew;
  return is_structural ? Symmetry::structural : Symmetry::none;
}

/// Gini coefficient of the lengths of all rows: 2 Σ i l_i / (n Σ l_i) - (n + 1) / n over the lengths in their order.
[[nodiscard]] double gini_of(MPI_Comm comm, const std::map<std::int64_t, std::int64_t>& rows_by_length,
                             const MatrixStatistics& facts) {
  std::vector<std::int64_t> mine;
  for (const auto& [length, count] : rows_by_length) mine.insert(mine.end(), {length, count});
  const auto size = static_cast<int>(mine.size());
  std::vector<int> sizes(static_cast<std::size_t>(process_count(comm)));
  check_mpi(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm));
  std::vector<int> offsets;
  int total = 0;
  for (const int each : sizes) {
    offsets.push_back(total);
    total += each;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  check_mpi(
      MPI_Allgatherv(mine.data(), size, MPI_INT64_T, all.data(), sizes.data(), offsets.data(), MPI_INT64_T, comm));
  std::map<std::int64_t, std::int64_t> joined;
  for (std::size_t k = 0; k + 1 < all.size(); k += 2) joined[all[k]] += all[k + 1];
  if (facts.nnz == 0) return 0.0;
  double weighted = 0.0;
  double before = 0.0;
  for (const auto& [length, count] : joined) {
    const auto rows = static_cast<double>(count);
    weighted += static_cast<double>(length) * (rows * before + rows * (rows + 1.0) / 2.0);
    before += rows;
  }
  const auto n = static_cast<double>(facts.rows);
  return 2.0 * weighted / (n * static_cast<double>(facts.nnz)) - (n + 1.0) / n;
}

/// Of the rows of this process; what is a sum or a largest value is joined later.
void add_row(MatrixStatistics& facts, PetscInt row, PetscInt length, const PetscInt* columns, const PetscScalar* values,
             SymmetrySums& sums) {
  facts.nnz += length;
  facts.max_row_nnz = std::max<offset_t>(facts.max_row_nnz, length);
  facts.empty_rows += length == 0 ? 1 : 0;
  bool has_diagonal = false;
  for (PetscInt k = 0; k < length; ++k) {
    const bool is_finite = std::isfinite(values[k]);
    facts.explicit_zeros += values[k] == 0.0 ? 1 : 0;
    facts.not_finite += is_finite ? 0 : 1;
    add_entry(sums, row, columns[k], values[k]);
    if (columns[k] != row) continue;
    has_diagonal = true;
    facts.diagonal_zero += values[k] == 0.0 ? 1 : 0;
    facts.diagonal_negative += values[k] < 0.0 ? 1 : 0;
    facts.diagonal_not_finite += is_finite ? 0 : 1;
  }
  facts.diagonal_missing += has_diagonal ? 0 : 1;
}

}  // namespace

MatrixStatistics facts_of(MPI_Comm comm, Mat matrix) {
  MatrixStatistics facts;
  SymmetrySums sums;
  std::map<std::int64_t, std::int64_t> rows_by_length;
  PetscInt begin = 0;
  PetscInt end = 0;
  check(MatGetOwnershipRange(matrix, &begin, &end));
  for (PetscInt row = begin; row < end; ++row) {
    PetscInt length = 0;
    const PetscInt* columns = nullptr;
    const PetscScalar* values = nullptr;
    check(MatGetRow(matrix, row, &length, &columns, &values));
    add_row(facts, row, length, columns, values, sums);
    ++rows_by_length[length];
    check(MatRestoreRow(matrix, row, &length, &columns, &values));
  }
  PetscInt rows = 0;
  PetscInt cols = 0;
  check(MatGetSize(matrix, &rows, &cols));
  facts.rows = rows;
  facts.cols = cols;
  facts.max_row_nnz = largest_of(comm, facts.max_row_nnz, MPI_INT64_T);
  for (offset_t* sum : {&facts.nnz, &facts.explicit_zeros, &facts.not_finite}) *sum = sum_over(comm, *sum);
  for (index_t* sum : {&facts.empty_rows, &facts.diagonal_missing, &facts.diagonal_zero, &facts.diagonal_negative,
                       &facts.diagonal_not_finite}) {
    *sum = sum_over(comm, *sum, MPI_INT32_T);
  }
  facts.mean_row_nnz = rows == 0 ? 0.0 : static_cast<double>(facts.nnz) / rows;
  facts.gini_row_nnz = gini_of(comm, rows_by_length, facts);
  facts.symmetry = rows == cols ? symmetry_of(comm, sums, facts.nnz > facts.explicit_zeros) : Symmetry::none;
  return facts;
}

bool is_rounding(MPI_Comm comm, Mat matrix, Vec image) {
  PetscInt begin = 0;
  PetscInt end = 0;
  check(MatGetOwnershipRange(matrix, &begin, &end));
  const PetscScalar* sums = nullptr;
  check(VecGetArrayRead(image, &sums));
  int is_small = 1;
  int is_zero = 1;
  for (PetscInt row = begin; row < end; ++row) {
    PetscInt length = 0;
    const PetscScalar* values = nullptr;
    check(MatGetRow(matrix, row, &length, nullptr, &values));
    double magnitude = 0.0;
    for (PetscInt k = 0; k < length; ++k) magnitude += std::fabs(values[k]);
    const double rounding = length * std::numeric_limits<double>::epsilon() * magnitude;
    if (!(std::fabs(sums[row - begin]) <= rounding)) is_small = 0;
    if (magnitude != 0.0) is_zero = 0;
    check(MatRestoreRow(matrix, row, &length, nullptr, &values));
  }
  check(VecRestoreArrayRead(image, &sums));
  int all[2] = {is_small, is_zero};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, comm));
  return all[0] == 1 && all[1] == 0;
}

}  // namespace tessera::petsc
