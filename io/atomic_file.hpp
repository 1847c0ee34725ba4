/// \file
/// Files that appear under their name only when complete.
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera::io {

/// Writes into a temporary file of the same directory; commit() gives it its name, destruction without it removes it.
/// Something that is not a regular file (a pipe, /dev/stdout) is written to directly.
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
  void open(bool exclusive);
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path target_;
  std::filesystem::path written_;  ///< the temporary, or the target itself
  void* stream_ = nullptr;         ///< gzFile; plain text goes through zlib's transparent mode
};

}  // namespace tessera::io
