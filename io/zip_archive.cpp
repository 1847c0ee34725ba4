#include "io/zip_archive.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#if TESSERA_HAS_MINIZIP
#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace tessera::io {

namespace {

/// The archive as minizip reads it.
struct Stream {
  std::string_view bytes;
  ZPOS64_T position = 0;
};

voidpf ZCALLBACK open_stream(voidpf opaque, const void* /*name*/, int /*mode*/) { return opaque; }

uLong ZCALLBACK read_stream(voidpf /*opaque*/, voidpf stream, void* target, uLong size) {
  auto& in = *static_cast<Stream*>(stream);
  if (in.position >= in.bytes.size()) return 0;
  const std::string_view part = in.bytes.substr(in.position, size);
  std::memcpy(target, part.data(), part.size());
  in.position += part.size();
  return part.size();
}

ZPOS64_T ZCALLBACK tell_stream(voidpf /*opaque*/, voidpf stream) { return static_cast<Stream*>(stream)->position; }

long ZCALLBACK seek_stream(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  auto& in = *static_cast<Stream*>(stream);
  const ZPOS64_T base = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? in.position : in.bytes.size();
  if (offset > in.bytes.size() - std::min<ZPOS64_T>(base, in.bytes.size())) return -1;
  in.position = base + offset;
  return 0;
}

int ZCALLBACK ignore_stream(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }

}  // namespace

struct ZipArchive::Impl {
  Stream stream;
  std::string name;
  unzFile file = nullptr;

  [[noreturn]] void fail(const std::string& message) const {
    throw ParseError::at_byte(name, stream.position, message);
  }
};

ZipArchive::ZipArchive(std::string_view bytes, const std::string& name)
    : impl_(std::make_unique<Impl>(Impl{{bytes, 0}, name, nullptr})) {
  zlib_filefunc64_def functions{};
  functions.zopen64_file = open_stream;
  functions.zread_file = read_stream;
  functions.ztell64_file = tell_stream;
  functions.zseek64_file = seek_stream;
  functions.zclose_file = ignore_stream;
  functions.zerror_file = ignore_stream;
  functions.opaque = &impl_->stream;
  impl_->file = unzOpen2_64("", &functions);
  if (impl_->file == nullptr) impl_->fail("the directory of the zip archive is damaged or cut off");
}

ZipArchive::~ZipArchive() {
  if (impl_->file != nullptr) unzClose(impl_->file);
}

std::optional<ByteBuffer> ZipArchive::read(const std::string& member, MemoryBudget& budget) {
  constexpr int case_sensitive = 1;
  if (unzLocateFile(impl_->file, member.c_str(), case_sensitive) != UNZ_OK) return std::nullopt;
  if (unzOpenCurrentFile(impl_->file) != UNZ_OK) {
    impl_->fail(fmt::format("{} in the archive is damaged or compressed by another method than deflate", member));
  }
  ByteBuffer bytes(budget);
  constexpr std::size_t piece = std::size_t{1} << 18;
  int got = 0;
  do {
    if (bytes.room() == 0) bytes.make_room(piece);
    got = unzReadCurrentFile(impl_->file, bytes.end(), static_cast<unsigned>(std::min(bytes.room(), piece)));
    if (got > 0) bytes.added(static_cast<std::size_t>(got));
  } while (got > 0);
  const int closed = unzCloseCurrentFile(impl_->file);
  if (got < 0) impl_->fail(fmt::format("{} in the archive is damaged", member));
  if (closed != UNZ_OK) impl_->fail(fmt::format("{} in the archive is cut off or has another checksum", member));
  return bytes;
}

std::string ZipArchive::names() {
  std::string text;
  constexpr int most = 5;
  int status = unzGoToFirstFile(impl_->file);
  for (int k = 0; k < most && status == UNZ_OK; ++k) {
    std::array<char, 64> name{};
    if (unzGetCurrentFileInfo64(impl_->file, nullptr, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) != UNZ_OK)
      break;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name.data());
    status = unzGoToNextFile(impl_->file);
  }
  return text.empty() ? "an empty archive" : text;
}

}  // namespace tessera::io

#else

namespace tessera::io {

struct ZipArchive::Impl {};

ZipArchive::ZipArchive(std::string_view /*bytes*/, const std::string& name) {
  throw NotSupported(fmt::format("{}: this build reads no .npz files: built without minizip", name));
}
ZipArchive::~ZipArchive() = default;
std::optional<ByteBuffer> ZipArchive::read(const std::string& /*member*/, MemoryBudget& /*budget*/) {
  return std::nullopt;
}
std::string ZipArchive::names() { return {}; }

}  // namespace tessera::io

#endif
