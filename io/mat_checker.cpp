#include "io/mat_checker.hpp"

#if TESSERA_HAS_MATIO
#include "io/matio.hpp"
#include "io/source.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

constexpr std::int64_t matrix_type = MAT_T_MATRIX;
constexpr std::int64_t compressed_type = MAT_T_COMPRESSED;
constexpr std::size_t tag_bytes = 8;

/// matio allocates what a file claims and takes what it lacks for read. So it is handed a copy whose claims are
/// checked: the variables inflated, every element within the one that holds it, and as many values as the dimensions
/// say. An element is a word of 32 bits for its type, one for its bytes, and these, filled up to a multiple of eight;
/// up to four bytes may stand in the second word, then their number is the upper half of the first. (MathWorks,
/// "MAT-File Format", level 5.)
class MatChecker {
 public:
  MatChecker(const FileBytes& file, bool wants_sparse, MemoryBudget& budget, MemoryFile& target)
      : file_(file), wants_sparse_(wants_sparse), budget_(budget), target_(target) {
    constexpr std::size_t order_at = 126;
    if (file.bytes.size() < header_bytes) fail(file.bytes.size(), "the header of the MATLAB file is cut off");
    order_ = file.bytes.substr(order_at, 2) == "IM" ? std::endian::little : std::endian::big;
  }

  [[nodiscard]] MatVariables copy() {
    target_.append(file_.bytes.substr(0, header_bytes));
    std::size_t at = header_bytes;
    while (at < file_.bytes.size()) {
      const std::size_t left = file_.bytes.size() - at;
      const std::size_t size = left < tag_bytes ? left : word(file_.bytes, at + 4);
      if (left < tag_bytes || size > left - tag_bytes) {
        fail(at, fmt::format("expected a variable of {} bytes, found {} to the end of the file", size, left));
      }
      const std::string_view element = file_.bytes.substr(at, tag_bytes + size);
      if (word(element, 0) == compressed_type) {
        constexpr std::size_t heading_bytes = std::size_t{1} << 16;
        const std::string_view packed = element.substr(tag_bytes);
        if (is_wanted(inflate_variable(packed, at, heading_bytes).view(), at)) {
          append_variable(inflate_variable(packed, at, std::numeric_limits<std::size_t>::max()).view(), at);
        }
      } else if (is_wanted(element, at)) {
        append_variable(element, at);
      }
      at += tag_bytes + size;
    }
    return std::move(content_);
  }

