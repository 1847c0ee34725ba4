#include "io/foreign_formats.hpp"

#include "io/document.hpp"
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

constexpr std::string_view unpack = "unpack it: only plain and gzip files are read";
constexpr std::string_view byte_order_mark = "save it as plain ASCII or as UTF-8 without a byte order mark";
constexpr std::string_view petsc_remedy =
    "in petsc4py, A = PETSc.Mat().load(PETSc.Viewer().createBinary(\"A.dat\")), then "
    "scipy.io.mmwrite(\"A.mtx\", scipy.sparse.csr_matrix(A.getValuesCSR()[::-1]))";

constexpr std::array magics{
    Magic{0,
          "MATLAB 5.0 MAT-file"sv,
          {"a MATLAB 5 .mat file",
           "in Python, scipy.io.mmwrite(\"A.mtx\", scipy.io.loadmat(\"A.mat\")[\"A\"]) with the name of the variable; "
           "the "
           "SuiteSparse collection offers its matrices as Matrix Market too"}},
    Magic{0,
          "MATLAB 7.3 MAT-file"sv,
          {"a MATLAB 7.3 .mat file (HDF5)",
           "in MATLAB, save(\"A.mat\", \"A\", \"-v7\"), then in Python "
           "scipy.io.mmwrite(\"A.mtx\", scipy.io.loadmat(\"A.mat\")[\"A\"])"}},
    Magic{0,
          "\x89HDF\r\n\x1a\n"sv,
          {"an HDF5 file",
           R"(in Python, make a scipy.sparse matrix of its datasets with h5py, then scipy.io.mmwrite("A.mtx", A))"}},
    Magic{0,
          "\x93NUMPY"sv,
          {"a NumPy .npy file",
           "in Python, numpy.savetxt(\"b.txt\", numpy.load(\"b.npy\")) for a vector, "
           "scipy.io.mmwrite(\"A.mtx\", scipy.sparse.coo_matrix(numpy.load(\"A.npy\"))) for a matrix"}},
    Magic{0,
          "PK\x03\x04"sv,
          {"a zip archive; SciPy's .npz is one",
           R"(in Python, scipy.io.mmwrite("A.mtx", scipy.sparse.load_npz("A.npz")); unpack other archives)"}},
    Magic{0, "\xfd\x37zXZ\0"sv, {"an xz file", unpack}},
    Magic{0, "BZh"sv, {"a bzip2 file", unpack}},
    Magic{0, "\x28\xb5\x2f\xfd"sv, {"a zstd file", unpack}},
    Magic{257, "ustar"sv, {"a tar archive", "unpack it with tar -xf and name the .mtx file in it"}},
    Magic{0,
          "PAR1"sv,
          {"a Parquet file",
           "in Python, make a scipy.sparse.coo_matrix of its columns with pandas.read_parquet, then "
           "scipy.io.mmwrite(\"A.mtx\", A)"}},
    Magic{0, "\0\x12\x7b\x50"sv, {"a PETSc binary matrix", petsc_remedy}},
    Magic{0,
          "\0\x12\x7b\x4e"sv,
          {"a PETSc binary vector",
           "in petsc4py, b = PETSc.Vec().load(PETSc.Viewer().createBinary(\"b.dat\")), then "
           "numpy.savetxt(\"b.txt\", b.getArray())"}},
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

[[nodiscard]] std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

[[nodiscard]] std::string_view first_word(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(first);
  return line.substr(0, line.find_first_of(" \t\r"));
}

/// The third line begins with the type: R, C, P or I; S, U, H, Z or R; A or E.
/// (Duff, Grimes, Lewis, User's Guide for the Harwell-Boeing Collection, 1992)
[[nodiscard]] bool is_harwell_boeing(std::string_view bytes) {
  static_cast<void>(take_line(bytes));
  static_cast<void>(take_line(bytes));
  const std::string_view type = first_word(take_line(bytes));
  if (type.size() != 3) return false;
  const auto among = [](char c, std::string_view letters) {
    const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return letters.find(upper) != std::string_view::npos;
  };
  return among(type[0], "RCPIQ") && among(type[1], "SUHZR") && among(type[2], "AE");
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

/// Pairs of vertices, with a weight or without, below comments ("# FromNodeId ToNodeId") or a line of names.
/// The first lines alone are looked at.
[[nodiscard]] bool is_edge_list(std::string_view bytes) {
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

constexpr ForeignFormat html{"a web page (HTML)",
                             "download the file itself; this is what the server sent in its place"};
constexpr ForeignFormat harwell_boeing{"a Harwell-Boeing or Rutherford-Boeing file",
                                       R"(in Python, scipy.io.mmwrite("A.mtx", scipy.io.hb_read("A.rb")))"};
constexpr ForeignFormat edge_list{
    "lines of numbers without a header, as a list of edges",
    "put \"%%MatrixMarket matrix coordinate real general\" (without values: pattern) before them, then the line \"rows "
    "columns entries\" where it is missing; indices count from 1, blanks separate the numbers"};

}  // namespace

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
