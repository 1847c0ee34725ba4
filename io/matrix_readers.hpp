/// \file
/// The readers of all formats, as the dispatch by content calls them. All take the bytes of a whole file, inflated
/// where it was compressed, and the name that stands for it in messages.
#pragma once

#include "core/memory_budget.hpp"
#include "io/document.hpp"
#include "tessera/edge_list.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/multi_vector_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::io {

using tessera::detail::MemoryBudget;

/// A file as a reader sees it.
struct FileBytes {
  std::string_view bytes;
  std::string name;
  std::string variable = {};  ///< of a .mat file: which one is meant; empty: not said
};

/// \param release_text called when the text is no longer needed, so that assembly can use its memory
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_matrix_market_text(const Document& document, const ReadOptions& options,
                                                            MemoryBudget& budget,
                                                            const std::function<void()>& release_text);

template <class T>
[[nodiscard]] EdgeList<T> read_edge_text(const Document& document, const ReadOptions& options, MemoryBudget& budget);

/// Whether the first lines have two or three fields between commas, semicolons or tabs, as all lines of a list of edges
/// do.
[[nodiscard]] bool is_edge_table(std::string_view bytes);

// NumPy: sparse matrices of scipy.sparse.save_npz, dense arrays of numpy.save.
[[nodiscard]] bool is_npz(std::string_view bytes) noexcept;
[[nodiscard]] bool is_npy(std::string_view bytes) noexcept;
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_npz(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget);
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_npy_matrix(const FileBytes& file, const ReadOptions& options,
                                                    MemoryBudget& budget);
template <class T>
[[nodiscard]] MultiVector<T> read_npy_columns(const FileBytes& file, MemoryBudget& budget);

// PETSc's binary files: matrices and vectors, in any number one after the other; the first one counts.
[[nodiscard]] bool is_petsc(std::string_view bytes) noexcept;
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_petsc_matrix(const FileBytes& file, const ReadOptions& options,
                                                      MemoryBudget& budget);
template <class T>
[[nodiscard]] MultiVector<T> read_petsc_columns(const FileBytes& file, MemoryBudget& budget);

// AMGX's binary systems.
[[nodiscard]] bool is_amgx(std::string_view bytes) noexcept;
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_amgx_matrix(const FileBytes& file, const ReadOptions& options,
                                                     MemoryBudget& budget);
template <class T>
[[nodiscard]] MultiVector<T> read_amgx_columns(const FileBytes& file, MemoryBudget& budget);

// Harwell-Boeing and Rutherford-Boeing.
[[nodiscard]] bool is_harwell_boeing(std::string_view text);
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_harwell_boeing(const FileBytes& file, const ReadOptions& options,
                                                        MemoryBudget& budget);
template <class T>
[[nodiscard]] MultiVector<T> read_harwell_boeing_columns(const FileBytes& file, MemoryBudget& budget);

// MATLAB 5 to 7.2, by matio.
[[nodiscard]] bool is_mat(std::string_view bytes) noexcept;
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_mat_matrix(const FileBytes& file, const ReadOptions& options,
                                                    MemoryBudget& budget);
template <class T>
[[nodiscard]] MultiVector<T> read_mat_columns(const FileBytes& file, MemoryBudget& budget);

}  // namespace tessera::io
