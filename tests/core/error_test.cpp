#include "tessera/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

TEST(Error, ParseErrorSaysWhere) {
  const ParseError e("a.mtx", 17, 3, "expected 1, found 2");
  EXPECT_EQ(std::string(e.what()), "a.mtx:17:3: expected 1, found 2");
  EXPECT_EQ(e.file(), "a.mtx");
  EXPECT_EQ(e.line(), 17);
  EXPECT_EQ(e.column(), 3);
}

TEST(Error, OutOfMemorySaysHowMuch) {
  EXPECT_EQ(std::string(OutOfMemory(3 << 20, 1 << 19, "row offsets").what()),
            "out of memory: row offsets needs 3 MiB, 512 KiB are available");
  EXPECT_EQ(std::string(OutOfMemory(3 << 20, 0, "row offsets").what()), "out of memory: row offsets needs 3 MiB");
  EXPECT_EQ(std::string(OutOfMemory(std::uint64_t{5} << 39, 1023, "x").what()),
            "out of memory: x needs 2.5 TiB, 1023 B are available");
}

TEST(Error, AllAreTesseraErrors) {
  EXPECT_THROW(throw ParseError("f", 1, 1, ""), Error);
  EXPECT_THROW(throw OutOfMemory(1, 1, ""), Error);
  EXPECT_THROW(throw CudaError(2, ""), Error);
  EXPECT_THROW(throw InvalidMatrix(""), std::runtime_error);
}

}  // namespace
}  // namespace tessera
