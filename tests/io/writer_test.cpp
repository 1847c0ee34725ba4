#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <random>
#include <string>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::make_csr;
using testing::make_pattern;
using testing::TemporaryDirectory;

/// rows x cols, about `density` of all places, random bits as values; mirrored when it has a symmetry.
template <class T>
Csr<T> random_matrix(std::int64_t rows, std::int64_t cols, double density, MatrixMarketSymmetry symmetry,
                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<T>> dense(static_cast<std::size_t>(rows), std::vector<T>(static_cast<std::size_t>(cols)));
  std::uniform_real_distribution<T> value(T{-1}, T{1});
  std::bernoulli_distribution present(density);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (std::size_t j = 0; j < dense[i].size(); ++j) {
      if (present(random)) dense[i][j] = value(random) * std::exp2(value(random) * T{60});
      if (symmetry == MatrixMarketSymmetry::symmetric && j > i) dense[i][j] = T{0};
      if (symmetry == MatrixMarketSymmetry::skew_symmetric && j >= i) dense[i][j] = T{0};
    }
  }
  if (symmetry != MatrixMarketSymmetry::general) {
    for (std::size_t i = 0; i < dense.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        dense[j][i] = symmetry == MatrixMarketSymmetry::symmetric ? dense[i][j] : -dense[i][j];
      }
    }
  }
  return testing::from_dense<T>(dense, cols);
}

template <class T>
void round_trip(const Csr<T>& matrix, MatrixMarketSymmetry symmetry) {
  const TemporaryDirectory dir;
  WriteOptions options;
  options.symmetry = symmetry;
  options.comments = {" a comment"};
  for (const char* name : {"a.mtx", "a.mtx.gz"}) {
    write_matrix_market(dir.file(name), matrix.view(), options);
    const auto back = read_matrix_market<T>(dir.file(name));
    expect_identical(back.matrix.view(), matrix.view());
    EXPECT_EQ(back.header.symmetry, symmetry);
    EXPECT_EQ(back.header.field, matrix.is_pattern() ? MatrixMarketField::pattern : MatrixMarketField::real);
    EXPECT_EQ(back.duplicates, 0);
  }
  EXPECT_EQ(testing::inflate_file(dir.file("a.mtx.gz")), testing::read_text(dir.file("a.mtx")));
  EXPECT_EQ(testing::read_text(dir.file("a.mtx.gz")).substr(0, 2), "\x1f\x8b");
}

TEST(Writer, RoundTripAllSymmetries) {
  std::uint64_t seed = 1;
  for (const auto symmetry :
       {MatrixMarketSymmetry::general, MatrixMarketSymmetry::symmetric, MatrixMarketSymmetry::skew_symmetric}) {
    round_trip(random_matrix<double>(120, 120, 0.3, symmetry, ++seed), symmetry);
    round_trip(random_matrix<float>(120, 120, 0.3, symmetry, ++seed), symmetry);
    round_trip(random_matrix<double>(1, 1, 0.0, symmetry, ++seed), symmetry);
  }
  round_trip(random_matrix<double>(7, 300, 0.2, MatrixMarketSymmetry::general, ++seed), MatrixMarketSymmetry::general);
  round_trip(random_matrix<float>(300, 7, 0.2, MatrixMarketSymmetry::general, ++seed), MatrixMarketSymmetry::general);
  round_trip(Csr<double>{}, MatrixMarketSymmetry::general);
}

TEST(Writer, RoundTripPattern) {
  RmatOptions options;
  options.scale = 10;
  round_trip(rmat<float>(options), MatrixMarketSymmetry::general);
  round_trip(make_pattern<double>(3, 3, {0, 2, 3, 5}, {0, 2, 1, 0, 2}), MatrixMarketSymmetry::symmetric);
}

TEST(Writer, RoundTripOfManyBlocks) {
  round_trip(poisson2d<double>(200, 150), MatrixMarketSymmetry::general);
  round_trip(poisson2d<float>(200, 150), MatrixMarketSymmetry::symmetric);
}

TEST(Writer, Text) {
  const TemporaryDirectory dir;
  WriteOptions options;
  options.symmetry = MatrixMarketSymmetry::symmetric;
  options.comments = {" first", "second\nline"};
  write_matrix_market(dir.file("a.mtx"), make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 0}, {0.1, -2, -2}).view(), options);
  EXPECT_EQ(testing::read_text(dir.file("a.mtx")),
            "%%MatrixMarket matrix coordinate real symmetric\n% first\n%second line\n2 2 2\n1 1 0.1\n2 1 -2\n");
  write_matrix_market(dir.file("b.mtx"), make_pattern<float>(2, 3, {0, 0, 2}, {0, 2}).view());
  EXPECT_EQ(testing::read_text(dir.file("b.mtx")),
            "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n2 1\n2 3\n");
}

