/// \file
/// Whole files in memory, inflated where gzip or zstd compressed them.
#pragma once

#include "core/memory_budget.hpp"
#include "io/input_file.hpp"
#include "tessera/device.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::io {

/// A buffer that grows at the end without initialisation and without copying: its pages are mapped to another address.
class ByteBuffer {
 public:
  explicit ByteBuffer(MemoryBudget& budget) : budget_(&budget) {}
  ByteBuffer(ByteBuffer&& other) noexcept
      : budget_(other.budget_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~ByteBuffer() { clear(); }

  /// Makes space for `bytes` more at end(). \throws OutOfMemory when the budget or the system refuses
  void make_room(std::size_t bytes);
  /// Counts `bytes` written at end() as content.
  void added(std::size_t bytes) noexcept { size_ += bytes; }

  /// Frees the content and its memory.
  void clear() noexcept;

  [[nodiscard]] char* end() noexcept { return data_ + size_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - size_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }

 private:
  void reallocate(std::size_t capacity);

  MemoryBudget* budget_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// The unchanged bytes of a file; a regular file is read in parallel. \throws IoError with the system's reason;
/// OutOfMemory
[[nodiscard]] ByteBuffer load_bytes(const InputFile& file, MemoryBudget& budget, const Device& device);

/// Whether bytes begin like a gzip or zstd stream.
[[nodiscard]] bool is_compressed(std::string_view bytes) noexcept;

/// Inflates a stream of one or more gzip members or zstd frames. Members that tell their length, as those of bgzip do,
/// are inflated in parallel. \param name stands for the file in messages \throws ParseError for a truncated or corrupt
/// stream, at the position that the text had reached; OutOfMemory;
///         NotSupported for zstd in a build without it
[[nodiscard]] ByteBuffer inflate_bytes(std::string_view bytes, const std::string& name, MemoryBudget& budget,
                                       const Device& device);

/// The content of a file, inflated when its first bytes say so. Throws as the functions above.
[[nodiscard]] ByteBuffer load_text(const std::filesystem::path& path, MemoryBudget& budget, const Device& device);

}  // namespace tessera::io
