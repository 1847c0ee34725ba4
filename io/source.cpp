#include "io/source.hpp"

#include "io/document.hpp"
#include "io/input_file.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace tessera::io {

void ByteBuffer::make_room(std::size_t bytes) {
  if (bytes <= room()) return;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2 - size_) throw OutOfMemory(bytes, 0, "text of the file");
  const std::size_t needed = size_ + bytes;
  const std::size_t roomy = std::max(needed, capacity_ + capacity_ / 2);
  // A budget that cannot afford room to spare may still afford what is needed.
  try {
    reallocate(roomy);
  } catch (const OutOfMemory&) {
    if (roomy == needed) throw;
    reallocate(needed);
  }
}

void ByteBuffer::reallocate(std::size_t capacity) {
  budget_->reserve(capacity - capacity_, "text of the file");
  void* grown = std::realloc(data_.get(), capacity);
  if (grown == nullptr) throw OutOfMemory(capacity, 0, "text of the file");
  static_cast<void>(data_.release());
  data_.reset(static_cast<char*>(grown));
  capacity_ = capacity;
}

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

void read_rest(const InputFile& file, ByteBuffer& text) {
  while (true) {
    text.make_room(1);
    const std::size_t got = file.read(text.end(), text.room());
    if (got == 0) return;
    text.added(got);
    if (text.room() == 0) text.make_room(block_bytes);
  }
}

/// Inflates a stream of one or more gzip members.
class GzipReader {
 public:
  GzipReader(const InputFile& file, std::string_view first_bytes) : file_(file), input_(block_bytes) {
    first_bytes.copy(input_.data(), first_bytes.size());
    set_input(first_bytes.size());
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw OutOfMemory(0, 0, "inflating the file");
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() { inflateEnd(&stream_); }

  void read_all(ByteBuffer& text) {
    while (true) {
      if (stream_.avail_in == 0 && !refill()) fail(text, "the gzip stream is truncated: expected more compressed data");
      if (text.room() == 0) text.make_room(block_bytes);
      const int status = inflate_some(text);
      if (status == Z_STREAM_END) {
        if (!next_member(text)) return;
      } else if (status == Z_MEM_ERROR) {
        throw OutOfMemory(0, 0, "inflating the file");
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(text, fmt::format("the gzip stream is corrupt: {}", stream_.msg == nullptr ? "invalid" : stream_.msg));
      }
    }
  }

 private:
  void set_input(std::size_t bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(bytes);
  }

  bool refill() {
    set_input(file_.read(input_.data(), input_.size()));
    return stream_.avail_in > 0;
  }

  int inflate_some(ByteBuffer& text) {
    const auto room = static_cast<uInt>(std::min<std::size_t>(text.room(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(text.end());
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    text.added(room - stream_.avail_out);
    return status;
  }

  /// After a member: another one may follow, or zero bytes that pad the file.
  bool next_member(const ByteBuffer& text) {
    while (stream_.avail_in > 0 || refill()) {
      if (*stream_.next_in != 0) {
        if (*stream_.next_in != 0x1f)
          fail(text, "expected the end of the file after the gzip stream, found other data");
        inflateReset(&stream_);
        return true;
      }
      ++stream_.next_in;
      --stream_.avail_in;
    }
    return false;
  }

  [[noreturn]] void fail(const ByteBuffer& text, const std::string& message) const {
    const Document document{text.view(), file_.name()};
    fail_at(document, document.end(), message);
  }

  const InputFile& file_;
  std::vector<char> input_;
  z_stream stream_{};
};

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

}  // namespace

ByteBuffer load_text(const std::filesystem::path& path, MemoryBudget& budget) {
  const InputFile file(path);
  std::array<char, 2> magic{};
  std::size_t known = 0;
  while (known < magic.size()) {
    const std::size_t got = file.read(magic.data() + known, magic.size() - known);
    if (got == 0) break;
    known += got;
  }
  const std::string_view first_bytes(magic.data(), known);
  ByteBuffer text(budget);
  if (is_gzip(first_bytes)) {
    GzipReader(file, first_bytes).read_all(text);
    return text;
  }
  // One byte more than the size lets the read that finds the end happen without growing.
  const auto size = static_cast<std::size_t>(file.stamp().size_bytes);
  text.make_room(size >= known && size > 0 ? size + 1 : block_bytes);
  first_bytes.copy(text.end(), known);
  text.added(known);
  read_rest(file, text);
  return text;
}

}  // namespace tessera::io
