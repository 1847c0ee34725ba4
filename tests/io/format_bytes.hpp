/// \file
/// Files of other programs, byte by byte, and what is read from them.
#pragma once

#include "tessera/error.hpp"
#include "tessera/matrix_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Numbers one after the other in either byte order.
class Bytes {
 public:
  explicit Bytes(std::endian order, std::string text = {}) : order_(order), text_(std::move(text)) {}

  template <class U>
  Bytes& add(std::initializer_list<U> numbers) {
    for (const U number : numbers) {
      std::string raw(sizeof(U), '\0');
      std::memcpy(raw.data(), &number, sizeof(U));
      if (order_ != std::endian::native) std::reverse(raw.begin(), raw.end());
      text_ += raw;
    }
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::endian order_;
  std::string text_;
};

/// "2 x 3: (1,1)=2 (1,3)=-1": what is stored, counted from 1.
template <class T>
[[nodiscard]] std::string entries_of(const MatrixMarketMatrix<T>& file) {
  const CsrView<T> a = file.matrix.view();
  validate(a);
  std::string text = std::to_string(a.rows) + " x " + std::to_string(a.cols) + ":";
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      text += " (" + std::to_string(i + 1) + ',' + std::to_string(a.columns[static_cast<std::size_t>(k)] + 1) + ")=";
      text += fmt::format("{:g}", a.value(k));
    }
  }
  return text;
}

[[nodiscard]] inline std::string read(std::string_view bytes, const std::string& name = "A") {
  return entries_of(parse_matrix<double>(bytes, name));
}

template <class Read>
[[nodiscard]] std::string refusal_of(const Read& read) {
  try {
    static_cast<void>(read());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

[[nodiscard]] inline std::string refusal(std::string_view bytes, const std::string& name = "A") {
  return refusal_of([&] { return parse_matrix<double>(bytes, name); });
}

/// Cut anywhere, the file is refused; no reader looks beyond its end (the sanitizers would tell).
/// \param to bytes from which on all is there
inline void expect_refused_when_cut(const std::string& bytes, std::size_t from, std::size_t to) {
  for (std::size_t size = from; size < to; ++size) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal({cut.data(), cut.size()}), "accepted") << size << " of " << bytes.size() << " bytes";
  }
}

inline void expect_refused_when_cut(const std::string& bytes, std::size_t from) {
  expect_refused_when_cut(bytes, from, bytes.size());
}

/// 2 x 3 with 2 at (1,1), -1 at (1,3), 0.5 at (2,3).
inline const std::string small = "2 x 3: (1,1)=2 (1,3)=-1 (2,3)=0.5";

[[nodiscard]] inline std::string petsc32() {
  return Bytes(std::endian::big)
      .add<std::int32_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2})
      .add<double>({2.0, -1.0, 0.5})
      .text();
}

template <class U>
[[nodiscard]] std::string raw(std::initializer_list<U> numbers, std::endian order = std::endian::little) {
  return Bytes(order).add(numbers).text();
}

/// Where this build has no minizip, archives are refused, and that is all.
[[nodiscard]] inline bool reads(std::string_view format) {
  const auto formats = matrix_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const MatrixFormatInfo& f) { return f.name == format && f.available; });
}

}  // namespace tessera::testing
