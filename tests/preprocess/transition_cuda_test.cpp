// PageRank's transition matrix on a GPU: the bits and the refusals of the host, whose result transition_test.cpp holds
// against Eigen.
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/make_csr.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::make_csr;
using testing::make_pattern;

class TransitionCuda : public testing::CudaTest {};

/// Whether memory of a GPU holds the bits of memory of the host.
template <class U>
[[nodiscard]] bool same_bits(const Device& gpu, std::span<const U> on_gpu, std::span<const U> on_host) {
  if (on_gpu.size() != on_host.size()) return false;
  if (on_gpu.empty()) return true;
  std::vector<U> fetched(on_gpu.size());
  detail::copy_bytes(Device{}, fetched.data(), gpu, on_gpu.data(), on_gpu.size_bytes());
  return std::memcmp(fetched.data(), on_host.data(), on_host.size_bytes()) == 0;
}

template <class T>
void expect_same_bits(const Device& gpu, const TransitionMatrix<T>& found, const TransitionMatrix<T>& expected) {
  ASSERT_EQ(found.device(), gpu);
  ASSERT_EQ(found.vertices(), expected.vertices());
  ASSERT_EQ(found.edges(), expected.edges());
  const Csr<T>& links = *found.in_links();
  ASSERT_EQ(links.is_pattern(), expected.in_links()->is_pattern());
  ASSERT_TRUE(same_bits(gpu, links.row_offsets().span(), expected.in_links()->row_offsets().span()));
  ASSERT_TRUE(same_bits(gpu, links.columns().span(), expected.in_links()->columns().span()));
  ASSERT_TRUE(same_bits(gpu, links.values().span(), expected.in_links()->values().span()));
  ASSERT_TRUE(same_bits(gpu, found.inverse_out_weight(), expected.inverse_out_weight()));
  ASSERT_TRUE(same_bits(gpu, found.out_degree(), expected.out_degree()));
  ASSERT_TRUE(same_bits(gpu, found.dangling(), expected.dangling()));
  ASSERT_EQ(found.bytes(), expected.bytes());
}

template <class T>
void expect_bits_of_host(const Device& gpu, const Csr<T>& graph) {
  const Csr<T> on_gpu = graph.to(gpu);
  expect_same_bits(gpu, TransitionMatrix<T>(on_gpu.view(), gpu), TransitionMatrix<T>(graph.view()));
}

/// The matrix with weights of many sizes, every `zero_every`-th of which is 0; 0: none.
template <class T>
[[nodiscard]] Csr<T> with_weights(const Csr<T>& graph, offset_t zero_every) {
  Array<T> values(graph.nnz(), Init::none);
  for (offset_t k = 0; k < graph.nnz(); ++k) {
    const bool zero = zero_every > 0 && k % zero_every == 0;
    values[k] =
        zero ? static_cast<T>(k % 2 == 0 ? 0.0 : -0.0) : static_cast<T>(std::exp(0.01 * static_cast<double>(k % 997)));
  }
  return graph.with_values(std::move(values));
}

template <class T>
void check_square_graphs(const Device& gpu) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<T>(ValueStorage::pattern, {672})) {
    if (matrix.rows() != matrix.cols()) continue;
    SCOPED_TRACE(name);
    expect_bits_of_host(gpu, matrix);
    for (const offset_t zero_every : {offset_t{0}, offset_t{1}, offset_t{3}}) {
      expect_bits_of_host(gpu, with_weights(matrix, zero_every));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_F(TransitionCuda, HasTheBitsOfTheHostInDoubles) { check_square_graphs<double>(gpu()); }
TEST_F(TransitionCuda, HasTheBitsOfTheHostInFloats) { check_square_graphs<float>(gpu()); }

TEST_F(TransitionCuda, HubsAndManyBlocks) {
  const auto graph =
      testing::with_row_lengths<double>(testing::power_law_lengths(3000, 2900, 3), 3000, ValueStorage::pattern);
  expect_bits_of_host(gpu(), graph);
  expect_bits_of_host(gpu(), with_weights(graph, 0));
  expect_bits_of_host(gpu(), with_weights(graph, 2));
}

TEST_F(TransitionCuda, PermutedHasTheBitsOfTheHost) {
  const auto graph =
      testing::with_row_lengths<double>(testing::power_law_lengths(700, 600, 3), 700, ValueStorage::pattern);
  for (const Csr<double>& each : {Csr<double>{}, graph.to(Device{}), with_weights(graph, 2)}) {
    const TransitionMatrix<double> on_host(each.view());
    const TransitionMatrix<double> on_gpu(each.to(gpu()).view(), gpu());
    const auto order = ordering(on_host.in_links()->view(), Ordering::degree);
    const Array<index_t> order_on_gpu = ordering(on_gpu.in_links()->view(), Ordering::degree, gpu());
    expect_same_bits(gpu(), on_gpu.permuted(order_on_gpu.span()), on_host.permuted(order));
  }
}

TEST_F(TransitionCuda, SmallGraphs) {
  expect_bits_of_host(gpu(), Csr<double>{});
  expect_bits_of_host(gpu(), make_csr<double>(1, 1, {0, 0}, {}, {}));
  expect_bits_of_host(gpu(), make_csr<float>(1, 1, {0, 1}, {0}, {0.0F}));
  expect_bits_of_host(gpu(), make_pattern<float>(3, 3, {0, 0, 0, 0}, {}));
  // Equal weights, whose inverse would overflow, become a pattern.
  expect_bits_of_host(gpu(), make_csr<double>(3, 3, {0, 2, 3, 4}, {0, 1, 2, 0}, {1e-320, 1e-320, 0.0, 1e-320}));
}

template <class T>
[[nodiscard]] std::string refusal(const CsrView<T>& graph, const Device& device) {
  try {
    (void)TransitionMatrix<T>(graph, device);
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "accepted";
}

template <class T>
void expect_refusal_of_host(const Device& gpu, const Csr<T>& graph) {
  const std::string expected = refusal(graph.view(), Device{});
  EXPECT_NE(expected, "accepted");
  EXPECT_EQ(refusal(graph.to(gpu).view(), gpu), expected);
}

TEST_F(TransitionCuda, RefusesWithTheWordsOfTheHost) {
  expect_refusal_of_host(gpu(), make_pattern<double>(1, 2, {0, 1}, {1}));
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::denorm_min()}) {
    // The first of two is named, behind an empty row.
    expect_refusal_of_host(gpu(), make_csr<double>(4, 4, {0, 1, 1, 3, 4}, {0, 1, 3, 2}, {1.0, 2.0, bad, bad}));
    expect_refusal_of_host(gpu(), make_csr<double>(2, 2, {0, 1, 1}, {1}, {bad}));
  }
  expect_refusal_of_host(gpu(), make_csr<double>(3, 3, {0, 1, 2, 3}, {1, 0, 0}, {1.0, 1e-310, 1e-310}));
  expect_refusal_of_host(gpu(), make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 0}, {1.7e308, 1.7e308, 1.0}));
  expect_refusal_of_host(gpu(), make_csr<float>(2, 2, {0, 2, 3}, {0, 1, 0}, {1e37F, 1.0F, 1.0F}));
}

}  // namespace
}  // namespace tessera