TEST(Writer, ExplicitZerosStay) {
  round_trip(make_csr<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, -0.0, -0.0, 1}), MatrixMarketSymmetry::symmetric);
}

void expect_invalid(const CsrView<double>& matrix, MatrixMarketSymmetry symmetry, const std::string& message) {
  const TemporaryDirectory dir;
  WriteOptions options;
  options.symmetry = symmetry;
  try {
    write_matrix_market(dir.file("a.mtx"), matrix, options);
    FAIL() << "accepted";
  } catch (const InvalidMatrix& e) {
    EXPECT_EQ(std::string(e.what()), message);
  }
  EXPECT_EQ(dir.count(), 0U);
}

TEST(Writer, SymmetryIsVerified) {
  using enum MatrixMarketSymmetry;
  const auto values = make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {1, 1.5});
  expect_invalid(values.view(), symmetric, "the matrix is not symmetric: row 1 differs from column 1");
  expect_invalid(values.view(), skew_symmetric, "the matrix is not skew-symmetric: row 1 differs from column 1");
  const auto structure = make_csr<double>(3, 3, {0, 1, 2, 3}, {0, 1, 0}, {1, 1, 1});
  expect_invalid(structure.view(), symmetric, "the matrix is not symmetric: row 3 differs from column 3");
  const auto diagonal = make_csr<double>(2, 2, {0, 0, 1}, {1}, {1});
  expect_invalid(diagonal.view(), skew_symmetric, "the matrix is not skew-symmetric: row 2 differs from column 2");
  expect_invalid(make_csr<double>(1, 2, {0, 0}, {}, {}).view(), symmetric, "a 1 x 2 matrix cannot be symmetric");
  expect_invalid(make_pattern<double>(1, 1, {0, 0}, {}).view(), skew_symmetric,
                 "a pattern matrix cannot be skew-symmetric: it has no signs");
}

TEST(Writer, NotFiniteIsRefused) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    expect_invalid(make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1, bad}).view(), MatrixMarketSymmetry::general,
                   "row 2 holds NaN or infinity, which a Matrix Market file cannot hold");
  }
}

TEST(Writer, FailureHasTheSystemsReason) {
  const TemporaryDirectory dir;
  const Csr<double> matrix = poisson2d<double>(3, 3);
  const auto reason_of = [&](const std::filesystem::path& path) -> std::string {
    try {
      write_matrix_market(path, matrix.view());
    } catch (const IoError& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto missing = dir.file("none") / "a.mtx";
  EXPECT_EQ(reason_of(missing), "cannot write \"" + missing.string() + "\": No such file or directory");
  EXPECT_EQ(reason_of(dir.path()), "cannot write \"" + dir.path().string() + "\": Is a directory");
  EXPECT_EQ(reason_of("/dev/full"), "cannot write \"/dev/full\": No space left on device");
}

/// Lets files of this process grow to `bytes` only.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limited = before_;
    limited.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(Writer, FailureKeepsTheOldFileAndLeavesNoOther) {
  const TemporaryDirectory dir;
  const Csr<double> matrix = poisson2d<double>(300, 300);
  for (const char* name : {"a.mtx", "a.mtx.gz"}) {
    testing::write_text(dir.file(name), "old");
    {
      const FileSizeLimit limit(100000);
      EXPECT_THROW(write_matrix_market(dir.file(name), matrix.view()), IoError) << name;
    }
    EXPECT_EQ(testing::read_text(dir.file(name)), "old");
  }
  EXPECT_EQ(dir.count(), 2U);
}

TEST(Writer, ReplacesWhatALinkPointsAt) {
  const TemporaryDirectory dir;
  testing::write_text(dir.file("real.mtx"), "old");
  std::filesystem::create_symlink("real.mtx", dir.file("link.mtx"));
  write_vector<double>(dir.file("link.mtx"), std::vector<double>{1});
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link.mtx")));
  EXPECT_EQ(read_vector<double>(dir.file("real.mtx")), std::vector<double>{1});
}

}  // namespace
}  // namespace tessera
