/// \file
/// The pitfalls of MERBIT's dual-buffer commit, one by one, on any device.
#pragma once

#include "tests/spmv/product_check.hpp"

#include <utility>

namespace tessera::testing {

/// A plan with atomic commits, and its matrix on the host.
class DualPlan {
 public:
  DualPlan(const Device& device, const std::vector<index_t>& lengths, index_t cols, int sigma = 1,
           std::uint64_t seed = 1)
      : matrix_(with_row_lengths<double>(lengths, cols, ValueStorage::weighted, seed)),
        plan_(Csr<double>::copy_of(matrix_.view()), options(device, sigma)) {}

  [[nodiscard]] static SpmvOptions options(const Device& device, int sigma = 0) {
    SpmvOptions result;
    result.algorithm = SpmvAlgorithm::merbit;
    result.device = device;
    result.sigma = sigma;
    return result;
  }

  /// Hub rows, empty rows, single entries: with sigma 1 and 7 most blocks and tiles share rows.
  [[nodiscard]] static DualPlan varied(const Device& device, std::uint64_t seed = 1, int sigma = 7) {
    std::vector<index_t> lengths = power_law_lengths(1500, 900, seed);
    lengths[200] = 20000;
    lengths[201] = 0;
    lengths[202] = 9000;
    return {device, lengths, 25000, sigma, seed};
  }

  [[nodiscard]] CsrView<double> matrix() const { return matrix_.view(); }
  [[nodiscard]] const SpmvPlan<double>& plan() const { return plan_; }

 private:
  Csr<double> matrix_;
  SpmvPlan<double> plan_;
};

/// The current vector of a buffer, on the host.
[[nodiscard]] inline std::vector<double> result(const DualBuffer<double>& buffer, const Device& device) {
  std::vector<double> values(buffer.current().size());
  detail::copy_bytes(Device{}, values.data(), device, buffer.current().data(), values.size() * sizeof(double));
  return values;
}

inline void poison(std::span<double> vector, const Device& device) {
  const std::vector<double> nans(vector.size(), std::numeric_limits<double>::quiet_NaN());
  detail::copy_bytes(device, vector.data(), Device{}, nans.data(), vector.size_bytes());
}

/// A product with x number `round` into the buffer, checked.
inline void apply_and_check(const DualPlan& a, DualBuffer<double>& buffer, std::uint64_t round) {
  const Device device = a.plan().device();
  const auto x = random_vector<double>(a.plan().cols(), 100 + round);
  const auto on_device = Array<double>::copy_of(x, device);
  a.plan().apply(on_device.span(), buffer);
  const std::vector<double> y = result(buffer, device);
  ASSERT_TRUE(near(product_oracle(a.matrix(), constant(x)), constant(y))) << "round " << round;
}

inline void repeat_and_check(const DualPlan& a, std::uint64_t rounds = 4) {
  DualBuffer<double> buffer = a.plan().make_output();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    apply_and_check(a, buffer, round);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline void check_blocks_without_nonzeros(const Device& device) {
  const DualPlan a(device, one_long_row(5000, 0, 3, 0), 10);
  DualBuffer<double> buffer = a.plan().make_output();
  for (std::uint64_t round = 0; round < 4; ++round) {
    apply_and_check(a, buffer, round);
    poison(buffer.current(), device);
  }
}

inline void check_buffer_used_by_another_plan(const Device& device) {
  const DualPlan a = DualPlan::varied(device, 1);
  const DualPlan other = DualPlan::varied(device, 2);
  ASSERT_EQ(a.plan().rows(), other.plan().rows());
  DualBuffer<double> buffer = a.plan().make_output();
  for (std::uint64_t round = 0; round < 6; ++round) {
    apply_and_check(a, buffer, round);
    apply_and_check(other, buffer, round);
    if (round % 2 == 0) apply_and_check(other, buffer, round + 50);
  }
}

inline void check_buffer_of_a_single_mode_operator(const Device& device) {
  const DualPlan a = DualPlan::varied(device);
  DualBuffer<double> single(a.plan().rows(), DualBuffer<double>::Mode::single, device);
  poison(single.current(), device);
  apply_and_check(a, single, 1);
  apply_and_check(a, single, 2);
}

inline void check_single_mode_operator_in_between(const Device& device) {
  const DualPlan a = DualPlan::varied(device);
  const IdentityOperator<double> identity(a.plan().rows(), device);
  DualBuffer<double> buffer = a.plan().make_output();
  apply_and_check(a, buffer, 1);
  const auto x = random_vector<double>(a.plan().rows(), 3);
  identity.apply(Array<double>::copy_of(x, device).span(), buffer);
  EXPECT_EQ(buffer.prepared_for(), 0U);
  apply_and_check(a, buffer, 2);
  apply_and_check(a, buffer, 3);
}

inline void check_after_a_product_that_was_cut_short(const Device& device) {
  const DualPlan a = DualPlan::varied(device);
  DualBuffer<double> buffer = a.plan().make_output();
  apply_and_check(a, buffer, 1);
  buffer.set_prepared_for(0);
  poison(buffer.next(), device);
  for (std::uint64_t round = 2; round < 6; ++round) apply_and_check(a, buffer, round);
}

inline void check_results_that_the_caller_overwrites(const Device& device) {
  const DualPlan a = DualPlan::varied(device);
  DualBuffer<double> buffer = a.plan().make_output();
  ASSERT_EQ(buffer.mode(), DualBuffer<double>::Mode::dual);
  for (std::uint64_t round = 0; round < 5; ++round) {
    apply_and_check(a, buffer, round);
    poison(buffer.current(), device);
  }
}

inline void check_a_moved_plan(const Device& device) {
  DualPlan original = DualPlan::varied(device);
  DualBuffer<double> buffer = original.plan().make_output();
  apply_and_check(original, buffer, 1);
  const auto id = buffer.prepared_for();
  ASSERT_NE(id, 0U);
  const DualPlan moved = std::move(original);
  apply_and_check(moved, buffer, 2);
  EXPECT_EQ(buffer.prepared_for(), id);
}

}  // namespace tessera::testing
