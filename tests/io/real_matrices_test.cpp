// Every real matrix against its published numbers, and the smaller ones against an independent reader.
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr auto real = MatrixMarketField::real;
constexpr auto integer = MatrixMarketField::integer;
constexpr auto pattern = MatrixMarketField::pattern;
constexpr auto general = MatrixMarketSymmetry::general;
constexpr auto symmetric = MatrixMarketSymmetry::symmetric;

struct Published {
  const char* name;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t stored;
  offset_t expanded;
  offset_t explicit_zeros;
  MatrixMarketField field;
  MatrixMarketSymmetry symmetry;
};

// From the README of the collection, which agrees with the SuiteSparse metadata where a matrix is there.
constexpr Published published[] = {
    {"cnr-2000", 325557, 325557, 3216152, 3216152, 0, pattern, general},
    {"ego-Twitter", 81306, 81306, 1342310, 2684606, 0, pattern, symmetric},
    {"G3_circuit_lead400k", 400000, 400000, 1078289, 1756578, 0, real, symmetric},
    {"bundle1", 10581, 10581, 390741, 770901, 0, pattern, symmetric},
    {"Andrews", 60000, 60000, 410077, 760154, 0, integer, symmetric},
    {"bcsstk33", 8738, 8738, 300321, 591904, 0, pattern, symmetric},
    {"musae_git", 37700, 37700, 289003, 578006, 0, pattern, symmetric},
    {"cit-HepPh", 34546, 34546, 421578, 421578, 0, pattern, general},
    {"email-Enron", 36692, 36692, 183831, 367662, 0, pattern, symmetric},
    {"bcsstk38", 8032, 8032, 181746, 355460, 0, real, symmetric},
    {"bcsstk16", 4884, 4884, 147631, 290378, 0, real, symmetric},
    {"wing", 62032, 62032, 121544, 243088, 0, pattern, symmetric},
    {"luxembourg_osm", 114599, 114599, 119666, 239332, 0, pattern, symmetric},
    {"jnlbrng1", 40000, 40000, 119600, 199200, 0, real, symmetric},
    {"p2p-Gnutella31", 62586, 62586, 147892, 147892, 0, pattern, general},
    {"netlib_maros-r7", 3136, 9408, 144848, 144848, 0, real, general},
    {"memplus", 17758, 17758, 126150, 126150, 27003, real, general},
    {"bcsstk15", 3948, 3948, 60882, 117816, 0, real, symmetric},
    {"ex31", 3909, 3909, 115357, 115357, 24134, real, general},
    {"crystm01", 4875, 4875, 55107, 105339, 0, real, symmetric},
    {"wiki-Vote", 8297, 8297, 103689, 103689, 0, pattern, general},
    {"bcsstk13", 2003, 2003, 42943, 83883, 0, real, symmetric},
    {"Sydney_net", 33113, 33113, 75379, 75379, 0, pattern, general},
    {"Chem97Zt", 2541, 31022, 62044, 62044, 0, pattern, general},
    {"case13659pegase_Bdc", 13658, 13658, 32282, 50906, 0, real, symmetric},
    {"ISPD98_ibm01", 14111, 12752, 50566, 50566, 0, pattern, general},
    {"netlib_fit2p", 3000, 13525, 50284, 50284, 0, real, general},
    {"rajat01", 6833, 6833, 43250, 43250, 0, pattern, general},
    {"ChicagoRegional_net", 12982, 12982, 39018, 39018, 0, pattern, general},
    {"wb-cs-stanford", 9914, 9914, 36854, 36854, 0, pattern, general},
    {"bips98_606", 7135, 7135, 34738, 34738, 0, real, general},
    {"Goodwin_010", 1182, 1182, 32282, 32282, 0, real, general},
    {"freeFlyingRobot_7", 3918, 3918, 16697, 31046, 0, real, symmetric},
    {"ca-GrQc", 5242, 5242, 14496, 28980, 0, pattern, symmetric},
    {"lns_3937", 3937, 3937, 25407, 25407, 0, real, general},
    {"add32", 4960, 4960, 23884, 23884, 4036, real, general},
    {"bcspwr10", 5300, 5300, 13571, 21842, 0, pattern, symmetric},
    {"bcsstk08", 1074, 1074, 7017, 12960, 0, real, symmetric},
    {"cryg2500", 2500, 2500, 12349, 12349, 0, real, general},
    {"cage8", 1015, 1015, 11003, 11003, 0, real, general},
    {"pores_2", 1224, 1224, 9613, 9613, 0, real, general},
    {"tols4000", 4000, 4000, 8784, 8784, 0, real, general},
    {"illc1850", 1850, 712, 8758, 8758, 122, real, general},
    {"well1850", 1850, 712, 8758, 8758, 3, real, general},
    {"epb0", 1794, 1794, 7764, 7764, 0, real, general},
    {"orsirr_1", 1030, 1030, 6858, 6858, 0, real, general},
    {"lp_ship04l", 402, 2166, 6380, 6380, 0, real, general},
    {"qh1484", 1484, 1484, 6110, 6110, 0, real, general},
    {"1138_bus", 1138, 1138, 2596, 4054, 0, real, symmetric},
    {"olm1000", 1000, 1000, 3996, 3996, 0, real, general},
    {"sherman1", 1000, 1000, 2375, 3750, 0, real, symmetric},
    {"nos4", 100, 100, 347, 594, 0, real, symmetric},
    {"west0067", 67, 67, 294, 294, 0, real, general},
    {"karate", 34, 34, 78, 156, 0, pattern, symmetric},
};