 private:
  static constexpr std::size_t header_bytes = 128;
  static constexpr std::size_t sparse_elements = 6;  // flags, dimensions, name, row indices, column offsets, values

  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    throw ParseError::at_byte(file_.name, at, message);
  }

  [[nodiscard]] std::uint32_t word(std::string_view bytes, std::size_t at) const {
    return static_cast<std::uint32_t>(
        PackedNumbers(bytes.data() + at, 1, NumberType::uint32, order_).get<std::int64_t>(0));
  }

  /// \param most bytes from its beginning
  [[nodiscard]] ByteBuffer inflate_variable(std::string_view bytes, std::size_t at, std::size_t most) const {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw OutOfMemory(0, 0, "inflating the file");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ending(&stream, inflateEnd);
    ByteBuffer text(budget_);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
    stream.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    while (status == Z_OK && text.view().size() < most) {
      const std::size_t piece = std::min(std::size_t{1} << 18, most - text.view().size());
      text.make_room(piece);
      stream.next_out = reinterpret_cast<Bytef*>(text.end());
      stream.avail_out = static_cast<uInt>(piece);
      status = inflate(&stream, Z_NO_FLUSH);
      text.added(piece - stream.avail_out);
    }
    if (status != Z_STREAM_END && text.view().size() < most) fail(at, "the compressed variable is damaged");
    return text;
  }

  /// A data element of a variable, which may be cut behind it.
  struct DataElement {
    std::int64_t type = 0;
    bool is_small = false;
    std::string_view data;
    std::size_t end = 0;  ///< where the next one begins
  };

  [[nodiscard]] DataElement element_at(std::string_view content, std::size_t begin, std::size_t at) const {
    if (begin > content.size() || content.size() - begin < tag_bytes) fail(at, "the variable is cut off");
    const std::uint32_t first = word(content, begin);
    const bool is_small = first >> 16U != 0;
    const std::size_t size = is_small ? first >> 16U : word(content, begin + 4);
    const std::size_t data_at = begin + (is_small ? 4 : tag_bytes);
    if (size > (is_small ? 4 : content.size() - data_at)) fail(at, "an element of the variable is cut off");
    return {is_small ? first & 0xffffU : first, is_small, content.substr(data_at, size),
            is_small ? begin + tag_bytes : data_at + (size + 7) / 8 * 8};
  }

  /// By its class and its name, which is kept. \param variable its beginning is enough
  [[nodiscard]] bool is_wanted(std::string_view variable, std::size_t at) {
    if (variable.size() < tag_bytes) fail(at, "the variable is cut off");
    const std::string_view content = variable.substr(tag_bytes, word(variable, 4));
    if (word(variable, 0) != matrix_type || content.empty()) return false;
    const DataElement flags = element_at(content, 0, at);
    check_fixed_size(flags, 0, at);
    const std::string_view padded = element_at(content, element_at(content, flags.end, at).end, at).data;
    const std::string_view name = padded.substr(0, padded.find('\0'));
    content_.names.emplace_back(name);
    if (!file_.variable.empty()) return name == file_.variable.substr(0, file_.variable.find('.'));
    const std::int64_t c = word(flags.data, 0) & 0xffU;
    return c == MAT_C_STRUCT || (wants_sparse_ ? c == MAT_C_SPARSE : is_dense_class(c));
  }

  void append_variable(std::string_view element, std::size_t at) {
    if (element.size() < tag_bytes || word(element, 4) > element.size() - tag_bytes) {
      fail(at, "the variable is cut off");
    }
    const std::string_view whole = element.substr(0, tag_bytes + word(element, 4));
    check_matrix(whole.substr(tag_bytes), at, 0);
    target_.append(whole);
  }

  /// What the elements of a variable say of it.
  struct Claims {
    std::int64_t matlab_class = 0;
    std::int64_t values = 1;      ///< by its dimensions
    std::int64_t name_bytes = 0;  ///< of each field of a structure
    std::int64_t fields = 1;      ///< of a structure
    std::int64_t nested = 0;      ///< variables in it
    std::size_t elements = 0;
    std::size_t row_indices = 0;  ///< of a sparse matrix
    bool is_complex = false;
    bool is_logical = false;
    bool holds_values = false;
    bool has_small_fourth = false;  ///< element of 4 bytes in its tag: the length of names of a structure
  };

  /// \param at of the variable in the file, for messages
  void check_matrix(std::string_view content, std::size_t at, int depth) {
    constexpr int deepest = 16;
    if (depth > deepest) fail(at, "the variable is a structure of structures beyond 16 levels");
    Claims claims;
    std::size_t number = 0;  // flags, dimensions, name, then what the class has
    for (std::size_t begin = 0; begin < content.size(); ++number) {
      const DataElement element = element_at(content, begin, at);
      if (element.type == matrix_type) check_matrix(element.data, at, depth + 1);
      check_fixed_size(element, number, at);
      if (number == 3) claims.has_small_fourth = element.is_small && element.data.size() == 4;
      take_claim(number, element.type, element.data, at, claims);
      begin = element.end;
    }
    if (number > 0) check_claims(claims, at);
  }

  /// matio takes flags, and the length of the names of a structure, from where they stand in files of MATLAB, whatever
  /// size their tags have.
  void check_fixed_size(const DataElement& element, std::size_t number, std::size_t at) const {
    if (number > 0 || (element.type == MAT_T_UINT32 && !element.is_small && element.data.size() == 8)) return;
    fail(at, fmt::format("expected 8 bytes of flags of the variable, found {} of type {}", element.data.size(),
                         element.type));
  }

  void take_claim(std::size_t number, std::int64_t type, std::string_view data, std::size_t at, Claims& claims) {
    const auto size = static_cast<std::int64_t>(data.size());
    if (type == matrix_type) ++claims.nested;
    claims.elements = number + 1;
    if (number == 0 && size >= 4) {
      constexpr std::uint32_t logical_flag = 0x200;
      constexpr std::uint32_t complex_flag = 0x800;
      const std::uint32_t flags = word(data, 0);
      claims.matlab_class = flags & 0xffU;
      claims.is_logical = (flags & logical_flag) != 0;
      claims.is_complex = (flags & complex_flag) != 0;
    }
    if (number == 1) claims.values = count_of(data, at);
    if (number == 3 && is_dense_class(claims.matlab_class)) {
      claims.holds_values = holds(type, claims.values, data.size());
      // Doubles that are whole are stored as short integers.
      if (claims.holds_values) content_.bytes += data.size() / bytes_per_number(type) * sizeof(double);
    }
    if (number == 3 && claims.matlab_class == MAT_C_CHAR) claims.holds_values = claims.values <= size;
    if (number == 3 && claims.matlab_class == MAT_C_STRUCT && size >= 4) claims.name_bytes = word(data, 0);
    if (number == 4 && claims.matlab_class == MAT_C_STRUCT && claims.name_bytes > 0) {
      claims.fields = size / claims.name_bytes;
    }
    if (claims.matlab_class == MAT_C_SPARSE && number > 2) check_sparse_array(number, type, data.size(), at, claims);
  }

  /// Row indices, column offsets and values follow the name. matio reads the first two as integers of 32 bits whatever
  /// their type says; with another one it loses its place in the file. MATLAB writes one byte per value of a logical
  /// matrix and calls the type double, which matio knows.
  void check_sparse_array(std::size_t number, std::int64_t type, std::size_t bytes, std::size_t at, Claims& claims) {
    const auto expect = [&](bool fits, const char* what) {
      if (fits) return;
      fail(at, fmt::format("expected {} of the sparse matrix, found {} bytes of type {}", what, bytes, type));
    };
    const bool are_words = (type == MAT_T_INT32 || type == MAT_T_UINT32) && bytes % 4 == 0;
    if (number == 3) {
      expect(are_words, "32-bit row indices");
      claims.row_indices = bytes / 4;
      content_.bytes += claims.row_indices * (sizeof(std::uint32_t) + sizeof(double));
    } else if (number == 4) {
      expect(are_words, "32-bit column offsets");
      content_.bytes += bytes;
    } else if (claims.is_logical && type == MAT_T_DOUBLE) {
      expect(bytes <= claims.row_indices, "a byte per logical value");
    } else {
      expect(is_whole_number_of(type, bytes), "values");
    }
  }

  void check_claims(const Claims& claims, std::size_t at) const {
    const auto refuse = [&](std::int64_t wanted, const char* what) {
      fail(at, fmt::format("the dimensions of the variable ask for {} {}, which are not there", wanted, what));
    };
    const std::int64_t c = claims.matlab_class;
    if ((is_dense_class(c) || c == MAT_C_CHAR) && claims.values > 0 && !claims.holds_values) {
      refuse(claims.values, "values");
    }
    if (c == MAT_C_SPARSE && claims.elements < sparse_elements + (claims.is_complex ? 1 : 0)) {
      fail(at, "the sparse matrix lacks row indices, column offsets or values");
    }
    if (c == MAT_C_CELL && claims.values != claims.nested) refuse(claims.values, "cells");
    std::int64_t parts = 0;
    if (c == MAT_C_STRUCT && (__builtin_mul_overflow(claims.values, claims.fields, &parts) || parts != claims.nested ||
                              (claims.fields == 0 && claims.values > 1))) {
      refuse(claims.values, "structures");
    }
    if (c == MAT_C_STRUCT && claims.elements > 3 && !claims.has_small_fourth) {
      fail(at, "expected 4 bytes for the length of names of the structure");
    }
    if (c < MAT_C_CELL || c > MAT_C_UINT64 || c == MAT_C_OBJECT)
      fail(at, fmt::format("variables of class {} are not read", c));
  }

  [[nodiscard]] static bool is_dense_class(std::int64_t matlab_class) {
    return matlab_class >= MAT_C_DOUBLE && matlab_class <= MAT_C_UINT64;
  }

  /// \returns 0 for a type that is not one of numbers
  [[nodiscard]] static std::size_t bytes_per_number(std::int64_t type) {
    const bool known = type >= MAT_T_INT8 && type <= MAT_T_UINT64;
    return known ? matio().size_of(static_cast<matio_types>(type)) : 0;
  }

  [[nodiscard]] static bool is_whole_number_of(std::int64_t type, std::size_t bytes) {
    const std::size_t each = bytes_per_number(type);
    return each > 0 && bytes % each == 0;
  }

  [[nodiscard]] static bool holds(std::int64_t type, std::int64_t values, std::size_t bytes) {
    return is_whole_number_of(type, bytes) && bytes / bytes_per_number(type) == static_cast<std::size_t>(values);
  }

  [[nodiscard]] std::int64_t count_of(std::string_view dimensions, std::size_t at) const {
    std::int64_t count = 1;
    for (std::size_t k = 0; k + 4 <= dimensions.size(); k += 4) {
      if (__builtin_mul_overflow(count, std::int64_t{word(dimensions, k)}, &count)) {
        fail(at, "the dimensions of the variable overflow");
      }
    }
    return count;
  }

  const FileBytes& file_;
  bool wants_sparse_;
  MemoryBudget& budget_;
  MemoryFile& target_;
  MatVariables content_;
  std::endian order_ = std::endian::little;
};

}  // namespace

MatVariables copy_checked_mat(const FileBytes& file, bool wants_sparse, MemoryBudget& budget, MemoryFile& target) {
  return MatChecker(file, wants_sparse, budget, target).copy();
}

}  // namespace tessera::io

#endif
