#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include "tests/support/adversarial.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

namespace tessera {

using namespace detail;
namespace {

using testing::from_dense;
using testing::make_csr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The same by looking every position up in a map, and norms and differences by Eigen.
template <class T>
void expect_details(const CsrView<T>& a, const MatrixDetails& d) {
  std::map<std::pair<index_t, index_t>, T> entries;
  MatrixDetails naive;
  for (index_t i = 0; i < a.rows; ++i) {
    const offset_t begin = a.row_offsets[static_cast<std::size_t>(i)];
    const offset_t end = a.row_offsets[static_cast<std::size_t>(i) + 1];
    for (offset_t k = begin; k < end; ++k) entries[{i, a.columns[static_cast<std::size_t>(k)]}] = a.value(k);
    if (begin < end) naive.profile += std::max(0, i - a.columns[static_cast<std::size_t>(begin)]);
    const offset_t length = end - begin;
    if (length > 32 && length * a.rows > 16 * a.nnz()) {
      ++naive.hub_rows;
      naive.hub_nnz += length;
    }
  }
  naive.min_abs = infinity;
  for (const auto& [place, value] : entries) {
    const auto [i, j] = place;
    const double size = std::fabs(static_cast<double>(value));
    naive.max_abs = std::max(naive.max_abs, size);
    if (size > 0) naive.min_abs = std::min(naive.min_abs, size);
    naive.negative += value < 0 ? 1 : 0;
    naive.ones += value == T{1} ? 1 : 0;
    naive.lower_bandwidth = std::max(naive.lower_bandwidth, offset_t{i} - j);
    naive.upper_bandwidth = std::max(naive.upper_bandwidth, offset_t{j} - i);
    if (i == j || !a.is_square()) continue;
    ++naive.off_diagonal;
    const auto mirror = entries.find({j, i});
    if (mirror == entries.end()) continue;
    ++naive.mirrored;
    naive.equal_pairs += mirror->second == value ? 1 : 0;
    naive.opposite_pairs += mirror->second == -value ? 1 : 0;
  }
  if (naive.max_abs == 0) naive.min_abs = 0;
  EXPECT_EQ(d.off_diagonal, naive.off_diagonal);
  EXPECT_EQ(d.mirrored, naive.mirrored);
  EXPECT_EQ(d.equal_pairs, naive.equal_pairs);
  EXPECT_EQ(d.opposite_pairs, naive.opposite_pairs);
  EXPECT_EQ(d.negative, naive.negative);
  EXPECT_EQ(d.ones, naive.ones);
  EXPECT_EQ(d.min_abs, naive.min_abs);
  EXPECT_EQ(d.max_abs, naive.max_abs);
  EXPECT_EQ(d.lower_bandwidth, naive.lower_bandwidth);
  EXPECT_EQ(d.upper_bandwidth, naive.upper_bandwidth);
  EXPECT_EQ(d.profile, naive.profile);
  EXPECT_EQ(d.hub_rows, naive.hub_rows);
  EXPECT_EQ(d.hub_nnz, naive.hub_nnz);

  const testing::EigenSparse<double> eigen = testing::to_eigen(a).template cast<double>();
  double norm_min = infinity;
  double norm_max = 0.0;
  index_t dominant = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    // With assertions on, Eigen refuses the norm of a row without columns.
    const double norm = a.cols == 0 ? 0.0 : eigen.row(i).norm();
    norm_max = std::max(norm_max, norm);
    if (norm > 0) norm_min = std::min(norm_min, norm);
    const double diagonal = i < a.cols ? std::fabs(eigen.coeff(i, i)) : 0.0;
    double others = 0.0;
    for (testing::EigenSparse<double>::InnerIterator entry(eigen, i); entry; ++entry) {
      if (entry.col() != i) others += std::fabs(entry.value());
    }
    dominant += i < a.cols && diagonal > others ? 1 : 0;
  }
  // A norm of n terms is good to about n/2 + 2 roundings; 1e-13 holds for the rows here.
  EXPECT_NEAR(d.row_norm_max, norm_max, 1e-13 * norm_max);
  EXPECT_NEAR(d.row_norm_min, norm_max > 0 ? norm_min : 0.0, 1e-13 * norm_max);
  EXPECT_EQ(d.strictly_dominant_rows, dominant);
  if (!a.is_square() || a.nnz() == 0) return;
  const testing::EigenSparse<double> mirrored = eigen.transpose();
  const testing::EigenSparse<double> difference = eigen - mirrored;
  double largest = 0.0;
  for (index_t i = 0; i < a.rows; ++i) {
    for (testing::EigenSparse<double>::InnerIterator entry(difference, i); entry; ++entry) {
      largest = std::max(largest, std::fabs(entry.value()));
    }
  }
  EXPECT_NEAR(d.asymmetry, largest / naive.max_abs, 1e-15 * (1 + d.asymmetry));
}

TEST(MatrixDetails, AdversarialMatrices) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<double>(storage, {672})) {
      SCOPED_TRACE(name);
      expect_details(matrix.view(), matrix_details(matrix.view(), Device::host(2)));
    }
  }
}

