// Arrays on a GPU.
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tests/support/cuda_test.hpp"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera {
namespace {

class CudaArray : public testing::CudaTest {
 protected:
  static std::vector<int> counted(std::size_t size) {
    std::vector<int> result(size);
    std::iota(result.begin(), result.end(), 1);
    return result;
  }
  static std::vector<int> download(const Array<int>& array) {
    const Array<int> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }
};

TEST_F(CudaArray, ComesBackAsItWent) {
  for (const std::size_t size : {1U, 7U, 4096U, 1000003U}) {
    const std::vector<int> source = counted(size);
    const auto a = Array<int>::copy_of(source, gpu());
    EXPECT_EQ(a.device(), gpu());
    EXPECT_EQ(a.bytes(), size * sizeof(int));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0U);
    EXPECT_EQ(download(a), source);
    EXPECT_EQ(download(a.to(gpu())), source);
  }
}

TEST_F(CudaArray, IsZeroed) {
  const Array<int> a(100000, Init::zero, gpu());
  EXPECT_EQ(download(a), std::vector<int>(100000));
}

TEST_F(CudaArray, EmptyOnesWorkEverywhere) {
  const Array<int> none(0, Init::zero, gpu());
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.device(), gpu());
  EXPECT_TRUE(none.to(Device{}).empty());
  EXPECT_TRUE(Array<int>{}.to(gpu()).empty());
  EXPECT_TRUE(Array<int>::copy_of({}, gpu()).empty());
}

TEST_F(CudaArray, CopiesAreDeep) {
  std::vector<int> source = counted(1000);
  auto a = Array<int>::copy_of(source, gpu());
  const Array<int> b = a.to(gpu());
  const std::vector<int> other(1000, 5);
  detail::copy_bytes(gpu(), a.data(), Device{}, other.data(), a.bytes());
  EXPECT_EQ(download(b), source);
  EXPECT_EQ(download(a), other);
}

TEST_F(CudaArray, MovesBetweenPlaces) {
  const std::vector<int> source = counted(50);
  auto a = Array<int>::copy_of(source, gpu());
  const int* data = a.data();
  Array<int> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the state after a move is documented
  Array<int> c(10);
  c = std::move(b);
  EXPECT_EQ(c.device(), gpu());
  EXPECT_EQ(download(c), source);
  c = Array<int>(3);
  EXPECT_TRUE(c.device().is_host());
}

TEST_F(CudaArray, SaysWhatWasAskedForWhenMemoryRunsOut) {
  constexpr std::int64_t huge = std::int64_t{1} << 48;
  for (int round = 0; round < 2; ++round) {
    try {
      const Array<double> a(huge, Init::none, gpu());
      FAIL() << "no GPU has 2 PiB";
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.requested_bytes(), std::uint64_t{8} << 48);
      EXPECT_GT(error.available_bytes(), 0U);
      EXPECT_NE(std::string(error.what()).find("cuda:0"), std::string::npos) << error.what();
    }
    // The device goes on working.
    EXPECT_EQ(download(Array<int>::copy_of(counted(1000), gpu())), counted(1000));
  }
}

TEST_F(CudaArray, SmallOnesAreHadAgainAfterMemoryRanOut) {
  std::vector<Array<char>> held;
  const std::uint64_t free_bytes = survey_cuda().devices.at(0).memory_free_bytes;
  const auto part = static_cast<std::int64_t>(free_bytes / 4);
  try {
    for (int i = 0; i < 6; ++i) held.emplace_back(part, Init::none, gpu());
    FAIL() << "six quarters of the memory were had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.requested_bytes(), static_cast<std::uint64_t>(part));
  }
  EXPECT_GE(held.size(), 2U);
  held.clear();
  EXPECT_EQ(download(Array<int>::copy_of(counted(9), gpu())), counted(9));
}

/// Matrices share a structure only with values on the same device.
TEST_F(CudaArray, ValuesOfAnotherDeviceAreRefusedByAMatrix) {
  const auto a = Csr<double>::pattern(1, 2, Array<offset_t>::copy_of(std::vector<offset_t>{0, 2}),
                                      Array<index_t>::copy_of(std::vector<index_t>{0, 1}));
  EXPECT_THROW(static_cast<void>(a.with_values(Array<double>(2, Init::zero, gpu()))), InvalidArgument);
}

}  // namespace
}  // namespace tessera
