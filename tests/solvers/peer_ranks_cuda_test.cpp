/// The end of an iteration of PageRank on two GPUs, one of which is played by the test: what it would have sent lies in
/// the mailbox beforehand.
#include "core/communicator.hpp"
#include "core/cuda/peer_exchange.hpp"
#include "core/group_rank.hpp"
#include "solvers/distributed/peer_ranks.hpp"
#include "tessera/array.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace tessera::testing {
namespace {

/// As cuda::NumberedWord, which only kernels know.
struct alignas(16) Word {
  std::uint64_t value = 0;
  std::uint64_t number = 0;
};

constexpr std::uint64_t sums_so_far = 41;  // the next one is even
constexpr index_t rows = 1000;
constexpr index_t rows_of_other = 700;
constexpr index_t others_before = 5;  ///< elements of a third rank in the other's halo

class PeerRanksOnGpu : public CudaTest {
 protected:
  using Side = std::vector<double>;

  /// \param needed own rows that the other needs
  void connect(const std::vector<index_t>& needed) {
    const auto elements = static_cast<std::int64_t>(rows_of_other) + others_before + std::ssize(needed);
    for (auto& side : theirs_) side = Array<double>::copy_of(Side(static_cast<std::size_t>(elements), -1.0), gpu());
    Side own(static_cast<std::size_t>(rows));
    for (int side = 0; side < 2; ++side) {
      std::iota(own.begin(), own.end(), 1000.0 * side);
      own_[side] = Array<double>::copy_of(own, gpu());
    }
    for (auto& mailbox : mailboxes_) mailbox = Array<Word>(cuda::mailbox_words, Init::zero, gpu());
    words_ = Array<std::uint32_t>(2, Init::zero, gpu());
    state_ = Array<detail::RankState>(1, Init::none, gpu());
    cuda::PeerExchange exchange;
    exchange.rank = 0;
    exchange.size = 2;
    exchange.number = sums_so_far;
    exchange.patience = 1'000'000;
    exchange.lost_on_host = words_.data();
    exchange.stop = words_.data() + 1;
    for (int rank = 0; rank < 2; ++rank) {
      exchange.mailboxes[rank] = reinterpret_cast<cuda::NumberedWord*>(mailboxes_[rank].data());
    }
    exchange_ = Array<cuda::PeerExchange>::copy_of(std::span(&exchange, 1), gpu());

    const auto communicator = std::make_shared<detail::Communicator>(std::vector<std::string>{"cuda:0", "played"});
    const detail::GroupRank of_first{.communicator = communicator, .exchange = exchange_.data()};
    const Device device = detail::RankAccess::as_rank(gpu(), std::make_shared<const detail::GroupRank>(of_first));
    const detail::ExchangeLists lists{.rows_for = {{}, needed}, .halo_offsets = {0, 3, 40}};
    const detail::RankVectors<double> vectors{.scaled = {own_[0].data(), own_[1].data()}};
    communicator->run([&](int rank) {
      if (rank == 0) {
        ending_ = cuda::make_peer_ranks<double>(lists, rows, vectors, device);
        return;
      }
      std::vector<std::array<double*, 2>> pointers(2);
      std::vector<std::array<index_t, detail::most_ranks>> begins(2);
      communicator->gather(1, std::array<double*, 2>{theirs_[0].data(), theirs_[1].data()}, std::span(pointers));
      std::array<index_t, detail::most_ranks> own_begins{};
      own_begins[0] = rows_of_other + others_before;
      communicator->gather(1, own_begins, std::span(begins));
      EXPECT_EQ(begins[0][1], rows + 3) << "where the halo of the other begins in the vectors of the first";
    });
  }

  /// What the other rank has sent, for the next sum.
  void post(const detail::RankSums& sums) {
    std::vector<Word> words(cuda::mailbox_words);
    constexpr std::uint64_t number = sums_so_far + 1;
    constexpr std::size_t count = sizeof(sums) / sizeof(std::uint64_t);
    std::array<std::uint64_t, count> bits{};
    std::memcpy(bits.data(), &sums, sizeof(sums));
    const std::size_t first = ((number & 1) * detail::most_ranks + 1) * cuda::most_exchanged_words;
    for (std::size_t k = 0; k < count; ++k) words[first + k] = {bits[k], number};
    detail::copy_bytes(gpu(), mailboxes_[0].data(), Device{}, words.data(), words.size() * sizeof(Word));
  }

