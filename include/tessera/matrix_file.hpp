/// \file
/// Matrices from files of any format that is known here, told by their content. docs/files.md describes the formats.
#pragma once

#include "tessera/matrix_market.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A matrix as its file gives it. The header is that of a Matrix Market file with the same content.
template <class T>
struct MatrixFile : MatrixMarketMatrix<T> {
  std::vector<std::string> labels;  ///< ids of the vertices of a list of edges (see EdgeList); of other files empty
  std::string_view format;          ///< MatrixFormatInfo::name
};

/// Reads a matrix from a Matrix Market file, a binary file of Tessera, a list of edges, a sparse matrix of SciPy
/// (.npz), an array of NumPy (.npy), a MATLAB file (.mat), a Harwell-Boeing or Rutherford-Boeing file, PETSc's binary
/// file or AMGX's. The content decides which it is, whatever the name; where it does not tell, as of a list of edges,
/// the name does. Text and binary files may be compressed by gzip or zstd, except Tessera's own.
///
/// \param path a file; of a MATLAB file also "A.mat:NAME" or "A.mat:NAME.FIELD" with the variable that is meant
/// \throws as the reader of the format: IoError; ParseError with line and column of text, with the byte of binary
/// files;
///         InvalidMatrix; OutOfMemory; NotSupported where this build lacks the library that reads the format
template <class T>
[[nodiscard]] MatrixFile<T> read_matrix(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same for bytes in memory, of any format but Tessera's own. \param name stands for the file, and its suffix
/// counts
template <class T>
[[nodiscard]] MatrixFile<T> parse_matrix(std::string_view bytes, const std::string& name,
                                         const ReadOptions& options = {});

/// What can be done with a format.
struct MatrixFormatInfo {
  std::string_view name;         ///< "scipy-npz"
  std::string_view suffixes;     ///< ".csv|.tsv": of files of that format, the first the usual one
  std::string_view description;  ///< what is read of it, and what is kept
  bool reads_matrices = false;
  bool reads_vectors = false;
  bool writes_matrices = false;
  bool writes_vectors = false;
  bool available = true;  ///< false where this build lacks the library
};

/// All formats of matrices and vectors.
[[nodiscard]] std::span<const MatrixFormatInfo> matrix_formats();

}  // namespace tessera
