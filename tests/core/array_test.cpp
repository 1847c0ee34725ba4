#include "tessera/array.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace tessera {
namespace {

TEST(Array, IsZeroedAndAligned) {
  for (const std::int64_t size : {1, 7, 100000}) {
    const Array<double> a(size);
    EXPECT_EQ(a.size(), size);
    EXPECT_EQ(a.bytes(), static_cast<std::uint64_t>(size) * 8);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
    for (const double value : a) ASSERT_EQ(value, 0.0);
  }
}

TEST(Array, EmptyOnesAreEqualToNothing) {
  const Array<int> none;
  const Array<int> zero(0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(zero.span().empty());
  EXPECT_EQ(zero.to(Device{}).size(), 0);
  EXPECT_EQ(Array<int>::copy_of({}).size(), 0);
}

TEST(Array, CopiesAreDeep) {
  std::vector<int> source{1, 2, 3};
  Array<int> a = Array<int>::copy_of(source);
  const Array<int> b = a.to(Device::host(2));
  source[0] = 9;
  a[1] = 9;
  EXPECT_EQ(a[0], 1);
  EXPECT_EQ(b[1], 2);
  EXPECT_EQ(b.device(), Device{});
}

TEST(Array, MovesLeaveTheSourceEmpty) {
  const std::vector<int> source{4, 5};
  Array<int> a = Array<int>::copy_of(source);
  const int* data = a.data();
  Array<int> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the state after a move is documented
  Array<int> c(10);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 2);
  Array<int>& alias = c;
  c = std::move(alias);
  EXPECT_EQ(c[1], 5);
}

TEST(Array, AdoptedMemoryLivesAsLongAsTheArray) {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{7, 8, 9});
  const std::weak_ptr<std::vector<int>> watch = owner;
  Array<int> a = Array<int>::adopt(*owner, owner);
  const int* data = owner->data();
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(a.data(), data);
  EXPECT_EQ(a.bytes(), 3 * sizeof(int));
  Array<int> b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the state after a move is documented
  EXPECT_EQ(b[2], 9);
  const Array<int> copy = b.to(Device{});
  b = Array<int>(4);  // memory of its own in place of the adopted
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(copy[0], 7);
}

TEST(Array, AdoptedMemoryMayBeKeptAliveByTheCaller) {
  std::vector<int> memory{1, 2};
  {
    Array<int> a = Array<int>::adopt(memory, nullptr);
    a[0] = 5;
    Array<int> owning(3);
    owning = std::move(a);
    EXPECT_EQ(owning.size(), 2);
  }
  EXPECT_EQ(memory[0], 5);
}

TEST(Array, SizesThatCannotBe) {
  EXPECT_THROW(Array<double>(-1), InvalidArgument);
  EXPECT_THROW(Array<double>(std::numeric_limits<std::int64_t>::max()), InvalidArgument);
  try {
    const Array<char> huge(std::int64_t{1} << 60, Init::none);
    FAIL() << "allocated";
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.requested_bytes(), std::uint64_t{1} << 60);
  }
}

}  // namespace
}  // namespace tessera
