/// Refusals of incomplete factors.
#include "tessera/error.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tessera::testing {
namespace {

template <class Exception>
std::string refusal(const Csr<double>& a, const IncompleteFactorOptions& options = {}) {
  try {
    const IncompleteFactors<double> m(a.view(), options);
  } catch (const Exception& error) {
    return error.what();
  }
  return "accepted";
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(FactorRefusals, NotSquare) { expect_words(refusal<DimensionError>(from_dense<double>({{1, 2, 3}}, 3)), "1 x 3"); }

TEST(FactorRefusals, ValuesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Csr<double> a = make_csr<double>(3, 3, {0, 1, 3, 4}, {0, 0, 1, 2}, {1, bad, 1, bad});
    for (const auto kind :
         {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp, FactorKind::ic0, FactorKind::ict}) {
      expect_words(refusal<InvalidMatrix>(a, {.kind = kind}), "row 2 holds NaN or infinity");
    }
  }
}

TEST(FactorRefusals, StructurallySingular) {
  const Csr<double> a = from_dense<double>({{1, 0, 0}, {1, 0, 0}, {0, 1, 1}}, 3);
  expect_words(refusal<SingularMatrix>(a), "structurally singular: at most 2 of its 3 rows");
  expect_words(refusal<SingularMatrix>(a, {.matching = FactorMatching::permute}), "structurally singular");
  for (const auto matching : {FactorMatching::none, FactorMatching::scale}) {
    EXPECT_EQ(refusal<Error>(a, {.matching = matching}), "accepted");
  }
}

TEST(FactorRefusals, AsymmetricForCholesky) {
  for (const auto kind : {FactorKind::ic0, FactorKind::ict}) {
    expect_words(refusal<InvalidMatrix>(from_dense<double>({{2, 1, 0}, {1, 2, 0.5}, {0, 0.25, 2}}, 3), {.kind = kind}),
                 "entry (3, 2) is 0.25, but entry (2, 3) is 0.5");
    expect_words(refusal<InvalidMatrix>(from_dense<double>({{2, 1, 0}, {1, 2, 1}, {0, 0, 2}}, 3), {.kind = kind}),
                 "entry (2, 3) is 1, but entry (3, 2) is not stored");
    expect_words(refusal<InvalidMatrix>(from_dense<double>({{2, 0, 0}, {0, 2, 0}, {3, 0, 2}}, 3), {.kind = kind}),
                 "entry (3, 1) is 3, but entry (1, 3) is not stored");
    expect_words(refusal<InvalidMatrix>(from_dense<double>({{2, 5, 1}, {0, 2, 0}, {1, 0, 2}}, 3), {.kind = kind}),
                 "entry (1, 2) is 5, but entry (2, 1) is not stored");
  }
}

TEST(FactorRefusals, DiagonalThatIsNotPositiveForCholesky) {
  expect_words(refusal<InvalidMatrix>(diagonal_matrix<double>({1, -2, 1}), {.kind = FactorKind::ict}),
               "row 2 holds -2");
  expect_words(refusal<InvalidMatrix>(from_dense<double>({{1, 0}, {0, 0}}, 2), {.kind = FactorKind::ic0}),
               "row 2 has no diagonal entry");
}

TEST(FactorRefusals, Indefinite) {
  expect_words(refusal<InvalidMatrix>(from_dense<double>({{1, 3}, {3, 1}}, 2), {.kind = FactorKind::ict}),
               "not positive definite");
}

TEST(FactorRefusals, MoreFillThanAllowed) {
  const Csr<double> a = poisson2d<double>(30, 30);
  for (const auto kind : {FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp, FactorKind::ict}) {
    IncompleteFactorOptions options{.kind = kind, .drop_tolerance = 0.0, .max_row_entries = 900, .fill_limit = 1.5};
    options.level = 100;
    const std::string text = refusal<BudgetExceeded>(a, options);
    expect_words(text, std::string(to_string(kind)) + ": the factors have ");
    expect_words(text, "of 900 rows, more than 1.5 times the 4380 entries of the matrix");
    options.fill_limit = 30.0;
    EXPECT_EQ(refusal<Error>(a, options), "accepted");
  }
}

TEST(FactorRefusals, MoreTimeThanAllowed) {
  const Csr<double> a = poisson2d<double>(30, 30);
  for (const auto kind : {FactorKind::ilu0, FactorKind::ilutp, FactorKind::ict}) {
    expect_words(refusal<BudgetExceeded>(a, {.kind = kind, .time_limit_seconds = 0.0}), "the limit is 0 s");
  }
}

TEST(FactorRefusals, OptionsOutOfRange) {
  const Csr<double> a = tridiagonal<double>(3, -1, 2, -1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_words(refusal<InvalidArgument>(a, {.level = -1}), "level must be at least 0, got -1");
  expect_words(refusal<InvalidArgument>(a, {.drop_tolerance = -1e-3}), "drop_tolerance");
  expect_words(refusal<InvalidArgument>(a, {.drop_tolerance = nan}), "drop_tolerance");
  expect_words(refusal<InvalidArgument>(a, {.max_row_entries = 0}), "max_row_entries");
  expect_words(refusal<InvalidArgument>(a, {.pivot_tolerance = 1.5}), "pivot_tolerance");
  expect_words(refusal<InvalidArgument>(a, {.blocks = 0}), "blocks");
  expect_words(refusal<InvalidArgument>(a, {.smallest_shift = 0.0}), "smallest_shift");
  expect_words(refusal<InvalidArgument>(a, {.largest_shift = -1.0}), "largest_shift");
  expect_words(refusal<InvalidArgument>(a, {.fill_limit = 0.0}), "fill_limit");
  expect_words(refusal<InvalidArgument>(a, {.time_limit_seconds = nan}), "time_limit_seconds");
  expect_words(refusal<InvalidArgument>(a, {.kind = FactorKind::ict, .matching = FactorMatching::permute}),
               "symmetric");
}

}  // namespace
}  // namespace tessera::testing
