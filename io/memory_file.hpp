/// \file
/// A file in memory, for libraries that read files alone.
#pragma once

#include "core/memory_budget.hpp"
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
  /// \param name for messages, kept \param budget counts its content, kept \throws IoError
  MemoryFile(const std::string& name, detail::MemoryBudget& budget)
      : name_(name), budget_(budget), descriptor_(::memfd_create("tessera", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    ::close(descriptor_);
    budget_.release(size_);
  }

  /// \throws IoError; OutOfMemory
  void append(std::string_view bytes) {
    budget_.reserve(bytes.size(), "a copy of the file");
    size_ += bytes.size();
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
  detail::MemoryBudget& budget_;
  std::size_t size_ = 0;
  int descriptor_;
};

}  // namespace tessera::io
