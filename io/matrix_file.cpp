// The format of a file by its content, and where that does not tell by its name.
#include "tessera/matrix_file.hpp"

#include "io/foreign_formats.hpp"
#include "io/matrix_market_header.hpp"
#include "io/matrix_path.hpp"
#include "io/matrix_readers.hpp"
#include "io/source.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace tessera {

namespace {

using detail::MemoryBudget;
using io::FileBytes;

#if TESSERA_HAS_MINIZIP
constexpr bool has_minizip = true;
#else
constexpr bool has_minizip = false;
#endif
#if TESSERA_HAS_MATIO
constexpr bool has_matio = true;
#else
constexpr bool has_matio = false;
#endif

constexpr std::array formats{
    MatrixFormatInfo{"matrix-market", ".mtx",
                     "coordinate and array files; real, integer, pattern; general, symmetric, skew-symmetric; written "
                     "also as .mtx.gz",
                     true, true, true, true},
    MatrixFormatInfo{"tessera-binary", ".tsb",
                     "a matrix as it lies in memory, with checksums; also what --cache writes", true, false, true,
                     false},
    MatrixFormatInfo{"tessera-tiles", ".tiles", "the same in 8 x 8 tiles: bitmaps and packed values", true, false, true,
                     false},
    MatrixFormatInfo{"edge-list", ".csv|.tsv|.edges|.edgelist|.el|.snap|.txt",
                     "an edge per line: from, to, perhaps a weight; the ids of vertices are kept", true, false, false,
                     false},
    MatrixFormatInfo{"scipy-npz", ".npz",
                     "sparse matrices of scipy.sparse.save_npz: csr, csc, bsr, coo, dia of real or whole numbers", true,
                     false, false, false, has_minizip},
    MatrixFormatInfo{"numpy-npy", ".npy", "dense arrays of real or whole numbers; zeros are no entries of a matrix",
                     true, true, false, false},
    MatrixFormatInfo{"matlab", ".mat",
                     "MATLAB 5 to 7.2, sparse and dense; A.mat:NAME and A.mat:Problem.A name a variable", true, true,
                     false, false, has_matio},
    MatrixFormatInfo{"harwell-boeing", ".rb|.rua|.rsa|.rza|.rra|.pua|.psa|.pra|.hb|.iua|.isa",
                     "Rutherford-Boeing too; assembled, real, integer or pattern; full right-hand sides", true, true,
                     false, false},
    MatrixFormatInfo{"petsc-binary", ".petsc",
                     "matrices and vectors, indices of 32 or 64 bits; of several objects the first of the kind", true,
                     true, true, true},
    MatrixFormatInfo{"amgx-binary", ".amgx", "a system in compressed rows of blocks; its right-hand side", true, true,
                     false, false},
    MatrixFormatInfo{"text-vector", ".txt",
                     "one number per line, for right-hand sides, initial guesses and personalization", false, true,
                     false, true},
};

[[nodiscard]] const MatrixFormatInfo& format_named(std::string_view name) {
  return *std::find_if(formats.begin(), formats.end(), [&](const MatrixFormatInfo& f) { return f.name == name; });
}

/// The name promises a format that the content is not.
[[noreturn]] void refuse_content(const FileBytes& file, const MatrixFormatInfo& promised) {
  const auto foreign = io::foreign_format(file.bytes);
  const std::string found = foreign              ? std::string(foreign->name)
                            : file.bytes.empty() ? "an empty file"
                                                 : io::quoted(file.bytes.substr(0, file.bytes.find('\n')));
  throw ParseError::at_byte(
      file.name, 0, fmt::format("named as a file of the format {}, but it begins like {}", promised.name, found));
}

/// \param release called when the bytes are no longer needed
template <class T>
[[nodiscard]] MatrixFile<T> read_bytes(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget,
                                       const std::function<void()>& release) {
  const io::Document document{file.bytes, file.name};
  const std::string_view format = io::format_of(file.bytes, file.name);
  if (format == "edge-list") {
    EdgeList<T> list = io::read_edge_text<T>(document, options, budget);
    return {{std::move(list.file)}, std::move(list.labels), format};
  }
  const auto read = [&]() -> MatrixMarketMatrix<T> {
    if (format == "matrix-market") return io::read_matrix_market_text<T>(document, options, budget, release);
    if (format == "scipy-npz") return io::read_npz<T>(file, options, budget);
    if (format == "numpy-npy") return io::read_npy_matrix<T>(file, options, budget);
    if (format == "matlab") return io::read_mat_matrix<T>(file, options, budget);
    if (format == "petsc-binary") return io::read_petsc_matrix<T>(file, options, budget);
    if (format == "amgx-binary") return io::read_amgx_matrix<T>(file, options, budget);
    if (format == "harwell-boeing") return io::read_harwell_boeing<T>(file, options, budget);
    refuse_content(file, format_named(io::promised_format(file.name)));
  };
  return {{read()}, {}, format};
}

}  // namespace

