#include "tessera/matrix_cache.hpp"

#include "io/binary_header.hpp"
#include "io/input_file.hpp"
#include "io/matrix_path.hpp"
#include "io/source.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

using detail::MemoryBudget;
using io::ByteBuffer;
using io::FileStamp;
using io::InputFile;

/// File systems keep times in steps of at most two seconds. A file that was unchanged for longer gets another time at
/// its next change.
constexpr std::int64_t settling_ns = 2'000'000'000;

std::uint64_t hash_of(io::Checksum function, std::string_view bytes, const Device& device) {
  return io::checksum(function, bytes.data(), bytes.size(), device);
}

/// The source, opened once: its name may refer to another file later.
class Source {
 public:
  Source(const std::filesystem::path& path, const ReadOptions& options)
      : file_(path), stamp_(file_.stamp()), options_(options), budget_(io::read_budget(options.memory_limit_bytes)) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    settled_ = std::max(stamp_.modified_ns, stamp_.changed_ns) <= now_ns - settling_ns;
  }

  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }

  /// Whether a cache was made from the same bytes. Reads them only when the times of the file are not conclusive.
  /// \param function of the cache's format version
  [[nodiscard]] bool is(const BinarySource& other, io::Checksum function) {
    if (other.size_bytes != stamp_.size_bytes) return false;
    const bool untouched =
        other.modified_ns == stamp_.modified_ns && other.changed_ns == stamp_.changed_ns && other.inode == stamp_.inode;
    return (untouched && other.settled) || other.content_hash == hash_of(function, bytes(), options_.device);
  }

  /// The state of the file before it was read, with the hash of the bytes that were read.
  [[nodiscard]] BinarySource identity() {
    const std::uint64_t hash = hash_of(io::checksum_of(io::BinaryHeader{}), bytes(), options_.device);
    return {stamp_.size_bytes, stamp_.modified_ns, stamp_.changed_ns, stamp_.inode, hash, settled_};
  }

  template <class T>
  [[nodiscard]] MatrixFile<T> parse() {
    ByteBuffer inflated(budget_);
    std::string_view text = bytes();
    if (io::is_compressed(text)) {
      inflated = io::inflate_bytes(text, file_.name(), budget_, options_.device);
      text = inflated.view();
    }
    ReadOptions rest = options_;
    rest.memory_limit_bytes = std::max<std::uint64_t>(budget_.left(), 1);  // 0 would mean no limit
    return parse_matrix<T>(text, file_.name(), rest);
  }

 private:
  std::string_view bytes() {
    if (!bytes_) bytes_ = io::load_bytes(file_, budget_, options_.device);
    return bytes_->view();
  }

  InputFile file_;
  FileStamp stamp_;
  ReadOptions options_;
  MemoryBudget budget_;
  bool settled_ = false;
  std::optional<ByteBuffer> bytes_;
};

/// Whether stored values equal the values of the text as T. A conversion would round twice.
template <class T>
bool same_type(BinaryValues values) {
  return values == BinaryValues::pattern ||
         values == (std::is_same_v<T, float> ? BinaryValues::fp32 : BinaryValues::fp64);
}

/// The cached matrix, or nothing with the reason in `note`.
template <class T>
std::optional<MatrixMarketMatrix<T>> look_up(const std::filesystem::path& path, Source& source,
                                             const ReadOptions& options, std::string& note) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    note = "no cache yet";
    return std::nullopt;
  }
  try {
    const InputFile file(path);
    const io::BinaryHeader header = io::read_binary_header(file);
    const BinaryMatrixInfo info = io::info_of(header);
    if (!info.source || !source.is(*info.source, io::checksum_of(header))) {
      note = "the cache was made from another state of the file";
    } else if (!same_type<T>(info.values)) {
      note = fmt::format("the cache holds {} values", to_string(info.values));
    } else if (info.duplicates > 0 && options.duplicates == Duplicates::error) {
      note = "the cache holds merged entries";
    } else {
      // The source may have become private after the cache was written.
      const std::uint32_t permissions = file.stamp().permissions;
      const std::uint32_t common = permissions & source.stamp().permissions;
      if ((permissions & ~common & 077U) != 0) {
        std::filesystem::permissions(path, static_cast<std::filesystem::perms>(common), ignored);
      }
      return io::read_binary_sections<T>(file, header, options);
    }
  } catch (const ParseError& damaged) {
    note = damaged.what();
  } catch (const InvalidMatrix& damaged) {
    note = damaged.what();
  } catch (const IoError& unreadable) {
    note = unreadable.what();
  }
  return std::nullopt;
}

}  // namespace

std::filesystem::path cache_path(const std::filesystem::path& source, const std::filesystem::path& directory) {
  if (directory.empty()) return source.string() + ".tsb";
  std::error_code failed;
  std::filesystem::path full = std::filesystem::weakly_canonical(source, failed);
  if (failed) full = source;
  const std::string text = full.string();
  // Names stay as they were, so that caches of format version 1 are found.
  return directory /
         fmt::format("{}-{:016x}.tsb", source.filename().string(), hash_of(io::Checksum::lanes, text, Device::host(1)));
}

template <class T>
CachedMatrix<T> read_cached(const std::filesystem::path& source, const CacheOptions& options) {
  CachedMatrix<T> result;
  result.cache = cache_path(source, options.directory);
  if (!io::split_matrix_path(source).variable.empty()) {
    result.note = "a variable of a MATLAB file is not cached";
    result.file = read_matrix<T>(source, options.read);
    return result;
  }
  Source text(source, options.read);
  if (!text.stamp().regular) {
    result.note = "only regular files are cached";
    result.file = text.parse<T>();
    return result;
  }
  if (auto cached = look_up<T>(result.cache, text, options.read, result.note)) {
    result.file = {std::move(*cached), {}, "tessera-binary"};
    result.from_cache = true;
    return result;
  }
  result.file = text.parse<T>();
  if (!result.file.labels.empty()) {
    result.note = "a cache holds no ids of vertices";
    return result;
  }
  try {
    io::write_cache<T>(result.cache, result.file, text.identity(), text.stamp());
    result.written = true;
  } catch (const IoError& unwritable) {
    result.note += fmt::format("; {}", unwritable.what());
  }
  return result;
}

template CachedMatrix<float> read_cached(const std::filesystem::path&, const CacheOptions&);
template CachedMatrix<double> read_cached(const std::filesystem::path&, const CacheOptions&);

}  // namespace tessera
