#include "io/source.hpp"

#include "core/parallel.hpp"
#include "io/document.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#if TESSERA_HAS_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
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

/// A member of a gzip stream that says where it ends.
struct Block {
  std::string_view bytes;
  std::size_t text_offset = 0;
  std::size_t text_bytes = 0;
};

template <class U>
[[nodiscard]] std::size_t little_endian(std::string_view bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t k = sizeof(U); k-- > 0;) number = 256 * number + static_cast<unsigned char>(bytes[at + k]);
  return number;
}

/// The blocks of bgzip (SAM specification, section 4.1): gzip members of up to 64 KiB whose first extra field "BC" has
/// their length less 1; the text's length is at the end of each. Nothing where any member is of another kind.
[[nodiscard]] std::vector<Block> find_blocks(std::string_view bytes) {
  constexpr std::string_view start = "\x1f\x8b\x08\x04";
  constexpr std::string_view field("BC\2\0", 4);
  constexpr std::size_t field_at = 12;
  constexpr std::size_t length_at = 16;
  constexpr std::size_t least = 26;
  constexpr std::size_t most_text = std::size_t{1} << 16;
  std::vector<Block> blocks;
  std::size_t text = 0;
  while (!bytes.empty()) {
    if (bytes.size() < least || !bytes.starts_with(start) || bytes.substr(field_at, field.size()) != field) return {};
    const std::size_t length = little_endian<std::uint16_t>(bytes, length_at) + 1;
    if (length < least || length > bytes.size()) return {};
    const std::size_t text_bytes = little_endian<std::uint32_t>(bytes, length - sizeof(std::uint32_t));
    if (text_bytes > most_text) return {};
    blocks.push_back({bytes.substr(0, length), text, text_bytes});
    text += text_bytes;
    bytes.remove_prefix(length);
  }
  return blocks;
}

/// \return whether the block has the text that it claims
[[nodiscard]] bool inflate_block(const Block& block, char* text) {
  z_stream stream{};
  constexpr int gzip_only = 16 + MAX_WBITS;
  if (inflateInit2(&stream, gzip_only) != Z_OK) return false;
  std::array<char, 1> beyond{};  // zlib wants a place to write to, of an empty block too
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.bytes.data()));
  stream.avail_in = static_cast<uInt>(block.bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(block.text_bytes == 0 ? beyond.data() : text + block.text_offset);
  stream.avail_out = static_cast<uInt>(block.text_bytes);
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole;
}

/// Nothing where the stream is not made of blocks, or one is damaged.
[[nodiscard]] std::optional<ByteBuffer> inflate_blocks(std::string_view bytes, MemoryBudget& budget,
                                                       const Device& device) {
  const std::vector<Block> blocks = find_blocks(bytes);
  if (blocks.size() < 2) return std::nullopt;
  const std::size_t size = blocks.back().text_offset + blocks.back().text_bytes;
  ByteBuffer text(budget);
  text.make_room(std::max<std::size_t>(size, 1));
  std::vector<char> whole(blocks.size(), 0);
  host::parallel_tasks(device, static_cast<std::int64_t>(blocks.size()), [&](std::int64_t k) {
    const auto b = static_cast<std::size_t>(k);
    whole[b] = inflate_block(blocks[b], text.end()) ? 1 : 0;
  });
  if (std::find(whole.begin(), whole.end(), 0) != whole.end()) return std::nullopt;
  text.added(size);
  return text;
}

[[nodiscard]] bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }
[[nodiscard]] bool is_zstd(std::string_view bytes) noexcept { return bytes.starts_with("\x28\xb5\x2f\xfd"); }

#if TESSERA_HAS_ZSTD
/// One or more zstd frames.
[[nodiscard]] ByteBuffer inflate_zstd(std::string_view bytes, const std::string& name, MemoryBudget& budget) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  if (context == nullptr) throw OutOfMemory(0, 0, "inflating the file");
  ByteBuffer text(budget);
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  std::size_t status = 0;  // 0: a frame has ended
  const auto fail = [&](const std::string& message) {
    const Document document{text.view(), name};
    fail_at(document, document.end(), message);
  };
  while (true) {
    if (text.room() == 0) text.make_room(block_bytes);
    ZSTD_outBuffer output{text.end(), text.room(), 0};
    const std::size_t consumed = input.pos;
    status = ZSTD_decompressStream(context.get(), &output, &input);
    text.added(output.pos);
    if (ZSTD_isError(status) != 0) fail(fmt::format("the zstd stream is corrupt: {}", ZSTD_getErrorName(status)));
    if (input.pos < input.size || output.pos == output.size) continue;
    if (status == 0) return text;
    if (output.pos == 0 && input.pos == consumed) break;
  }
  fail("the zstd stream is truncated: expected more compressed data");
  return text;
}
#else
[[nodiscard]] ByteBuffer inflate_zstd(std::string_view /*bytes*/, const std::string& name, MemoryBudget& /*budget*/) {
  throw NotSupported(fmt::format("{}: this build reads no zstd files: built without libzstd", name));
}
#endif

}  // namespace

bool is_compressed(std::string_view bytes) noexcept { return is_gzip(bytes) || is_zstd(bytes); }

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

ByteBuffer inflate_bytes(std::string_view bytes, const std::string& name, MemoryBudget& budget, const Device& device) {
  if (is_zstd(bytes)) return inflate_zstd(bytes, name, budget);
  if (auto text = inflate_blocks(bytes, budget, device)) return std::move(*text);
  ByteBuffer text(budget);
  GzipReader(bytes, name).read_all(text);
  return text;
}

ByteBuffer load_text(const std::filesystem::path& path, MemoryBudget& budget, const Device& device) {
  const InputFile file(path);
  ByteBuffer bytes = load_bytes(file, budget, device);
  return is_compressed(bytes.view()) ? inflate_bytes(bytes.view(), file.name(), budget, device) : std::move(bytes);
}

}  // namespace tessera::io
