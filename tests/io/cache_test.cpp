// A cache never changes the matrix that is read, whatever happens to it or to its source.
#include "io/binary_header.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_cache.hpp"
#include "tests/io/files.hpp"
#include "tests/support/compare.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {
namespace {

const std::string head = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 0.1\n3 2 ";

class Cache : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path source() const { return dir_.file("a.mtx"); }
  [[nodiscard]] std::filesystem::path cache() const { return dir_.file("a.mtx.tsb"); }

  /// Reads through the cache, and checks that the matrix is the one in the text.
  template <class T = double>
  CachedMatrix<T> read(const CacheOptions& options = {}) {
    auto cached = read_cached<T>(source(), options);
    const auto text = read_matrix_market<T>(source(), options.read);
    testing::expect_identical(cached.file.matrix.view(), text.matrix.view());
    EXPECT_EQ(cached.file.duplicates, text.duplicates);
    EXPECT_EQ(cached.file.explicit_zeros, text.explicit_zeros);
    EXPECT_EQ(cached.file.header.symmetry, text.header.symmetry);
    EXPECT_EQ(cached.file.header.field, text.header.field);
    EXPECT_EQ(cached.file.header.entries, text.header.entries);
    return cached;
  }

  /// Sets the time of the last modification.
  void set_time(std::int64_t seconds) const {
    const std::array<timespec, 2> times{timespec{seconds, 0}, timespec{seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, source().c_str(), times.data(), 0), 0);
  }

  /// Marks the source as settled in the cache, as it would be after two seconds without a change.
  void settle() {
    auto text = read_matrix_market<double>(source());
    struct stat status {};
    ASSERT_EQ(::stat(source().c_str(), &status), 0);
    BinarySource identity = *read_binary_info(cache()).source;
    const auto ns = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
    EXPECT_EQ(identity.modified_ns, ns(status.st_mtim));
    EXPECT_EQ(identity.changed_ns, ns(status.st_ctim));
    EXPECT_EQ(identity.inode, status.st_ino);
    identity.settled = true;
    write_binary(cache(), text, identity);
  }

  testing::TemporaryDirectory dir_;
};

TEST_F(Cache, WrittenOnceThenUsed) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  const auto first = read();
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(first.written);
  EXPECT_EQ(first.cache, cache());
  EXPECT_EQ(first.note, "no cache yet");
  const auto second = read();
  EXPECT_TRUE(second.from_cache);
  EXPECT_FALSE(second.written);
  EXPECT_EQ(second.note, "");
  settle();
  EXPECT_TRUE(read().from_cache);
}

TEST_F(Cache, NobodyElseReadsTheCopyOfAPrivateFile) {
  using std::filesystem::perms;
  const mode_t umask = ::umask(022);
  const auto mode = [](const std::filesystem::path& path) { return std::filesystem::status(path).permissions(); };
  const perms owner = perms::owner_read | perms::owner_write;
  const perms everyone = owner | perms::group_read | perms::others_read;
  std::filesystem::create_directory(dir_.file("caches"));
  for (const std::filesystem::path& directory : {std::filesystem::path(), dir_.file("caches")}) {
    SCOPED_TRACE(directory);
    testing::write_text(source(), head + "2\n2 2 7\n");
    const CacheOptions options{.read = {}, .directory = directory};
    const auto cache = cache_path(source(), directory);
    std::filesystem::permissions(source(), owner);
    EXPECT_TRUE(read(options).written);
    EXPECT_EQ(mode(cache), owner);
    // A public source, a new cache; then the source becomes private.
    testing::write_text(source(), head + "3\n2 2 7\n");
    std::filesystem::permissions(source(), everyone);
    EXPECT_TRUE(read(options).written);
    EXPECT_EQ(mode(cache), everyone);
    std::filesystem::permissions(source(), owner);
    EXPECT_TRUE(read(options).from_cache);
    EXPECT_EQ(mode(cache), owner);
    // A public cache of an older state is replaced.
    testing::write_text(source(), head + "4\n2 2 7\n");
    std::filesystem::permissions(cache, everyone);
    EXPECT_TRUE(read(options).written);
    EXPECT_EQ(mode(cache), owner);
  }
  ::umask(umask);
}

