/// \file
/// Shared by all fuzz targets. For any input a reader returns a valid result or throws one of three documented errors
/// that names the file; anything else ends the fuzzer.
#pragma once

#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::fuzzing {

// The targets: each reads one input.
void fuzz_matrix(std::string_view bytes);
void fuzz_vector(std::string_view bytes);
void fuzz_binary(std::string_view bytes);
void fuzz_gzip(std::string_view bytes);
void fuzz_edges(std::string_view bytes);
void fuzz_boeing(std::string_view bytes);
void fuzz_numpy(std::string_view bytes);
void fuzz_matlab(std::string_view bytes);
void fuzz_petsc(std::string_view bytes);
void fuzz_amgx(std::string_view bytes);

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// The result of read(), or nothing when it was refused in a documented way. \param name of the file read
template <class Read>
auto accepted(const std::string& name, Read&& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const ParseError& e) {
    require(e.file() == name, "a ParseError names its file");
    require(std::string_view(e.what()).starts_with(name + ":"), "the message of a ParseError begins with the file");
    require((e.line() >= 1 && e.column() >= 1) || (e.line() == 0 && e.column() == 0), "a ParseError has a place");
  } catch (const InvalidMatrix& e) {
    require(std::string_view(e.what()).starts_with(name + ":"), "the message of an InvalidMatrix begins with the file");
  } catch (const OutOfMemory& e) {
    require(e.requested_bytes() > e.available_bytes() || e.available_bytes() == 0, "an OutOfMemory says why");
  }
  return std::nullopt;
}

/// A file in /dev/shm if the system has it; its content is replaced for every input.
class Scratch {
 public:
  explicit Scratch(const char* suffix) {
    const std::filesystem::path memory("/dev/shm");
    const auto directory = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = directory / ("tessera-fuzz-" + std::to_string(::getpid()) + suffix);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void hold(std::string_view bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] inline ReadOptions limited() {
  ReadOptions options;
  options.memory_limit_bytes = std::uint64_t{32} << 20;
  return options;
}

template <class U>
[[nodiscard]] bool same_bytes(std::span<const U> a, std::span<const U> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class T>
[[nodiscard]] bool identical(const CsrView<T>& a, const CsrView<T>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.storage == b.storage && same_bytes(a.row_offsets, b.row_offsets) &&
         same_bytes(a.columns, b.columns) && same_bytes(a.values, b.values);
}

/// Whether a matrix is small enough to be written for every input.
template <class T>
[[nodiscard]] bool is_small(const CsrView<T>& a) {
  return a.rows <= 1000 && a.nnz() <= 10000;
}

/// Text and binary files give the matrix back, bit by bit.
template <class T>
void require_round_trips(const MatrixMarketMatrix<T>& m) {
  const CsrView<T> a = m.matrix.view();
  if (!is_small(a)) return;
  static const Scratch text(".mtx");
  static const Scratch binary(".tsb");
  write_matrix_market(text.path(), a);
  require(identical(read_matrix_market<T>(text.path()).matrix.view(), a), "the text file gives the matrix back");
  write_binary(binary.path(), m);
  const auto back = read_binary<T>(binary.path());
  require(identical(back.matrix.view(), a), "the binary file gives the matrix back");
  require(back.duplicates == m.duplicates && back.explicit_zeros == m.explicit_zeros &&
              back.header.entries == m.header.entries && back.header.symmetry == m.header.symmetry,
          "the binary file gives the header back");
}

}  // namespace tessera::fuzzing
