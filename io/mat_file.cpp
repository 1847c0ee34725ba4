// MATLAB's files of versions 5 to 7.2, by matio. A variable is chosen by name; "Problem.A" is a field of a structure,
// as the SuiteSparse collection has its matrices.
#include "io/matrix_readers.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#if TESSERA_HAS_MATIO
#include "io/mat_checker.hpp"
#include "io/matio.hpp"
#include "io/memory_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

struct CloseMat {
  void operator()(mat_t* file) const { matio().close(file); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { matio().free(variable); }
};
using Variable = std::unique_ptr<matvar_t, FreeVariable>;

[[nodiscard]] bool is_dense(const matvar_t& variable) {
  return variable.class_type >= MAT_C_DOUBLE && variable.class_type <= MAT_C_UINT64;
}

[[nodiscard]] bool is_wanted(const matvar_t& variable, bool wants_sparse) {
  return wants_sparse ? variable.class_type == MAT_C_SPARSE : is_dense(variable);
}

[[nodiscard]] PackedNumbers packed(const void* data, std::int64_t count, matio_types type, const std::string& name) {
  using Named = std::pair<matio_types, NumberType>;
  constexpr std::array<Named, 10> known{{{MAT_T_INT8, NumberType::int8},
                                         {MAT_T_UINT8, NumberType::uint8},
                                         {MAT_T_INT16, NumberType::int16},
                                         {MAT_T_UINT16, NumberType::uint16},
                                         {MAT_T_INT32, NumberType::int32},
                                         {MAT_T_UINT32, NumberType::uint32},
                                         {MAT_T_INT64, NumberType::int64},
                                         {MAT_T_UINT64, NumberType::uint64},
                                         {MAT_T_SINGLE, NumberType::float32},
                                         {MAT_T_DOUBLE, NumberType::float64}}};
  const auto* const found =
      std::find_if(known.begin(), known.end(), [&](const Named& each) { return each.first == type; });
  if (found != known.end()) return {static_cast<const char*>(data), count, found->second, std::endian::native};
  throw InvalidMatrix(fmt::format("{}: values of the type {} of matio are not read", name, static_cast<int>(type)));
}

/// The field of a structure, or null. Of a damaged one matio knows the number of fields and not their names, which it
/// then compares.
[[nodiscard]] matvar_t* field_of(matvar_t* variable, const char* name) {
  if (variable->class_type != MAT_C_STRUCT || variable->data == nullptr) return nullptr;
  const unsigned count = matio().field_count(variable);
  const char* const* const names = matio().field_names(variable);
  if (names == nullptr || std::any_of(names, names + count, [](const char* each) { return each == nullptr; })) {
    return nullptr;
  }
  return matio().field(variable, name, 0);
}

/// A variable of the file, with its data.
class MatReader {
 public:
  /// \param wants_sparse which kind is looked for where no variable is named
  MatReader(const FileBytes& file, bool wants_sparse, MemoryBudget& budget) : name_(file.name), budget_(budget) {
    MemoryFile content(file.name, budget);
    const MatVariables copied = copy_checked_mat(file, wants_sparse, budget, content);
    all_ = copied.names;
    mat_.reset(matio().open(content.path().c_str(), MAT_ACC_RDONLY));
    if (mat_ == nullptr) throw ParseError::at_byte(name_, 0, "the header of the MATLAB file is damaged");
    const std::string wanted = file.variable.empty() ? choose(wants_sparse) : file.variable;
    const std::size_t dot = wanted.find('.');
    budget_.reserve(copied.bytes, "a variable of the file");
    held_ = copied.bytes;
    root_.reset(matio().read(mat_.get(), wanted.substr(0, dot).c_str()));
    if (root_ == nullptr) refuse_name(wanted);
    found_ = root_.get();
    if (dot != std::string::npos) {
      found_ = field_of(root_.get(), wanted.c_str() + dot + 1);
      if (found_ == nullptr) refuse_name(wanted);
    }
    check_variable(wanted);
    mat_.reset();
  }
  MatReader(const MatReader&) = delete;
  MatReader& operator=(const MatReader&) = delete;
  ~MatReader() { budget_.release(held_); }

  [[nodiscard]] bool is_sparse() const { return found_->class_type == MAT_C_SPARSE; }
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(found_->dims[0]); }
  [[nodiscard]] std::int64_t cols() const { return static_cast<std::int64_t>(found_->dims[1]); }

  [[nodiscard]] CompressedArrays sparse() const {
    const auto& data = *static_cast<const mat_sparse_t*>(found_->data);
    CompressedArrays arrays{packed(data.jc, data.njc, MAT_T_UINT32, name_),
                            packed(data.ir, data.nir, MAT_T_UINT32, name_),
                            packed(data.data, data.ndata, found_->data_type, name_)};
    arrays.by_columns = true;
    return arrays;
  }

