/// Set-up of preconditioners ends where its caller wants it no more, and leaves what can be set up again.
#include "core/interruption.hpp"
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/incomplete_factors.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

namespace tessera::testing {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

/// \param set_up takes some 10 ms at least \returns how often it asked in all
int expect_interrupted(const std::function<void()>& set_up) {
  int asks = 0;
  {
    const detail::InterruptionScope scope(forever, [&] {
      ++asks;
      return true;
    });
    set_up();
  }
  for (const int most : {0, asks / 2}) {
    int left = most;
    const detail::InterruptionScope scope(forever, [&] { return left-- > 0; });
    EXPECT_THROW(set_up(), BudgetExceeded) << "after " << most << " of " << asks << " asks";
  }
  return asks;
}

TEST(SetupInterruption, OfAmg) {
  const Csr<double> scalar = poisson3d<double>(50, 50, 50);
  EXPECT_GE(expect_interrupted([&] { const Amg<double> amg(scalar.view(), {}, Device::host(1)); }), 3);
  const Csr<double> nodes = elasticity3d<double>(14);
  expect_interrupted([&] { const Amg<double> amg(nodes.view(), {}, Device::host(1)); });
}

TEST(SetupInterruption, OfARefreshOfAmg) {
  const Csr<double> a = poisson3d<double>(40, 40, 40);
  const std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0);
  std::vector<double> before(b.size());
  std::vector<double> after(b.size());
  for (const bool keeps : {false, true}) {
    Amg<double> amg(a.view(), {.prepare_refresh = keeps}, Device::host(1));
    amg.LinearOperator<double>::apply(b, before);
    expect_interrupted([&] { amg.refresh(a.view()); });
    amg.refresh(a.view());
    amg.LinearOperator<double>::apply(b, after);
    EXPECT_EQ(before, after);
  }
}

TEST(SetupInterruption, OfIncompleteFactors) {
  const Csr<double> a = poisson2d<double>(400, 400);
  for (const FactorKind kind :
       {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp, FactorKind::ic0, FactorKind::ict}) {
    SCOPED_TRACE(to_string(kind));
    const IncompleteFactorOptions options{
        .kind = kind, .matching = FactorMatching::none, .ordering = Ordering::natural};
    EXPECT_GE(expect_interrupted([&] { const IncompleteFactors<double> m(a.view(), options, Device::host(1)); }), 2);
  }
}

TEST(SetupInterruption, OfApproximateInverses) {
  const Csr<double> a = poisson3d<double>(40, 40, 40);
  EXPECT_GE(expect_interrupted([&] { const SpaiPreconditioner<double> m(a.view(), {}, Device::host(1)); }), 2);
  EXPECT_GE(expect_interrupted([&] { const FsaiPreconditioner<double> m(a.view(), {.power = 2}, Device::host(1)); }),
            2);
}

}  // namespace
}  // namespace tessera::testing