TEST_F(Cache, SourceOfTheSameSizeChanged) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  // Unsettled: the content decides, even where all times agree.
  std::fstream(source(), std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(head.size())) << "9";
  auto changed = read();
  EXPECT_FALSE(changed.from_cache);
  EXPECT_TRUE(changed.written);
  EXPECT_EQ(changed.note, "the cache was made from another state of the file");
  // Settled, then changed with the modification time set back: the time of change gives it away.
  set_time(1'000'000'000);
  std::filesystem::remove(cache());
  static_cast<void>(read());
  settle();
  std::fstream(source(), std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(head.size())) << "4";
  set_time(1'000'000'000);
  changed = read();
  EXPECT_FALSE(changed.from_cache);
  // Replaced by another file with the same size and time.
  settle();
  testing::write_text(dir_.file("b.mtx"), head + "5\n2 2 7\n");
  std::filesystem::rename(dir_.file("b.mtx"), source());
  set_time(1'000'000'000);
  EXPECT_FALSE(read().from_cache);
}

/// A cache as format version 1 had it: version and checksums are all that differs.
std::string as_version_1(std::string cache, const std::string& source) {
  const auto lanes = [](const char* data, std::uint64_t bytes) {
    return io::checksum(io::Checksum::lanes, data, bytes, Device::host(1));
  };
  io::BinaryHeader header;
  std::memcpy(&header, cache.data(), sizeof(header));
  header.version = 1;
  header.source_hash = lanes(source.data(), source.size());
  for (io::BinarySection& section : header.sections) {
    section.checksum = lanes(cache.data() + section.offset, section.bytes);
  }
  header.checksum = io::header_checksum(header);
  std::memcpy(cache.data(), &header, sizeof(header));
  return cache;
}

TEST_F(Cache, OfFormatVersion1IsComparedByItsOwnChecksum) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  const std::string old = as_version_1(testing::read_text(cache()), testing::read_text(source()));
  testing::write_text(cache(), old);
  set_time(1'200'000'000);
  EXPECT_TRUE(read().from_cache);
  std::fstream(source(), std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(head.size())) << "9";
  EXPECT_FALSE(read().from_cache);
}

TEST_F(Cache, TouchedOnlyIsStillTheSame) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  set_time(1'200'000'000);
  EXPECT_TRUE(read().from_cache);
}

TEST_F(Cache, SourceOfAnotherSize) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  testing::write_text(source(), head + "2\n2 2 70\n");
  EXPECT_FALSE(read().from_cache);
  EXPECT_TRUE(read().from_cache);
}

TEST_F(Cache, OtherPrecisionIsReadAnew) {
  // 0.1 in double is not 0.1 in single; a conversion could round twice.
  testing::write_text(source(), head + "1.00000005960464477539062500001\n2 2 7\n");
  static_cast<void>(read<double>());
  const auto single = read<float>();
  EXPECT_FALSE(single.from_cache);
  EXPECT_EQ(single.note, "the cache holds fp64 values");
  EXPECT_TRUE(read<float>().from_cache);
}

TEST_F(Cache, PatternsServeBothPrecisions) {
  testing::write_text(source(), "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n");
  static_cast<void>(read<double>());
  EXPECT_TRUE(read<float>().from_cache);
}

TEST_F(Cache, MergedEntriesAreNotServedWhereTheyAreRefused) {
  testing::write_text(source(), head + "2\n3 2 7\n");
  EXPECT_EQ(read().file.duplicates, 1);
  CacheOptions strict;
  strict.read.duplicates = Duplicates::error;
  try {
    static_cast<void>(read_cached<double>(source(), strict));
    FAIL() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.line(), 5);
    EXPECT_EQ(e.file(), source().string());
  }
  testing::write_text(source(), head + "2\n2 2 7\n");
  EXPECT_FALSE(read(strict).from_cache);
  EXPECT_TRUE(read(strict).from_cache);
  EXPECT_TRUE(read().from_cache);
}

TEST_F(Cache, EveryDamagedByteIsRepaired) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  const std::string bytes = testing::read_text(cache());
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    std::fstream(cache(), std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(k))
        << static_cast<char>(bytes[k] ^ 0x10);
    const auto repaired = read();
    ASSERT_FALSE(repaired.from_cache) << k;
    ASSERT_TRUE(repaired.written) << k;
    ASSERT_TRUE(repaired.note.starts_with(cache().string() + ": byte ")) << repaired.note;
  }
  std::filesystem::resize_file(cache(), bytes.size() / 2);
  EXPECT_FALSE(read().from_cache);
  EXPECT_TRUE(read().from_cache);
}

TEST_F(Cache, ABinaryFileWithoutASourceIsNoCache) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  write_binary(cache(), read_matrix_market<double>(source()).matrix.view());
  EXPECT_FALSE(read().from_cache);
}

TEST_F(Cache, GzipSources) {
  testing::write_text(source(), testing::gzip(head + "2\n2 2 7\n"));
  EXPECT_FALSE(read().from_cache);
  EXPECT_TRUE(read().from_cache);
  testing::write_text(source(), testing::gzip(head + "3\n2 2 7\n"));
  EXPECT_FALSE(read().from_cache);
}

TEST_F(Cache, UnwritableIsANote) {
  testing::write_text(source(), head + "2\n2 2 7\n");
  std::filesystem::create_directory(cache());
  const auto unwritten = read();
  EXPECT_FALSE(unwritten.written);
  EXPECT_NE(unwritten.note.find("cannot write \"" + cache().string() + "\": Is a directory"), std::string::npos)
      << unwritten.note;
  CacheOptions elsewhere;
  elsewhere.directory = dir_.file("missing");
  EXPECT_FALSE(read(elsewhere).written);
}

TEST_F(Cache, Directories) {
  std::filesystem::create_directory(dir_.file("x"));
  std::filesystem::create_directory(dir_.file("cache"));
  testing::write_text(source(), head + "2\n2 2 7\n");
  testing::write_text(dir_.file("x") / "a.mtx", head + "3\n2 2 7\n");
  CacheOptions options;
  options.directory = dir_.file("cache");
  const auto here = read(options);
  EXPECT_EQ(here.cache.parent_path(), options.directory);
  EXPECT_NE(here.cache, cache_path(dir_.file("x") / "a.mtx", options.directory));
  EXPECT_EQ(here.cache, cache_path(dir_.file("x") / ".." / "a.mtx", options.directory));
  EXPECT_TRUE(read(options).from_cache);
  EXPECT_FALSE(read_cached<double>(dir_.file("x") / "a.mtx", options).from_cache);
}

TEST_F(Cache, ErrorsOfTheSourceStayErrors) {
  EXPECT_THROW(static_cast<void>(read_cached<double>(source())), IoError);
  testing::write_text(source(), head + "x\n2 2 7\n");
  EXPECT_THROW(static_cast<void>(read_cached<double>(source())), ParseError);
  EXPECT_FALSE(std::filesystem::exists(cache()));
  testing::write_text(source(), head + "2\n2 2 7\n");
  static_cast<void>(read());
  CacheOptions tiny;
  tiny.read.memory_limit_bytes = 100;
  EXPECT_THROW(static_cast<void>(read_cached<double>(source(), tiny)), OutOfMemory);
}

}  // namespace
}  // namespace tessera
