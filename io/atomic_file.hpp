/// \file
/// Files that appear under their name only when complete.
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera::io {

/// Writes into a temporary file of the same directory; commit() gives it its name, destruction without it removes it.
/// Something that is not a regular file (a pipe, a device) is written to directly, and what standard output or standard
/// error lead to is written through them: replacing it would take the file away from under the stream.
class AtomicFile {
 public:
  /// \param path compressed when it ends in ".gz" \throws IoError
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// \throws IoError with the system's reason
  void write(std::string_view text);
  void commit();

 private:
  /// Whether the path leads to where standard output or standard error go; then writes through it.
  [[nodiscard]] bool open_standard_stream(const std::filesystem::path& path);
  void open_replacement();
  void open_directly();
  void attach(int descriptor);
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path target_;
  std::filesystem::path written_;  ///< the temporary, or the target itself
  void* stream_ = nullptr;         ///< gzFile; plain text goes through zlib's transparent mode
};

}  // namespace tessera::io
