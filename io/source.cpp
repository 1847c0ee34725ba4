#include "io/source.hpp"

#include "core/parallel.hpp"
#include "io/document.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace tessera::io {

namespace {

/// Whole pages.
std::size_t mapped_bytes(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

void ByteBuffer::make_room(std::size_t bytes) {
  if (bytes <= room()) return;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2 - size_) throw OutOfMemory(bytes, 0, "text of the file");
  const std::size_t needed = size_ + bytes;
  const std::size_t roomy = std::max(needed, capacity_ + capacity_ / 2);
  // Without budget for spare capacity, try the exact size.
  try {
    reallocate(roomy);
  } catch (const OutOfMemory&) {
    if (roomy == needed) throw;
    reallocate(needed);
  }
}

void ByteBuffer::clear() noexcept {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes(capacity_));
  budget_->release(capacity_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

void ByteBuffer::reallocate(std::size_t capacity) {
  budget_->reserve(capacity - capacity_, "text of the file");
  // Pages move to another address without being copied, as long as the mapping is in one piece: advice about large
  // pages is for the whole of it.
  constexpr int access = PROT_READ | PROT_WRITE;
  void* grown = data_ == nullptr ? ::mmap(nullptr, mapped_bytes(capacity), access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : ::mremap(data_, mapped_bytes(capacity_), mapped_bytes(capacity), MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) {
    budget_->release(capacity - capacity_);
    throw OutOfMemory(capacity, 0, "text of the file");
  }
  data_ = static_cast<char*>(grown);
  capacity_ = capacity;
  // Advice only: where it is refused, memory is as good as before.
  static_cast<void>(::madvise(data_, mapped_bytes(capacity_), MADV_HUGEPAGE));
}

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

void read_rest(const InputFile& file, ByteBuffer& bytes) {
  while (true) {
    bytes.make_room(1);
    const std::size_t got = file.read(bytes.end(), bytes.room());
    if (got == 0) return;
    bytes.added(got);
    if (bytes.room() == 0) bytes.make_room(block_bytes);
  }
}

/// The first `size` bytes, or fewer where the file is shorter.
std::size_t read_in_parallel(const InputFile& file, char* target, std::size_t size, const Device& device) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  std::vector<InputFile::Got> pieces((size + piece_bytes - 1) / piece_bytes);
  host::parallel_tasks(device, static_cast<std::int64_t>(pieces.size()), [&](std::int64_t number) {
    const auto c = static_cast<std::size_t>(number);
    const std::size_t begin = c * piece_bytes;
    pieces[c] = file.read_at(begin, target + begin, std::min(piece_bytes, size - begin));
  });
  std::size_t done = 0;
  for (const InputFile::Got& piece : pieces) {
    if (piece.error != 0) file.fail(piece.error);
    done += piece.bytes;
    if (piece.bytes < piece_bytes) break;
  }
  return done;
}

/// Inflates a stream of one or more gzip members.
class GzipReader {
 public:
  GzipReader(std::string_view bytes, const std::string& name) : input_(bytes), name_(name) {
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
  /// Passes more input; zlib counts it in 32 bits.
  bool refill() {
    const std::size_t part = std::min<std::size_t>(input_.size(), std::size_t{1} << 30);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(part);
    input_.remove_prefix(part);
    return part > 0;
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
    const Document document{text.view(), name_};
    fail_at(document, document.end(), message);
  }

  std::string_view input_;
  const std::string& name_;
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }

ByteBuffer load_bytes(const InputFile& file, MemoryBudget& budget, const Device& device) {
  ByteBuffer bytes(budget);
  const auto size = static_cast<std::size_t>(file.stamp().size_bytes);
  // One byte more than the size, so that the read that finds the end does not grow the buffer.
  bytes.make_room(size > 0 ? size + 1 : block_bytes);
  if (size > 0) {
    bytes.added(read_in_parallel(file, bytes.end(), size, device));
    file.skip_to(bytes.view().size());
  }
  read_rest(file, bytes);
  return bytes;
}

ByteBuffer inflate_gzip(std::string_view bytes, const std::string& name, MemoryBudget& budget) {
  ByteBuffer text(budget);
  GzipReader(bytes, name).read_all(text);
  return text;
}

ByteBuffer load_text(const std::filesystem::path& path, MemoryBudget& budget, const Device& device) {
  const InputFile file(path);
  ByteBuffer bytes = load_bytes(file, budget, device);
  return is_gzip(bytes.view()) ? inflate_gzip(bytes.view(), file.name(), budget) : std::move(bytes);
}

}  // namespace tessera::io
