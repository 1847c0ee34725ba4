// Rows of C in small hash tables, by some lanes of a warp, on a GPU, against the host's product to the last bit.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"
#include "tests/spgemm/warp_accumulator_cases.hpp"

#include <algorithm>

namespace tessera {
namespace {

/// \tparam Most entries that the batch is said to have at least \tparam List entries of a row of B, by which lanes are
/// chosen; 0: those that there are
template <index_t Most, int List = 0>
struct SmallHash {
  template <class V>
  static void enqueue(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
                      const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
    cuda::RowBatch other = batch;
    other.most_entries = std::max(batch.most_entries, Most);
    if (List != 0) other.mean_b_row_nnz = List;
    cuda::enqueue_small_hash<V>(context, phase, factors, other, out);
  }
  static bool serves(const host::RowTask& row, offset_t entries) {
    return entries <= cuda::small_hash_entries && row.products <= 6000;
  }
};

class SmallHashCuda : public testing::CudaTest {
 protected:
  template <class Accumulator>
  [[nodiscard]] static testing::WarpAccumulatorCases<Accumulator> cases() {
    return testing::WarpAccumulatorCases<Accumulator>(gpu());
  }
};

TEST_F(SmallHashCuda, AdversarialPairsDouble) { cases<SmallHash<1>>().adversarial_pairs<double, double>(); }
TEST_F(SmallHashCuda, AdversarialPairsFloat) { cases<SmallHash<100, 8>>().adversarial_pairs<float, float>(); }
TEST_F(SmallHashCuda, AdversarialPairsOfPositions) {
  cases<SmallHash<1, 16>>().adversarial_pairs<cuda::NoValue, double>();
}

TEST_F(SmallHashCuda, MuchAndLittleCompression) {
  cases<SmallHash<1, 4>>().compression<double>();
  cases<SmallHash<1, 8>>().compression<float>();
  cases<SmallHash<60, 16>>().compression<double>();
}

TEST_F(SmallHashCuda, ListsOfAllLengths) {
  cases<SmallHash<1, 4>>().lists_of_all_lengths<double>();
  cases<SmallHash<1, 8>>().lists_of_all_lengths<double>();
  cases<SmallHash<1, 16>>().lists_of_all_lengths<float>();
}

TEST_F(SmallHashCuda, SpecialValues) {
  cases<SmallHash<1>>().special_values<double>();
  cases<SmallHash<1>>().special_values<float>();
}

TEST_F(SmallHashCuda, EmptyBatches) { cases<SmallHash<1>>().empty_batches<double>(); }

/// Rows of 20 to 112 entries, in tables for all of them, and in such that some of them do not fit into.
TEST_F(SmallHashCuda, RowsBeyondTheirTables) {
  std::vector<index_t> lengths;
  for (const index_t length : {20, 28, 31, 32, 33, 56, 63, 64, 65, 100, 112, 0, 1})
    lengths.insert(lengths.end(), 3, length);
  const auto b = testing::with_row_lengths<double>(lengths, 4000, ValueStorage::weighted, 3);
  const auto rows = static_cast<index_t>(lengths.size());
  const auto one_each = generate<double>(parse_generator("band:" + std::to_string(rows) + ",width=1"));
  testing::AccumulatorCheck<double, double> check(gpu(), one_each, b);
  for (const auto enqueue :
       {SmallHash<1, 4>::enqueue<double>, SmallHash<1, 8>::enqueue<double>, SmallHash<1, 16>::enqueue<double>}) {
    EXPECT_EQ(check.run(enqueue, SmallHash<1>::serves), rows);
    for (const index_t estimate : {1, 28, 56}) check.run_allocating(estimate);
  }
}

/// Counting needs no bound: long rows are counted in parts of their columns.
TEST_F(SmallHashCuda, CountsRowsOfAnyLength) {
  const auto a = testing::with_row_lengths<double>({0, 1, 30, 3, 40}, 40, ValueStorage::weighted, 8);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(40, 150), 5000, ValueStorage::weighted, 9);
  const Csr<double> expected = spgemm(a, b).matrix;
  const Csr<double> a_gpu = a.to(gpu());
  const Csr<double> b_gpu = b.to(gpu());
  for (const int list : {4, 8, 16}) {
    Array<offset_t> counts(a.rows(), Init::zero, gpu());
    cuda::RowBatch batch;
    batch.count = a.rows();
    batch.most_entries = 10;
    batch.mean_b_row_nnz = list;
    cuda::RowOutput<cuda::NoValue> out;
    out.counts = counts.data();
    const cuda::DeviceGuard current(gpu());
    cuda::enqueue_small_hash(cuda::Context::of(gpu()), cuda::Phase::symbolic,
                             host::factors_of<cuda::NoValue>(a_gpu.view(), b_gpu.view()), batch, out);
    const Array<offset_t> found = counts.to(Device{});
    for (index_t i = 0; i < a.rows(); ++i) {
      EXPECT_EQ(found[i], expected.row_offsets()[i + 1] - expected.row_offsets()[i]) << "row " << i;
    }
  }
}

void check_sample(const Device& gpu, const Csr<double>& a) {
  const Csr<double> c = spgemm(a, a).matrix;
  const Csr<double> on_gpu = a.to(gpu);
  cuda::CompressionSample expected;
  for (index_t k = 0; k < cuda::sample_size(a.rows()); ++k) {
    const index_t row = cuda::sampled_row(a.rows(), k);
    ASSERT_LT(row, a.rows());
    if (k > 0) {
      ASSERT_GT(row, cuda::sampled_row(a.rows(), k - 1));
    }
    const auto entries = static_cast<unsigned long long>(c.row_offsets()[row + 1] - c.row_offsets()[row]);
    ++expected.rows;
    for (offset_t at = a.row_offsets()[row]; at < a.row_offsets()[row + 1]; ++at) {
      const index_t b_row = a.columns()[at];
      expected.products += static_cast<unsigned long long>(a.row_offsets()[b_row + 1] - a.row_offsets()[b_row]);
    }
    expected.entries += entries;
    expected.squares += entries * entries;
    expected.most_entries = std::max(expected.most_entries, static_cast<unsigned>(entries));
  }
  for (const double mean : {5.0, 20.0}) {
    Array<cuda::CompressionSample> sample(1, Init::zero, gpu);
    const cuda::DeviceGuard current(gpu);
    cuda::enqueue_compression_sample(cuda::Context::of(gpu),
                                     host::factors_of<cuda::NoValue>(on_gpu.view(), on_gpu.view()), a.rows(), mean,
                                     sample.data());
    const Array<cuda::CompressionSample> found = sample.to(Device{});
    EXPECT_EQ(found[0].rows, expected.rows);
    EXPECT_EQ(found[0].products, expected.products);
    EXPECT_EQ(found[0].entries, expected.entries);
    EXPECT_EQ(found[0].squares, expected.squares);
    EXPECT_EQ(found[0].most_entries, expected.most_entries);
    EXPECT_EQ(found[0].long_rows, 0U);
  }
}

TEST_F(SmallHashCuda, SampleOfAProduct) {
  for (const char* spec : {"lap2d:4000", "fem3d:300", "lap2d:12"}) {
    SCOPED_TRACE(spec);
    check_sample(gpu(), generate<double>(parse_generator(spec)));
  }
}

}  // namespace
}  // namespace tessera
