/// \file
/// Files that appear under their name only when complete.
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera::io {

/// Writes a temporary file in the same directory; commit() renames it, destruction without commit() removes it. A pipe
/// or a device is written to directly. The target of standard output or standard error is written through that stream:
/// replacing the file would detach the stream from it.
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
  /// Whether the path is the target of standard output or standard error; then writes through that stream.
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