/// Random matrices whose entries have an equal, an opposite, another or no partner.
TEST(MatrixDetails, RandomPartners) {
  std::mt19937_64 random(7);
  for (const index_t n : {1, 2, 3, 17, 200}) {
    std::vector<std::vector<double>> dense(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n)));
    std::uniform_real_distribution<double> value(-1.0, 1.0);
    for (std::size_t i = 0; i < dense.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        if (random() % 3 == 0) continue;
        dense[i][j] = value(random);
        const std::array<double, 4> partners{dense[i][j], -dense[i][j], 1.0, 0.0};
        if (i != j) dense[j][i] = partners[random() % 4];
      }
    }
    const auto matrix = from_dense<double>(dense, n);
    SCOPED_TRACE(n);
    expect_details(matrix.view(), matrix_details(matrix.view()));
  }
}

TEST(MatrixDetails, ValuesNearTheLimitsOfDouble) {
  // Rows whose plain sum of squares overflows or underflows; a difference of 2 max.
  const auto huge = from_dense<double>({{0, 1.5e308}, {-1.5e308, 0}}, 2);
  const MatrixDetails h = matrix_details(huge.view());
  EXPECT_EQ(h.row_norm_max, 1.5e308);
  EXPECT_EQ(h.asymmetry, 2.0);
  const auto tiny = from_dense<double>({{3e-320, 4e-320}, {0, 5e-324}}, 2);
  const MatrixDetails t = matrix_details(tiny.view());
  EXPECT_NEAR(t.row_norm_max, 5e-320, 1e-323);
  EXPECT_EQ(t.min_abs, 5e-324);
  EXPECT_EQ(t.asymmetry, 1.0);
  const auto both = from_dense<double>({{1.5e308, 1.5e308, 1.5e308}}, 3);
  EXPECT_EQ(matrix_details(both.view()).row_norm_max, std::numeric_limits<double>::max()) << "finite, as JSON needs it";
}

TEST(MatrixDetails, ValuesThatAreNotFiniteCountNowhere) {
  const auto a = make_csr<double>(3, 3, {0, 2, 3, 4}, {0, 1, 0, 2}, {2.0, nan_value, 7.0, -infinity});
  const MatrixDetails d = matrix_details(a.view());
  EXPECT_EQ(d.min_abs, 2.0);
  EXPECT_EQ(d.max_abs, 7.0);
  EXPECT_EQ(d.row_norm_min, 2.0);
  EXPECT_EQ(d.row_norm_max, 7.0);
  EXPECT_EQ(d.asymmetry, 0.0);
  EXPECT_EQ(d.mirrored, 2);
  EXPECT_EQ(d.equal_pairs, 0);
  EXPECT_EQ(d.negative, 1);
}

TEST(MatrixDetails, DominanceIsStrict) {
  const MatrixDetails d = matrix_details(from_dense<double>({{2, -1, 0}, {1, 2, -1}, {0, 3, 1}}, 3).view());
  EXPECT_EQ(d.strictly_dominant_rows, 1);
}

TEST(MatrixDetails, EmptyAndZero) {
  const MatrixDetails empty = matrix_details(Csr<double>().view());
  EXPECT_EQ(empty.max_abs, 0.0);
  EXPECT_EQ(empty.off_diagonal, 0);
  const MatrixDetails zeros = matrix_details(make_csr<double>(2, 2, {0, 1, 1}, {1}, {0.0}).view());
  EXPECT_EQ(zeros.max_abs, 0.0);
  EXPECT_EQ(zeros.min_abs, 0.0);
  EXPECT_EQ(zeros.asymmetry, 0.0);
  EXPECT_EQ(zeros.upper_bandwidth, 1);
}

/// The far corners of the largest matrix that an index can count: products of its sides pass 2^61.
TEST(MatrixDetails, BandwidthAndProfileOfTheLargestRectangle) {
  constexpr index_t most = std::numeric_limits<index_t>::max();
  const auto a = testing::make_pattern<float>(1, most, {0, 1}, {most - 1});
  const MatrixDetails d = matrix_details(a.view());
  EXPECT_EQ(d.upper_bandwidth, offset_t{most} - 1);
  EXPECT_EQ(d.lower_bandwidth, 0) << "nothing lies below the diagonal";
}

/// What the collection publishes of the real matrices.
TEST(MatrixDetails, SymmetryOfRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  struct Published {
    const char* name;
    bool pattern;
    bool values;
  };
  for (const auto& [name, pattern, values] :
       {Published{"bcsstk13", true, true}, Published{"memplus", true, false}, Published{"orsirr_1", true, false},
        Published{"qh1484", true, false}, Published{"west0067", false, false}, Published{"cryg2500", false, false},
        Published{"sherman1", true, true}}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const MatrixDetails d = matrix_details(file.matrix.view());
    expect_details(file.matrix.view(), d);
    EXPECT_EQ(d.mirrored == d.off_diagonal, pattern);
    EXPECT_EQ(d.asymmetry == 0.0, values);
  }
}

}  // namespace
}  // namespace tessera
