/// \file
/// Files that appear under their name only when complete.
#pragma once

#include "io/input_file.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

namespace tessera::io {

/// Writes a file without a name in the same directory, which a killed process takes with it; where the file system has
/// no such files, one with a random hidden name. commit() flushes it to the disk and renames it, destruction without
/// commit() removes it. A symbolic link keeps pointing at its target, which is what is replaced. A pipe or a device is
/// written to directly. The target of standard output or standard error is written through that stream: replacing the
/// file would detach the stream from it.
class AtomicFile {
 public:
  /// \param path   compressed when it ends in ".gz"
  /// \param source a file that this one copies unasked: nobody else may read the copy. Nothing: a new file has the
  /// permissions of all new files, and a replaced one keeps its own.
  /// \throws IoError
  explicit AtomicFile(const std::filesystem::path& path, const std::optional<FileStamp>& source = std::nullopt);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// \throws IoError with the system's reason
  void write(std::string_view text);
  void commit();

 private:
  /// Whether the path is the target of standard output or standard error; then writes through that stream.
  [[nodiscard]] bool open_standard_stream(const std::filesystem::path& path);
  void open_replacement(const std::optional<FileStamp>& source);
  /// Takes the descriptor over. A negative one is the failure that errno names.
  void attach(int descriptor);
  /// Gives the file a temporary name, if it has none yet. \returns 0 or errno
  [[nodiscard]] int give_name();
  void discard() noexcept;
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  ///< its name before the rename; empty: none
  bool replaces_ = false;            ///< else what is there is written to: a pipe, a device, a standard stream
  int descriptor_ = -1;
  void* stream_ = nullptr;  ///< gzFile with a copy of the descriptor; plain text goes through its transparent mode
};

}  // namespace tessera::io
