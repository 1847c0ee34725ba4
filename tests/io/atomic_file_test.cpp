// Output names, temporaries and what is left of an output that was given up.
#include "io/atomic_file.hpp"
#include "tessera/error.hpp"
#include "tessera/text_file.hpp"
#include "tests/io/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

TEST(AtomicFile, ADanglingLinkKeepsPointing) {
  const testing::TemporaryDirectory dir;
  std::filesystem::create_symlink("new.mtx", dir.file("link"));
  write_text_file(dir.file("link"), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")));
  EXPECT_EQ(testing::read_text(dir.file("new.mtx")), "text");
}

TEST(AtomicFile, ALoopOfLinksIsRefused) {
  const testing::TemporaryDirectory dir;
  std::filesystem::create_symlink("b", dir.file("a"));
  std::filesystem::create_symlink("a", dir.file("b"));
  EXPECT_THROW(write_text_file(dir.file("a"), "text"), IoError);
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("a")));
  EXPECT_EQ(dir.count(), 2U);
}

TEST(AtomicFile, TheLongestNameWorks) {
  const testing::TemporaryDirectory dir;
  const std::string name(255, 'n');
  write_text_file(dir.file(name), "text");
  EXPECT_EQ(testing::read_text(dir.file(name)), "text");
  EXPECT_EQ(dir.count(), 1U);
}

TEST(AtomicFile, TheTemporaryOfADeadRunIsNotInTheWay) {
  const testing::TemporaryDirectory dir;
  for (int k = 0; k < 100; ++k) {
    testing::write_text(dir.file("x.mtx.tmp-" + std::to_string(::getpid()) + "-" + std::to_string(k)), "");
  }
  write_text_file(dir.file("x.mtx"), "text");
  EXPECT_EQ(testing::read_text(dir.file("x.mtx")), "text");
}

TEST(AtomicFile, GivenUpLeavesTheOldFileAlone) {
  const testing::TemporaryDirectory dir;
  testing::write_text(dir.file("x"), "old");
  {
    io::AtomicFile file(dir.file("x"));
    file.write("new");
  }
  EXPECT_EQ(testing::read_text(dir.file("x")), "old");
  EXPECT_EQ(dir.count(), 1U);
}

}  // namespace
}  // namespace tessera