  /// \returns the state afterwards
  detail::RankState end(const detail::RankState& before, const detail::RankSums& own) {
    const Array<detail::RankSums> sums = Array<detail::RankSums>::copy_of(std::span(&own, 1), gpu());
    detail::copy_bytes(gpu(), state_.data(), Device{}, &before, sizeof(before));
    ending_->enqueue_end(rules(), state_.data(), sums.data());
    detail::RankState after;
    detail::copy_bytes(Device{}, &after, gpu(), state_.data(), sizeof(after));
    return after;
  }

  static detail::RankRules rules() {
    PageRankOptions options;
    options.tolerance = 1e-6;
    return detail::rank_rules<double>(options, rows + rows_of_other);
  }

  [[nodiscard]] Side theirs(int side) const {
    const Array<double> host = theirs_[side].to(Device{});
    return {host.begin(), host.end()};
  }

  Array<double> own_[2];
  Array<double> theirs_[2];
  Array<Word> mailboxes_[2];
  Array<std::uint32_t> words_;
  Array<cuda::PeerExchange> exchange_;
  Array<detail::RankState> state_;
  std::unique_ptr<detail::RankExchange> ending_;
};

detail::RankSums sums_of(double total, double dangling, double l1) {
  detail::RankSums sums;
  sums.total.add(total);
  sums.dangling.add(dangling);
  sums.l1 = l1;
  return sums;
}

/// Iteration 4 reads the first of the two vectors and writes the second.
TEST_F(PeerRanksOnGpu, SendListsAndWholeVectorsAndSumOverBoth) {
  std::vector<index_t> every_third;
  for (index_t row = 1; row < rows; row += 3) every_third.push_back(row);
  std::vector<index_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  for (const std::vector<index_t>& needed : {every_third, all}) {
    connect(needed);
    post(sums_of(0.25, 0.125, 0.5));
    detail::RankState before;
    before.iteration = 4;
    const detail::RankState after = end(before, sums_of(0.5, 0.25, 0.125));
    EXPECT_EQ(after.iteration, 5);
    EXPECT_EQ(after.halt, 0);
    EXPECT_EQ(after.sums.total.value(), 0.75);
    EXPECT_EQ(after.sums.dangling.value(), 0.375);
    EXPECT_EQ(after.norm, 0.625);
    EXPECT_EQ(after.weights.links, 0.85 / 0.75);

    EXPECT_EQ(theirs(0), Side(theirs(0).size(), -1.0));
    Side wanted(static_cast<std::size_t>(rows_of_other + others_before), -1.0);
    for (const index_t row : needed) wanted.push_back(1000.0 + row);
    EXPECT_EQ(theirs(1), wanted);

    // Its own sums lie in the mailbox of the other, with their number.
    const Array<Word> received = mailboxes_[1].to(Device{});
    const Word first = received[((sums_so_far + 1) & 1) * detail::most_ranks * cuda::most_exchanged_words];
    double total = 0.0;
    std::memcpy(&total, &first.value, sizeof(total));
    EXPECT_EQ(total, 0.5);
    EXPECT_EQ(first.number, sums_so_far + 1);
  }
}

TEST_F(PeerRanksOnGpu, DoNothingOnceHalted) {
  connect({1, 2, 3});
  detail::RankState before;
  before.iteration = 4;
  before.halt = 1;
  before.status = Status::converged;
  const detail::RankState after = end(before, sums_of(0.5, 0.25, 0.125));
  EXPECT_EQ(after.iteration, 4);
  EXPECT_EQ(after.status, Status::converged);
  EXPECT_EQ(theirs(1), Side(theirs(1).size(), -1.0));
}

/// Without an answer the loop ends, and the host can tell who was lost.
TEST_F(PeerRanksOnGpu, EndWhereTheOtherDoesNotAnswer) {
  connect({1, 2, 3});
  detail::RankState before;
  before.iteration = 4;
  const detail::RankState after = end(before, sums_of(0.5, 0.25, 0.125));
  EXPECT_NE(after.halt, 0);
  EXPECT_EQ(after.iteration, 4);
  EXPECT_EQ(words_.to(Device{})[0], 2U);
}

}  // namespace
}  // namespace tessera::testing
