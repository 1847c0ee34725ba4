#include "io/foreign_formats.hpp"

#include "io/document.hpp"
#include "io/matrix_readers.hpp"
#include "io/parse_number.hpp"

#include <algorithm>
#include <array>

namespace tessera::io {

namespace {

using namespace std::string_view_literals;

/// Bytes at a fixed place.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  ForeignFormat format;
};

constexpr std::string_view unpack = "unpack it: only plain files and those of gzip and zstd are read";
constexpr std::string_view elsewhere = "read_matrix() reads it, and solve where a matrix is named";
constexpr std::string_view byte_order_mark = "save it as plain ASCII or as UTF-8 without a byte order mark";
constexpr std::array magics{
    Magic{0, "MATLAB 5.0 MAT-file"sv, {"a MATLAB 5 .mat file", elsewhere}},
    Magic{0,
          "MATLAB 7.3 MAT-file"sv,
          {"a MATLAB 7.3 .mat file (HDF5)", R"(in MATLAB, save("A.mat", "A", "-v7") writes a file that is read)"}},
    Magic{0,
          "\x89HDF\r\n\x1a\n"sv,
          {"an HDF5 file",
           R"(in Python, make a scipy.sparse matrix of its datasets with h5py, then scipy.io.mmwrite("A.mtx", A))"}},
    Magic{0, "\x93NUMPY"sv, {"a NumPy .npy file", elsewhere}},
    Magic{0, "PK\x03\x04"sv, {"a zip archive; SciPy's .npz is one", elsewhere}},
    Magic{0, "\xfd\x37zXZ\0"sv, {"an xz file", unpack}},
    Magic{0, "BZh"sv, {"a bzip2 file", unpack}},
    Magic{0, "\x28\xb5\x2f\xfd"sv, {"a zstd file", unpack}},
    Magic{257, "ustar"sv, {"a tar archive", "unpack it with tar -xf and name the .mtx file in it"}},
    Magic{0,
          "PAR1"sv,
          {"a Parquet file",
           "in Python, make a scipy.sparse.coo_matrix of its columns with pandas.read_parquet, then "
           "scipy.io.mmwrite(\"A.mtx\", A)"}},
    Magic{0, "\0\x12\x7b\x50"sv, {"a PETSc binary matrix", elsewhere}},
    Magic{
        0, "\0\x12\x7b\x4e"sv, {"a PETSc binary vector", "read_vector() reads it, and solve where a vector is named"}},
    Magic{0, "%%NVAMGBinary\n"sv, {"a binary system of AMGX", elsewhere}},
    Magic{0, "\xef\xbb\xbf"sv, {"text with a byte order mark (UTF-8)", byte_order_mark}},
    Magic{0, "\xff\xfe"sv, {"UTF-16 text", byte_order_mark}},
    Magic{0, "\xfe\xff"sv, {"UTF-16 text", byte_order_mark}},
    Magic{0,
          "version https://git-lfs.github.com/"sv,
          {"a pointer of git LFS, not the file itself", "git lfs pull fetches the file"}},
};

[[nodiscard]] bool starts_with_word(std::string_view text, std::string_view lower_case) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return text.size() >= lower_case.size() &&
         std::equal(lower_case.begin(), lower_case.end(), text.begin(), [&](char x, char y) { return x == lower(y); });
}

/// A page of a server in place of the file.
[[nodiscard]] bool is_html(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string_view text = bytes.substr(first);
  return starts_with_word(text, "<!doctype") || starts_with_word(text, "<html") || starts_with_word(text, "<?xml");
}

[[nodiscard]] std::string_view first_word(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(first);
  return line.substr(0, line.find_first_of(" \t\r"));
}

/// Numbers of a line between blanks, commas or semicolons; 0 where something else stands there.
[[nodiscard]] int numbers_in(std::string_view line) {
  int count = 0;
  constexpr std::string_view between = " \t\r,;";
  while (true) {
    const std::size_t first = line.find_first_not_of(between);
    if (first == std::string_view::npos) return count;
    line.remove_prefix(first);
    const std::string_view word = line.substr(0, line.find_first_of(between));
    double value = 0.0;
    if (parse_real(word, value) != NumberStatus::ok) return 0;
    line.remove_prefix(word.size());
    ++count;
  }
}

constexpr ForeignFormat html{"a web page (HTML)",
                             "download the file itself; this is what the server sent in its place"};
constexpr ForeignFormat harwell_boeing{"a Harwell-Boeing or Rutherford-Boeing file", elsewhere};
constexpr ForeignFormat edge_list{
    "lines of numbers without a header, as a list of edges",
    "name it .csv or .txt to have it read as a list of edges; for a matrix, put \"%%MatrixMarket matrix coordinate "
    "real "
    "general\" (without values: pattern) before them, then the line \"rows columns entries\" where it is missing"};

}  // namespace

bool is_edge_list(std::string_view bytes) {
  bool names_passed = false;
  int lines = 0;
  while (!bytes.empty() && lines < 3) {
    const std::string_view line = take_line(bytes);
    if (first_word(line).empty() || line.front() == '#' || line.front() == '%') continue;
    const int numbers = numbers_in(line);
    if (numbers == 2 || numbers == 3) {
      ++lines;
    } else if (lines == 0 && !names_passed && line.find_first_of(",;\t") != std::string_view::npos) {
      names_passed = true;
    } else {
      return false;
    }
  }
  return lines > 0;
}

std::optional<ForeignFormat> foreign_vector_format(std::string_view bytes) {
  const auto* const known = std::find_if(magics.begin(), magics.end(), [&](const Magic& magic) {
    return bytes.size() >= magic.offset && bytes.substr(magic.offset).starts_with(magic.bytes);
  });
  if (known != magics.end()) return known->format;
  if (is_html(bytes)) return html;
  if (is_harwell_boeing(bytes)) return harwell_boeing;
  return std::nullopt;
}

std::optional<ForeignFormat> foreign_format(std::string_view bytes) {
  const std::optional<ForeignFormat> format = foreign_vector_format(bytes);
  if (format) return format;
  if (is_edge_list(bytes)) return edge_list;
  return std::nullopt;
}

}  // namespace tessera::io
