/// Against Eigen's own conversions and products, and what is shared by comparing addresses. Run under the address
/// sanitizer too: lifetimes are half of what is tested here.

#include "tessera/eigen.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tessera {
namespace {

template <class T, int Order, class Index>
using Sparse = Eigen::SparseMatrix<T, Order, Index>;

/// 4 x 5 with an empty row, an empty column and a stored zero.
template <class Matrix>
Matrix example() {
  using Entry = Eigen::Triplet<typename Matrix::Scalar, typename Matrix::StorageIndex>;
  const std::vector<Entry> entries{{0, 4, 1}, {0, 1, 2}, {1, 0, -3}, {3, 2, 4}, {3, 1, 0}, {3, 4, 6}};
  Matrix a(4, 5);
  a.setFromTriplets(entries.begin(), entries.end());
  return a;
}

template <class T>
Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> dense(const Csr<T>& a) {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> result(a.rows(), a.cols());
  result.setZero();
  for (index_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      result(i, a.columns()[k]) += a.view().value(k);
    }
  }
  return result;
}

template <class Matrix>
class FromEigen : public ::testing::Test {};

using Matrices =
    ::testing::Types<Sparse<double, Eigen::RowMajor, int>, Sparse<double, Eigen::ColMajor, int>,
                     Sparse<float, Eigen::RowMajor, std::int64_t>, Sparse<float, Eigen::ColMajor, std::int64_t>,
                     Sparse<double, Eigen::RowMajor, short>, Sparse<double, Eigen::ColMajor, short>>;
TYPED_TEST_SUITE(FromEigen, Matrices);

TYPED_TEST(FromEigen, EveryWayGivesTheSameEntries) {
  const TypeParam a = example<TypeParam>();
  const auto expected = a.toDense().eval();
  const auto same = [&](const auto& matrix) {
    validate(matrix.view());
    EXPECT_EQ(matrix.nnz(), 6);  // the zero stays
    EXPECT_EQ(dense(matrix), expected);
  };
  same(from_eigen(a));
  same(borrow_eigen(a));
  TypeParam given = a;
  same(from_eigen(std::move(given)));
  const Eigen::Map<const TypeParam> map(a.rows(), a.cols(), a.nonZeros(), a.outerIndexPtr(), a.innerIndexPtr(),
                                        a.valuePtr());
  same(from_eigen(map));
  same(borrow_eigen(map));
  const auto transposed = borrow_eigen_transposed(a);
  validate(transposed.view());
  EXPECT_EQ(dense(transposed), expected.transpose());
}

TYPED_TEST(FromEigen, Uncompressed) {
  TypeParam a = example<TypeParam>();
  a.uncompress();
  a.reserve(Eigen::VectorXi::Constant(a.outerSize(), 3));
  a.insert(2, 3) = 9;
  ASSERT_FALSE(a.isCompressed());
  const auto expected = a.toDense().eval();
  EXPECT_EQ(dense(from_eigen(a)), expected);
  EXPECT_EQ(dense(borrow_eigen(a)), expected);
  EXPECT_EQ(dense(borrow_eigen_transposed(a)), expected.transpose());
  EXPECT_FALSE(a.isCompressed());  // the caller's matrix is left as it was
  EXPECT_EQ(from_eigen(a).nnz(), 7);
  EXPECT_EQ(dense(from_eigen(std::move(a))), expected);
}

TYPED_TEST(FromEigen, EmptyMatrices) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, std::pair{0, 3}, std::pair{3, 0}, std::pair{2, 2}}) {
    const TypeParam a(rows, cols);
    for (const auto& matrix : {&a}) {
      EXPECT_EQ(from_eigen(*matrix).rows(), rows);
      EXPECT_EQ(from_eigen(*matrix).cols(), cols);
      EXPECT_EQ(from_eigen(*matrix).nnz(), 0);
      EXPECT_EQ(borrow_eigen(*matrix).cols(), cols);
      EXPECT_EQ(borrow_eigen_transposed(*matrix).rows(), cols);
      EXPECT_EQ(from_eigen(TypeParam(*matrix)).rows(), rows);
    }
  }
  EXPECT_EQ(from_eigen(TypeParam()).nnz(), 0);
}

TEST(FromEigen, SharesWhatHasTheSameWidth) {
  const auto narrow = example<Sparse<double, Eigen::RowMajor, int>>();
  const auto a = borrow_eigen(narrow);
  EXPECT_EQ(a.values().data(), narrow.valuePtr());
  EXPECT_EQ(a.columns().data(), narrow.innerIndexPtr());
  const auto wide = example<Sparse<double, Eigen::RowMajor, std::int64_t>>();
  const auto b = borrow_eigen(wide);
  EXPECT_EQ(b.values().data(), wide.valuePtr());
  EXPECT_EQ(static_cast<const void*>(b.row_offsets().data()), static_cast<const void*>(wide.outerIndexPtr()));
  const auto by_column = example<Sparse<float, Eigen::ColMajor, int>>();
  const auto c = borrow_eigen_transposed(by_column);
  EXPECT_EQ(c.values().data(), by_column.valuePtr());
  EXPECT_EQ(c.columns().data(), by_column.innerIndexPtr());
  // Copies share nothing.
  EXPECT_NE(from_eigen(narrow).values().data(), narrow.valuePtr());
  EXPECT_NE(borrow_eigen(by_column).values().data(), by_column.valuePtr());
}

