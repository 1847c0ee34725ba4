// Every kernel, type, storage and commit on every adversarial matrix.
#include "tests/spmv/product_check.hpp"

#include <utility>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T, ValueStorage storage_, SpmvAlgorithm algorithm, Determinism determinism>
struct Case {
  using Value = T;
  static constexpr ValueStorage storage = storage_;
  static constexpr testing::KernelCase kernel{algorithm, determinism};
};

template <class Case>
class Kernels : public ::testing::Test {
 protected:
  using T = typename Case::Value;

  static std::shared_ptr<const Csr<T>> share(Csr<T> matrix) {
    return std::make_shared<const Csr<T>>(std::move(matrix));
  }
  static std::vector<testing::NamedMatrix<T>> matrices() {
    return testing::adversarial_matrices<T>(Case::storage, testing::default_path_units<T>());
  }

  /// y = α A x + β y for all pairs; with β = 0 the old y is NaN.
  static void check_updates(const SpmvPlan<T>& plan) {
    constexpr std::pair<double, double> factors[] = {{1, 0}, {2, 0}, {1, 1}, {-0.5, 3}, {0, 2}, {0, 0}};
    const auto x = testing::random_vector<T>(plan.cols(), 3);
    for (const auto& [a, b] : factors) {
      const auto alpha = static_cast<T>(a);
      const auto beta = static_cast<T>(b);
      auto y = testing::random_vector<T>(plan.rows(), 4);
      if (beta == T{0}) std::fill(y.begin(), y.end(), std::numeric_limits<T>::quiet_NaN());
      const auto oracle = testing::multiply_oracle<T>(alpha, plan.matrix(), x, beta, y);
      plan.apply(alpha, x, beta, y);
      ASSERT_TRUE(near(oracle, constant(y))) << "alpha " << alpha << ", beta " << beta;
    }
  }

  /// The other ways to multiply: fused sums, and the buffer of the plan, several times in turn.
  static void check_fused_and_buffered(const SpmvPlan<T>& plan) {
    const auto w = testing::random_vector<T>(plan.rows(), 6);
    std::vector<T> y(static_cast<std::size_t>(plan.rows()), std::numeric_limits<T>::quiet_NaN());
    DualBuffer<T> buffer = plan.make_output();
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto x = testing::random_vector<T>(plan.cols(), round);
      const auto oracle = testing::product_oracle(plan.matrix(), constant(x));
      const ProductDots dots = plan.apply_and_dot(x, y, w);
      ASSERT_TRUE(near(oracle, constant(y)));
      ASSERT_TRUE(testing::dots_match(dots, constant(y), constant(w)));
      plan.apply(x, buffer);
      ASSERT_TRUE(near(oracle, std::as_const(buffer).current()));
      const ProductDots buffered = plan.apply_and_dot(x, buffer, w);
      ASSERT_TRUE(near(oracle, std::as_const(buffer).current()));
      ASSERT_TRUE(testing::dots_match(buffered, std::as_const(buffer).current(), constant(w)));
    }
  }
};

template <class T, ValueStorage storage>
using RowKernel = Case<T, storage, SpmvAlgorithm::csr, Determinism::gpu_to_gpu>;
template <class T, ValueStorage storage>
using MergeKernel = Case<T, storage, SpmvAlgorithm::merge, Determinism::gpu_to_gpu>;
template <class T, ValueStorage storage>
using MerbitAtomic = Case<T, storage, SpmvAlgorithm::merbit, Determinism::not_guaranteed>;
template <class T, ValueStorage storage>
using MerbitCarries = Case<T, storage, SpmvAlgorithm::merbit, Determinism::run_to_run>;
template <class T, ValueStorage storage>
using Csr5 = Case<T, storage, SpmvAlgorithm::csr5, Determinism::gpu_to_gpu>;
template <class T, ValueStorage storage>
using BitmapTiles = Case<T, storage, SpmvAlgorithm::tiles, Determinism::gpu_to_gpu>;
template <class T, ValueStorage storage>
using Blocked = Case<T, storage, SpmvAlgorithm::blocked, Determinism::gpu_to_gpu>;

constexpr auto weighted = ValueStorage::weighted;
constexpr auto pattern = ValueStorage::pattern;
using Cases =
    ::testing::Types<RowKernel<float, weighted>, RowKernel<float, pattern>, RowKernel<double, weighted>,
                     RowKernel<double, pattern>, MergeKernel<float, weighted>, MergeKernel<float, pattern>,
                     MergeKernel<double, weighted>, MergeKernel<double, pattern>, MerbitAtomic<float, weighted>,
                     MerbitAtomic<float, pattern>, MerbitAtomic<double, weighted>, MerbitAtomic<double, pattern>,
                     MerbitCarries<float, weighted>, MerbitCarries<float, pattern>, MerbitCarries<double, weighted>,
                     MerbitCarries<double, pattern>, Csr5<float, weighted>, Csr5<float, pattern>,
                     Csr5<double, weighted>, Csr5<double, pattern>, BitmapTiles<float, weighted>,
                     BitmapTiles<float, pattern>, BitmapTiles<double, weighted>, BitmapTiles<double, pattern>,
                     Blocked<float, weighted>, Blocked<double, weighted>, Blocked<double, pattern>>;
TYPED_TEST_SUITE(Kernels, Cases);

TYPED_TEST(Kernels, UpdatesOfAdversarialMatricesOnAllThreadCounts) {
  for (auto& [name, matrix] : this->matrices()) {
    const auto shared = this->share(std::move(matrix));
    for (const int threads : {1, 2, 5}) {
      SCOPED_TRACE(name + ", threads " + std::to_string(threads));
      this->check_updates(SpmvPlan<typename TypeParam::Value>(shared, testing::options_of(TypeParam::kernel, threads)));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(Kernels, FusedSumsAndBuffersOfAdversarialMatrices) {
  for (auto& [name, matrix] : this->matrices()) {
    SCOPED_TRACE(name);
    this->check_fused_and_buffered(
        SpmvPlan<typename TypeParam::Value>(std::move(matrix), testing::options_of(TypeParam::kernel, 3)));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(Kernels, NanInXReachesExactlyTheRowsThatHoldIt) {
  using Element = typename TypeParam::Value;
  const auto matrix = this->share(
      testing::with_row_lengths<Element>(testing::power_law_lengths(3000, 2000, 3), 2000, TypeParam::storage));
  const SpmvPlan<Element> plan(matrix, testing::options_of(TypeParam::kernel));
  auto x = testing::random_vector<Element>(2000, 5);
  x[77] = std::numeric_limits<Element>::quiet_NaN();
  std::vector<Element> y(3000);
  plan.apply(x, y);
  const CsrView<Element> a = plan.matrix();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto begin = a.columns.begin() + a.row_offsets[i];
    const auto end = a.columns.begin() + a.row_offsets[i + 1];
    ASSERT_EQ(std::isnan(y[i]), std::binary_search(begin, end, 77)) << "row " << i;
  }
}

}  // namespace
}  // namespace tessera