  [[nodiscard]] DenseArray dense() const {
    const std::int64_t count = rows() * cols();
    if (found_->data == nullptr && count > 0) refuse_data();
    return {packed(found_->data, count, found_->data_type, name_), rows(), cols(), true};
  }

 private:
  /// The only variable of the kind, or that of the SuiteSparse collection.
  [[nodiscard]] std::string choose(bool wants_sparse) {
    std::vector<std::string> fitting;
    while (Variable next{matio().next(mat_.get())}) {
      const std::string name = next->name == nullptr ? "" : next->name;
      const char* field = wants_sparse ? "A" : "b";
      if (field_of(next.get(), field) != nullptr) {
        fitting.push_back(name + "." + field);
      } else if (is_wanted(*next, wants_sparse)) {
        fitting.push_back(name);
      }
    }
    matio().rewind(mat_.get());
    if (fitting.size() == 1) return fitting.front();
    throw InvalidMatrix(fmt::format("{}: expected one {}, found {}{}", name_,
                                    wants_sparse ? "sparse matrix" : "dense vector or matrix",
                                    fitting.empty() ? fmt::format("none among the variables {}", fmt::join(all_, ", "))
                                                    : fmt::format("{}", fmt::join(fitting, ", ")),
                                    fitting.empty() ? "" : "; name one as in A.mat:" + fitting.front()));
  }

  [[noreturn]] void refuse_name(const std::string& wanted) const {
    throw InvalidMatrix(fmt::format("{}: expected the variable {}, found {}", name_, wanted, fmt::join(all_, ", ")));
  }

  [[noreturn]] void refuse_data() const {
    throw ParseError::at_byte(name_, 0, "the data of the variable are cut off or damaged");
  }

  void check_variable(const std::string& wanted) const {
    const bool numbers = is_sparse() || is_dense(*found_);
    if (!numbers || found_->rank != 2 || found_->isComplex != 0) {
      throw InvalidMatrix(fmt::format("{}: expected {} to be a real matrix, found {}", name_, wanted,
                                      found_->isComplex != 0 ? "complex numbers, which are not supported"
                                      : numbers              ? fmt::format("{} dimensions", found_->rank)
                                                             : "another kind of variable"));
    }
    if (std::max(found_->dims[0], found_->dims[1]) > static_cast<std::size_t>(max_size)) {
      throw InvalidMatrix(fmt::format("{}: {} is {} x {}, expected up to {} rows and columns", name_, wanted,
                                      found_->dims[0], found_->dims[1], max_size));
    }
    if (!is_sparse()) return;
    const auto* data = static_cast<const mat_sparse_t*>(found_->data);
    const auto is_there = [](const void* array, std::size_t count) { return array != nullptr || count == 0; };
    if (data == nullptr || !is_there(data->jc, data->njc) || !is_there(data->ir, data->nir) ||
        !is_there(data->data, data->ndata)) {
      refuse_data();
    }
  }

  const std::string& name_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;  ///< by the variable in memory
  std::unique_ptr<mat_t, CloseMat> mat_;
  Variable root_;
  matvar_t* found_ = nullptr;     ///< the variable, or the field of it
  std::vector<std::string> all_;  ///< names
};

}  // namespace

template <class T>
MatrixMarketMatrix<T> read_mat_matrix(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  const MatReader reader(file, true, budget);
  if (!reader.is_sparse()) {
    return assemble_entries(dense_entries<T>(reader.dense(), budget), file.name, options, budget);
  }
  MatrixMarketHeader header;
  header.rows = reader.rows();
  header.cols = reader.cols();
  return assemble_entries(expand<T>(header, reader.sparse(), file.name, budget), file.name, options, budget);
}

template <class T>
MultiVector<T> read_mat_columns(const FileBytes& file, MemoryBudget& budget) {
  const MatReader reader(file, false, budget);
  if (reader.is_sparse()) {
    throw InvalidMatrix(fmt::format("{}: expected a dense vector or matrix, found a sparse matrix", file.name));
  }
  return dense_columns<T>(reader.dense(), file.name, budget);
}

#else

namespace tessera::io {

namespace {
[[noreturn]] void refuse(const FileBytes& file) {
  throw NotSupported(fmt::format("{}: this build reads no .mat files: built without matio", file.name));
}
}  // namespace

template <class T>
MatrixMarketMatrix<T> read_mat_matrix(const FileBytes& file, const ReadOptions& /*options*/, MemoryBudget& /*budget*/) {
  refuse(file);
}
template <class T>
MultiVector<T> read_mat_columns(const FileBytes& file, MemoryBudget& /*budget*/) {
  refuse(file);
}

#endif

bool is_mat(std::string_view bytes) noexcept { return bytes.starts_with("MATLAB 5.0 MAT-file"); }

template MatrixMarketMatrix<float> read_mat_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_mat_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MultiVector<float> read_mat_columns(const FileBytes&, MemoryBudget&);
template MultiVector<double> read_mat_columns(const FileBytes&, MemoryBudget&);

}  // namespace tessera::io