TEST(RealMatrices, PublishedNumbers) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const Published& p : published) {
    SCOPED_TRACE(p.name);
    const auto m = read_matrix_market<double>(*testing::real_matrices_dir() / (std::string(p.name) + ".mtx.gz"));
    validate(m.matrix.view());
    EXPECT_EQ(m.matrix.rows(), p.rows);
    EXPECT_EQ(m.matrix.cols(), p.cols);
    EXPECT_EQ(m.header.entries, p.stored);
    EXPECT_EQ(m.matrix.nnz(), p.expanded);
    EXPECT_EQ(m.explicit_zeros, p.explicit_zeros);
    EXPECT_EQ(m.duplicates, 0);
    EXPECT_EQ(m.header.field, p.field);
    EXPECT_EQ(m.header.symmetry, p.symmetry);
    EXPECT_EQ(m.matrix.is_pattern(), p.field == pattern);
  }
}

TEST(RealMatrices, TableIsComplete) {
  TESSERA_REQUIRE_REAL_MATRICES();
  EXPECT_EQ(testing::real_matrix_files().size(), std::size(published));
}

/// The obvious reader: zlib's file interface, streams, Eigen's triplets.
testing::EigenSparse<double> read_naively(const std::filesystem::path& path) {
  std::istringstream text(testing::inflate_file(path));
  std::string banner;
  std::getline(text, banner);
  std::string line;
  while (std::getline(text, line) && line.starts_with('%')) {
  }
  std::istringstream sizes(line);
  int rows = 0;
  int cols = 0;
  int count = 0;
  sizes >> rows >> cols >> count;
  const bool has_values = banner.find("pattern") == std::string::npos;
  const bool mirrored = banner.find("symmetric") != std::string::npos;
  std::vector<Eigen::Triplet<double, int>> entries;
  for (int k = 0; k < count; ++k) {
    int i = 0;
    int j = 0;
    double value = 1.0;
    text >> i >> j;
    if (has_values) text >> value;
    entries.emplace_back(i - 1, j - 1, value);
    if (mirrored && i != j) entries.emplace_back(j - 1, i - 1, value);
  }
  EXPECT_FALSE(text.fail()) << path;
  testing::EigenSparse<double> matrix(rows, cols);
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

TEST(RealMatrices, EqualAnIndependentReader) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int compared = 0;
  for (const auto& path : testing::real_matrix_files()) {
    if (std::filesystem::file_size(path) > 1000000) continue;
    SCOPED_TRACE(path.string());
    const auto expected = read_naively(path);
    const auto m = read_matrix_market<double>(path);
    const CsrView<double> a = m.matrix.view();
    ASSERT_EQ(a.rows, expected.rows());
    ASSERT_EQ(a.cols, expected.cols());
    ASSERT_EQ(a.nnz(), expected.nonZeros());
    for (index_t i = 0; i <= a.rows; ++i) {
      ASSERT_EQ(a.row_offsets[static_cast<std::size_t>(i)], expected.outerIndexPtr()[i]);
    }
    for (offset_t k = 0; k < a.nnz(); ++k) {
      ASSERT_EQ(a.columns[static_cast<std::size_t>(k)], expected.innerIndexPtr()[k]);
      ASSERT_EQ(a.value(k), expected.valuePtr()[k]);
    }
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace tessera