TEST(FromEigen, ATakenMatrixLivesInsideTheResult) {
  Csr<double> a;
  const double* values = nullptr;
  {
    auto given = example<Sparse<double, Eigen::RowMajor, int>>();
    values = given.valuePtr();
    a = from_eigen(std::move(given));
  }
  EXPECT_EQ(a.values().data(), values);
  const SpmvPlan<double> plan(std::move(a));
  std::vector<double> y(4);
  plan.apply(std::vector<double>{1, 2, 3, 4, 5}, y);
  EXPECT_EQ(y, (std::vector<double>{2 * 2 + 5, -3, 0, 4 * 3 + 6 * 5}));
}

TEST(FromEigen, APlanNeverWritesIntoABorrowedMatrix) {
  const auto a = example<Sparse<double, Eigen::RowMajor, int>>();
  const std::vector<double> before(a.valuePtr(), a.valuePtr() + a.nonZeros());
  SpmvPlan<double> plan(borrow_eigen(a));
  plan.update_values(std::vector<double>(6, 1.0));
  EXPECT_EQ(std::vector<double>(a.valuePtr(), a.valuePtr() + a.nonZeros()), before);
}

TEST(FromEigen, BadMatricesAreRefused) {
  // Mapped memory may hold what a SparseMatrix never would.
  const int offsets[] = {0, 2, 2};
  const double values[] = {1, 2};
  const auto mapped = [&](const int* columns) {
    return Eigen::Map<const Sparse<double, Eigen::RowMajor, int>>(2, 3, 2, offsets, columns, values);
  };
  const int unsorted[] = {2, 0};
  const int repeated[] = {1, 1};
  const int outside[] = {1, 3};
  for (const int* columns : {unsorted, repeated, outside}) {
    EXPECT_THROW(static_cast<void>(from_eigen(mapped(columns))), InvalidMatrix);
    EXPECT_THROW(static_cast<void>(borrow_eigen(mapped(columns))), InvalidMatrix);
    EXPECT_THROW(static_cast<void>(borrow_eigen_transposed(mapped(columns))), InvalidMatrix);
  }
  // A column that would fit only after losing its upper half.
  const std::int64_t wide_offsets[] = {0, 1};
  const std::int64_t wide_column[] = {(std::int64_t{1} << 32) + 1};
  const Eigen::Map<const Sparse<double, Eigen::RowMajor, std::int64_t>> wide(1, 3, 1, wide_offsets, wide_column,
                                                                             values);
  EXPECT_THROW(static_cast<void>(from_eigen(wide)), InvalidMatrix);
  const Eigen::Map<const Sparse<double, Eigen::RowMajor, std::int64_t>> huge(1, std::int64_t{1} << 31, 0, wide_offsets,
                                                                             wide_column, values);
  EXPECT_THROW(static_cast<void>(from_eigen(huge)), InvalidMatrix);
}

TEST(ToEigen, RoundTrip) {
  const auto a = generate<double>(parse_generator("web:3000"));
  testing::expect_identical(from_eigen(to_eigen(a.view())).view(), a.view());
  testing::expect_identical(from_eigen(to_eigen<std::int64_t>(a.view())).view(), a.view());
  const auto many = generate<double>(parse_generator("band:300"));  // 60 000 nonzeros
  EXPECT_THROW(static_cast<void>(to_eigen<short>(many.view())), InvalidArgument);
  const Csr<double> empty;
  EXPECT_EQ(to_eigen(empty.view()).rows(), 0);
}

TEST(ToEigen, MapsShareColumnsAndValues) {
  const auto a = generate<double>(parse_generator("web:3000"));
  const EigenMap<double> map = eigen_map(a.view());
  EXPECT_EQ(map->valuePtr(), a.values().data());
  EXPECT_EQ(map->innerIndexPtr(), a.columns().data());
  const Eigen::VectorXd x = Eigen::VectorXd::Random(a.cols());
  Eigen::VectorXd y(a.rows());
  SpmvOptions kernel;
  kernel.algorithm = SpmvAlgorithm::csr;
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()), kernel);
  plan.apply(as_span(x), as_span(y));
  const Eigen::VectorXd expected = *map * x;
  // Two sums of the same terms in different orders: each is off by at most nnz(row) * 2^-53 * Σ|a x|.
  const Eigen::VectorXd bound = (*map).cwiseAbs() * x.cwiseAbs() * (2.0 * 300 * 0x1p-53);
  EXPECT_TRUE(((y - expected).cwiseAbs().array() <= bound.array()).all());
}

TEST(ToEigen, PatternsHaveOnes) {
  const auto graph = generate<float>(parse_generator("powerlaw:256"));
  const EigenMap<float> map = eigen_map(graph.view());
  EXPECT_EQ(map->sum(), static_cast<float>(graph.nnz()));
  EXPECT_EQ(to_eigen(graph.view()).sum(), static_cast<float>(graph.nnz()));
}

TEST(EigenVectors, ShareMemory) {
  Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(4, 1, 4);
  as_span(v)[2] = 7;
  EXPECT_EQ(v[2], 7);
  std::vector<float> w(20, 2);
  as_eigen(std::span<float>(w)) *= 3;
  EXPECT_EQ(w[19], 6);
  const std::vector<double> c{3, 4};
  EXPECT_EQ(as_eigen(std::span<const double>(c)).norm(), 5);
  EXPECT_EQ(as_span(Eigen::VectorXd()).size(), 0U);
}

TEST(EigenVectors, SolversTakeThem) {
  const auto assembled = to_eigen(poisson2d<double>(20, 20).view());
  const SpmvPlan<double> plan(borrow_eigen(assembled));
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(400);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(400);
  const JacobiPreconditioner<double> jacobi(plan.matrix());
  EXPECT_TRUE(cg<double>(plan, jacobi, as_span(b), as_span(x)).converged());
  EXPECT_LE((b - assembled * x).norm(), 1e-7 * b.norm());
}

}  // namespace
}  // namespace tessera
