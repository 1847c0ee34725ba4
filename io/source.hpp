/// \file
/// Whole files in memory, inflated when they are gzip-compressed.
#pragma once

#include "io/memory_budget.hpp"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

namespace tessera::io {

/// Bytes that grow at the end without being initialised first.
class ByteBuffer {
 public:
  explicit ByteBuffer(MemoryBudget& budget) : budget_(&budget) {}

  /// Makes room for `bytes` more at end(). \throws OutOfMemory when the budget or the system refuses
  void make_room(std::size_t bytes);
  /// Counts `bytes` written at end() as content.
  void added(std::size_t bytes) noexcept { size_ += bytes; }

  [[nodiscard]] char* end() noexcept { return data_.get() + size_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - size_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* data) const noexcept { std::free(data); }
  };

  void reallocate(std::size_t capacity);

  MemoryBudget* budget_;
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Reads a file; gzip, also of several members, is recognised by its first two bytes.
/// \throws IoError with the system's reason; ParseError for a truncated or corrupt gzip stream, at the position that
///         the text had reached; OutOfMemory
[[nodiscard]] ByteBuffer load_text(const std::filesystem::path& path, MemoryBudget& budget);

}  // namespace tessera::io
