// The outlook that the host gives on layouts is what plans on a GPU take, in their own words.
#include "spmv/common/layout_outlook.hpp"

#include "core/cuda/context.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/sliced_matrices.hpp"

#include <algorithm>

namespace tessera {

using namespace detail;
namespace {

using testing::Kept;
using testing::Repeating;

class OutlookOnGpu : public testing::CudaTest {
 protected:
  template <class T>
  static void check(const Csr<T>& matrix) {
    const CsrView<T> a = matrix.view();
    const ValueFacts facts = value_facts(a, Device{});
    check(matrix, SpmvAlgorithm::patterns, outlook_on_patterns(a, facts, Device{}));
    check(matrix, SpmvAlgorithm::sell,
          outlook_on_sell(a, facts, cuda::Context::of(testing::CudaTest::gpu()).multiprocessors()));
  }

 private:
  template <class T>
  static void check(const Csr<T>& matrix, SpmvAlgorithm algorithm, const std::vector<LayoutOutlook>& outlooks) {
    SpmvOptions options;
    options.algorithm = algorithm;
    options.device = testing::CudaTest::gpu();
    const auto taken = std::find_if(outlooks.begin(), outlooks.end(), [](const auto& o) { return o.taken; });
    if (taken == outlooks.end()) {
      EXPECT_THROW(SpmvPlan<T>(matrix.to(Device{}), options), NotSupported) << to_string(algorithm);
      return;
    }
    const std::string reason = SpmvPlan<T>(matrix.to(Device{}), options).info().reason;
    EXPECT_TRUE(reason.ends_with("; " + taken->reason)) << reason << "\n" << taken->reason;
  }
};

TEST_F(OutlookOnGpu, LayoutsOfRowPatterns) {
  testing::RepeatingRows with_exceptions = testing::rows_of_width(3000, 12);
  with_exceptions.others = {0, 77, 2999};
  for (const testing::RepeatingRows& spec :
       {testing::five_points(50), testing::box_of_27(9), testing::grid_with_holes(40), testing::rows_of_width(1500, 5),
        testing::rows_up_to_width(1500, 7), testing::rows_seldom_of_width(2000, 20), with_exceptions,
        testing::too_many_lists(3000, 400)}) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns, Repeating::columns_and_values}) {
      check(testing::with_repeating_rows<double>(spec, repeating));
      check(testing::with_repeating_rows<float>(spec, repeating));
    }
    const auto symmetric = testing::symmetric_rows<double>(spec);
    check(symmetric);
    check(testing::symmetric_rows<float>(spec));
    for (const Kept kept : testing::all_kept) check(testing::with_values_that_allow(symmetric, kept));
  }
}

TEST_F(OutlookOnGpu, HalvesWithExceptionsAndWithoutSymmetry) {
  const auto grid = testing::symmetric_rows<double>(testing::five_points(50), {60, 1000});
  check(grid);
  std::vector<double> values(grid.values().data(), grid.values().data() + grid.nnz());
  for (const std::size_t entry : {std::size_t{0}, std::size_t{1}, std::size_t{6000}}) {
    auto changed = values;
    changed[entry] += 1.0;
    check(Csr<double>(grid.rows(), grid.cols(), Array<offset_t>::copy_of(grid.row_offsets().span()),
                      Array<index_t>::copy_of(grid.columns().span()), Array<double>::copy_of(changed)));
  }
}

TEST_F(OutlookOnGpu, SlicesOfUnevenRows) {
  std::vector<index_t> lengths;
  for (index_t row = 0; row < 5000; ++row) lengths.push_back(row * 7919 % 13);
  check(testing::rows_near_diagonal<double>(lengths, 100));
  lengths[17] = 300;
  check(testing::rows_near_diagonal<double>(lengths, 2000));
  check(testing::rows_near_diagonal<float>(std::vector<index_t>(700, 9), 50));
}

}  // namespace
}  // namespace tessera
