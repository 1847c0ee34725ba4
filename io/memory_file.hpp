/// \file
/// A file in memory, for libraries that read files alone.
#pragma once

#include "tessera/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera::io {

/// A file of the system without a place on the disk: ours may come inflated or from a pipe.
class MemoryFile {
 public:
  /// \param name for messages, kept \throws IoError
  explicit MemoryFile(const std::string& name) : name_(name), descriptor_(::memfd_create("tessera", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void append(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        fail();
      }
    }
  }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  [[noreturn]] void fail() const {
    throw IoError(fmt::format("cannot hold \"{}\" in memory: {}", name_, std::generic_category().message(errno)));
  }

  const std::string& name_;
  int descriptor_;
};

}  // namespace tessera::io
