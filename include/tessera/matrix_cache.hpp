/// \file
/// Reads a file of any format through a binary copy beside it. The matrix is always that of the present file.
#pragma once

#include "tessera/binary_matrix.hpp"
#include "tessera/matrix_file.hpp"

#include <filesystem>
#include <string>

namespace tessera {

struct CacheOptions {
  ReadOptions read;
  /// Directory of the caches, which must exist; empty: each cache lies beside its source.
  std::filesystem::path directory;
};

/// A matrix and its origin.
template <class T>
struct CachedMatrix {
  MatrixFile<T> file;
  std::filesystem::path cache;  ///< path of the binary file
  bool from_cache = false;      ///< the text was not parsed
  bool written = false;         ///< the binary file was written
  std::string note;             ///< why the cache was not used or could not be written; empty when it was used
};

/// Path of the cache of `source`: SOURCE.tsb, or in `directory` NAME-HASH.tsb with a hash of the full path.
[[nodiscard]] std::filesystem::path cache_path(const std::filesystem::path& source,
                                               const std::filesystem::path& directory = {});

/// The matrix of a file that read_matrix() reads, taken from its cache when that belongs to the file as it is now and
/// gives exactly what the text gives: the same type of values, and no merged entries where `options` refuses them. The
/// file is the same when size, inode and both times are, and it had been left alone for two seconds before it was read;
/// otherwise all its bytes are compared by their checksum. A cache that is damaged, outdated or of the other precision
/// is replaced. What cannot be written is no error: `note` tells. Lists of edges, whose ids a cache does not hold, and
/// named variables of MATLAB files are read anew each time.
///
/// \throws as read_matrix, for the source alone
template <class T>
[[nodiscard]] CachedMatrix<T> read_cached(const std::filesystem::path& source, const CacheOptions& options = {});

}  // namespace tessera
