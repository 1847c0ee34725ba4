/// \file
/// A file opened for reading.
#pragma once

#include "core/memory_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::io {

using tessera::detail::MemoryBudget;

/// The budget of a reader. \param limit_bytes as the caller said, even beyond what the machine has free; 0: what it has
[[nodiscard]] inline MemoryBudget read_budget(std::uint64_t limit_bytes) {
  return {limit_bytes, limit_bytes == 0 ? available_host_memory_bytes() : 0};
}

/// Facts about a file from the file system. Equal stamps some time apart mean that nothing was written.
struct FileStamp {
  bool regular = false;
  std::uint64_t size_bytes = 0;  ///< 0 unless regular
  std::int64_t modified_ns = 0;  ///< since the epoch
  std::int64_t changed_ns = 0;   ///< the same of its metadata
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t permissions = 0;  ///< to read and to write: 0666 at most
  std::uint32_t group = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

class InputFile {
 public:
  /// \throws IoError with the system's reason
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// \throws IoError
  [[nodiscard]] FileStamp stamp() const;

  /// Continues where the last read() ended. \return number of bytes, 0 only at the end of the file \throws IoError
  [[nodiscard]] std::size_t read(char* target, std::size_t bytes) const;

  /// The next read() begins at `offset`; for regular files. \throws IoError
  void skip_to(std::uint64_t offset) const;

  /// Outcome of read_at().
  struct Got {
    std::size_t bytes = 0;  ///< fewer than asked for where the file ends
    int error = 0;          ///< errno, for fail()
  };

  /// Reads from a position of a regular file; may run in several threads at once.
  [[nodiscard]] Got read_at(std::uint64_t offset, char* target, std::size_t bytes) const noexcept;

  /// \throws IoError "cannot read ...: reason"
  [[noreturn]] void fail(int error) const;

 private:
  std::string name_;
  int descriptor_;
};

}  // namespace tessera::io
