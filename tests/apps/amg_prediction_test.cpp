/// The prediction of hierarchies, held against real ones.

#include "precond_keys.hpp"
#include "precond_settings.hpp"

#include "support/amg_prediction.hpp"
#include "support/precond.hpp"

#include "tessera/generators.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::support {

namespace {

TEST(StrongNeighbours, AreCountedAgainstTheLargestOfRowAndColumn) {
  EXPECT_NEAR(strong_neighbours(poisson2d<double>(50, 50).view(), 0.25), 4.0 - 4.0 / 50, 1e-12);
  EXPECT_NEAR(strong_neighbours(anisotropic2d<double>(50, 50, 0.01).view(), 0.25), 2.0 - 2.0 / 50, 1e-12);
  // |a_01| = 1 is weak in row 0, strong in row 1.
  const auto matrix = testing::from_dense<double>({{9, 1, 8}, {1, 9, 0}, {8, 0, 9}}, 3);
  EXPECT_NEAR(strong_neighbours(matrix.view(), 0.25), 4.0 / 3.0, 1e-12);
  EXPECT_NEAR(strong_neighbours(testing::from_dense<double>({{1, 0}, {0, 1}}, 2).view(), 0.25), 0.0, 0.0);
}

struct Stencil {
  std::string name;
  Csr<double> matrix;
};

/// The claim of amg_prediction.hpp.
TEST(PredictAmg, HoldsAgainstRealHierarchies) {
  std::vector<Stencil> stencils;
  stencils.push_back({"5 points", poisson2d<double>(150, 150)});
  stencils.push_back({"9 points", poisson2d<double>(150, 150, Stencil2d::nine_point)});
  stencils.push_back({"7 points", poisson3d<double>(28, 28, 28)});
  stencils.push_back({"27 points", poisson3d<double>(28, 28, 28, Stencil3d::twentyseven_point)});
  stencils.push_back({"anisotropic", anisotropic2d<double>(150, 150, 0.01)});
  for (const auto& [name, matrix] : stencils) {
    const AmgPrediction said = predict_amg(statistics(matrix.view()), strong_neighbours(matrix.view(), 0.25));
    const Amg<double> amg(matrix.view());
    const AmgInfo& real = amg.hierarchy();
    EXPECT_LE(std::abs(static_cast<int>(said.levels.size()) - static_cast<int>(real.levels.size())), 1) << name;
    const double ratio = (said.operator_complexity - 1.0) / (real.operator_complexity - 1.0);
    EXPECT_GE(ratio, 0.5) << name << ": said " << said.operator_complexity << ", is " << real.operator_complexity;
    EXPECT_LE(ratio, 2.0) << name << ": said " << said.operator_complexity << ", is " << real.operator_complexity;
    const double rows = static_cast<double>(said.levels[1].rows) / static_cast<double>(real.levels[1].rows);
    EXPECT_GE(rows, 0.5) << name;
    EXPECT_LE(rows, 2.0) << name;
    const double bytes =
        static_cast<double>(predicted_bytes(said, sizeof(double), {})) / static_cast<double>(amg.info().bytes);
    EXPECT_GE(bytes, 0.4) << name;
    EXPECT_LE(bytes, 2.5) << name;
  }
}

TEST(PredictAmg, OfASmallOrDiagonalMatrixIsOneLevel) {
  EXPECT_EQ(predict_amg(statistics(poisson2d<double>(12, 12).view()), 4.0).levels.size(), 1U);
  const auto diagonal = poisson2d<double>(30, 30);
  EXPECT_EQ(predict_amg(statistics(diagonal.view()), 0.0).levels.size(), 1U);
}

/// The defaults that help and lists show are those of AmgOptions.
TEST(AmgKeys, DefaultsAreThoseOfTheLibrary) {
  std::string all;
  for (const cli::PrecondKey& key : cli::amg_keys()) {
    if (!key.fallback.empty())
      all += (all.empty() ? "" : ",") + std::string(key.name) + "=" + std::string(key.fallback);
  }
  const AmgOptions typed =
      cli::precond_settings(cli::resolve_options({"--poisson2d", "4", "-p", "amg", "--precond-opt", all})).amg;
  const AmgOptions own;
  EXPECT_EQ(typed.strength_threshold, own.strength_threshold);
  EXPECT_EQ(typed.coarsest_rows, own.coarsest_rows);
  EXPECT_EQ(typed.max_levels, own.max_levels);
  EXPECT_EQ(typed.block_size, own.block_size);
  EXPECT_EQ(typed.prolongator_damping, own.prolongator_damping);
  EXPECT_EQ(typed.power_steps, own.power_steps);
  EXPECT_EQ(typed.cycle, own.cycle);
  EXPECT_EQ(typed.smoother, own.smoother);
  EXPECT_EQ(typed.smoother_damping, own.smoother_damping);
  EXPECT_EQ(typed.chebyshev_degree, own.chebyshev_degree);
  EXPECT_EQ(typed.chebyshev_ratio, own.chebyshev_ratio);
  EXPECT_EQ(typed.sweeps, own.sweeps);
  EXPECT_EQ(typed.precision, own.precision);
  EXPECT_EQ(typed.check, own.check);
}

}  // namespace

}  // namespace tessera::support