template <class T>
MatrixFile<T> read_matrix(const std::filesystem::path& path, const ReadOptions& options) {
  const io::MatrixPath named = io::split_matrix_path(path);
  std::error_code ignored;
  // A pipe can be opened only once, so it is not asked what it holds.
  if (std::filesystem::is_regular_file(named.file, ignored) && is_binary_matrix(named.file)) {
    const bool tiles = read_binary_info(named.file).layout == BinaryLayout::tiles;
    return {{read_binary<T>(named.file, options)}, {}, tiles ? "tessera-tiles" : "tessera-binary"};
  }
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  io::ByteBuffer bytes = io::load_text(named.file, budget, options.device);
  return read_bytes<T>({bytes.view(), named.file.string(), named.variable}, options, budget,
                       [&bytes] { bytes.clear(); });
}

template <class T>
MatrixFile<T> parse_matrix(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  return read_bytes<T>({bytes, name}, options, budget, [] {});
}

std::span<const MatrixFormatInfo> matrix_formats() { return formats; }

template MatrixFile<float> read_matrix(const std::filesystem::path&, const ReadOptions&);
template MatrixFile<double> read_matrix(const std::filesystem::path&, const ReadOptions&);
template MatrixFile<float> parse_matrix(std::string_view, const std::string&, const ReadOptions&);
template MatrixFile<double> parse_matrix(std::string_view, const std::string&, const ReadOptions&);

namespace io {

std::string_view format_of(std::string_view bytes, const std::string& name) {
  if (has_banner({bytes, name})) return "matrix-market";
  if (is_npz(bytes)) return "scipy-npz";
  if (is_npy(bytes)) return "numpy-npy";
  if (is_mat(bytes)) return "matlab";
  if (is_petsc(bytes)) return "petsc-binary";
  if (is_amgx(bytes)) return "amgx-binary";
  const std::string_view promised = promised_format(name);
  const bool named_list = promised == "edge-list";
  // Words of three letters in the third line of a list of edges are no type of a matrix.
  if (!named_list && is_harwell_boeing(bytes)) return "harwell-boeing";
  const bool looks_like_list = is_edge_list(bytes);
  const bool foreign = !looks_like_list && !bytes.starts_with("\xef\xbb\xbf") && !is_harwell_boeing(bytes) &&
                       foreign_format(bytes).has_value();
  if (foreign && promised.empty()) return "matrix-market";  // whose reader names it
  if (named_list) return foreign ? "matrix-market" : "edge-list";
  if (promised.empty()) return looks_like_list || is_edge_table(bytes) ? "edge-list" : "matrix-market";
  return promised == "matrix-market" ? promised : std::string_view{};
}

std::string_view promised_format(const std::filesystem::path& name) {
  std::string suffix = name.extension().string();
  if (suffix == ".gz" || suffix == ".zst" || suffix == ".bgz") suffix = name.stem().extension().string();
  if (suffix.empty()) return {};
  for (const MatrixFormatInfo& format : formats) {
    std::string_view rest = format.suffixes;
    while (!rest.empty()) {
      const std::string_view each = rest.substr(0, rest.find('|'));
      if (each == suffix) return format.name;
      rest.remove_prefix(std::min(each.size() + 1, rest.size()));
    }
  }
  return {};
}

MatrixPath split_matrix_path(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::string text = path.string();
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(path, ignored)) return {path, {}};
  const std::filesystem::path file = text.substr(0, colon);
  if (promised_format(file) != "matlab") return {path, {}};
  return {file, text.substr(colon + 1)};
}

}  // namespace io

}  // namespace tessera
