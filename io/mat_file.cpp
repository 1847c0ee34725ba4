// MATLAB's files of versions 5 to 7.2, by matio. A variable is chosen by name; "Problem.A" is a field of a structure,
// as the SuiteSparse collection has its matrices.
#include "core/shared_library.hpp"
#include "io/matrix_readers.hpp"
#include "io/source.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#if TESSERA_HAS_MATIO
#include <matio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

/// The functions of matio, which is loaded at the first file.
struct Matio {
  const detail::SharedLibrary library{TESSERA_MATIO_NAME, "reading a MATLAB file"};
  decltype(&::Mat_Open) open = library.function<decltype(&::Mat_Open)>("Mat_Open");
  decltype(&::Mat_Close) close = library.function<decltype(&::Mat_Close)>("Mat_Close");
  decltype(&::Mat_Rewind) rewind = library.function<decltype(&::Mat_Rewind)>("Mat_Rewind");
  decltype(&::Mat_SizeOf) size_of = library.function<decltype(&::Mat_SizeOf)>("Mat_SizeOf");
  decltype(&::Mat_VarRead) read = library.function<decltype(&::Mat_VarRead)>("Mat_VarRead");
  decltype(&::Mat_VarReadNextInfo) next = library.function<decltype(&::Mat_VarReadNextInfo)>("Mat_VarReadNextInfo");
  decltype(&::Mat_VarGetStructFieldByName) field =
      library.function<decltype(&::Mat_VarGetStructFieldByName)>("Mat_VarGetStructFieldByName");
  decltype(&::Mat_VarFree) free = library.function<decltype(&::Mat_VarFree)>("Mat_VarFree");
};

/// \throws NotSupported where it cannot be loaded
[[nodiscard]] const Matio& matio() {
  static const Matio loaded;
  return loaded;
}

/// A file of the system without a place on the disk: matio reads files alone, and ours may come inflated or from a
/// pipe.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& name) : name_(name), descriptor_(::memfd_create("tessera", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void append(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        fail();
      }
    }
  }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  [[noreturn]] void fail() const {
    throw IoError(fmt::format("cannot hold \"{}\" in memory: {}", name_, std::generic_category().message(errno)));
  }

  const std::string& name_;
  int descriptor_;
};

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
  MatChecker(const FileBytes& file, MemoryBudget& budget) : file_(file), budget_(budget) {
    constexpr std::size_t order_at = 126;
    if (file.bytes.size() < header_bytes) fail(file.bytes.size(), "the header of the MATLAB file is cut off");
    order_ = file.bytes.substr(order_at, 2) == "IM" ? std::endian::little : std::endian::big;
  }

  void copy_to(const MemoryFile& target) const {
    target.append(file_.bytes.substr(0, header_bytes));
    std::size_t at = header_bytes;
    while (at < file_.bytes.size()) {
      const std::size_t left = file_.bytes.size() - at;
      const std::size_t size = left < tag_bytes ? left : word(file_.bytes, at + 4);
      if (left < tag_bytes || size > left - tag_bytes) {
        fail(at, fmt::format("expected a variable of {} bytes, found {} to the end of the file", size, left));
      }
      const std::string_view element = file_.bytes.substr(at, tag_bytes + size);
      if (word(element, 0) == compressed_type) {
        const ByteBuffer inflated = inflate_variable(element.substr(tag_bytes), at);
        append_variable(inflated.view(), at, target);
      } else {
        append_variable(element, at, target);
      }
      at += tag_bytes + size;
    }
  }

 private:
  static constexpr std::size_t header_bytes = 128;

  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    throw ParseError::at_byte(file_.name, at, message);
  }

  [[nodiscard]] std::uint32_t word(std::string_view bytes, std::size_t at) const {
    return static_cast<std::uint32_t>(
        PackedNumbers(bytes.data() + at, 1, NumberType::uint32, order_).get<std::int64_t>(0));
  }

  [[nodiscard]] ByteBuffer inflate_variable(std::string_view bytes, std::size_t at) const {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw OutOfMemory(0, 0, "inflating the file");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ending(&stream, inflateEnd);
    ByteBuffer text(budget_);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
    stream.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    while (status == Z_OK) {
      constexpr std::size_t piece = std::size_t{1} << 18;
      text.make_room(piece);
      stream.next_out = reinterpret_cast<Bytef*>(text.end());
      stream.avail_out = static_cast<uInt>(piece);
      status = inflate(&stream, Z_NO_FLUSH);
      text.added(piece - stream.avail_out);
    }
    if (status != Z_STREAM_END) fail(at, "the compressed variable is damaged");
    return text;
  }

  void append_variable(std::string_view element, std::size_t at, const MemoryFile& target) const {
    if (element.size() < tag_bytes || word(element, 4) > element.size() - tag_bytes) {
      fail(at, "the variable is cut off");
    }
    if (word(element, 0) != matrix_type) return;
    const std::string_view whole = element.substr(0, tag_bytes + word(element, 4));
    check_matrix(whole.substr(tag_bytes), at, 0);
    target.append(whole);
  }

  /// What the elements of a variable say of it.
  struct Claims {
    std::int64_t matlab_class = 0;
    std::int64_t values = 1;      ///< by its dimensions
    std::int64_t name_bytes = 0;  ///< of each field of a structure
    std::int64_t fields = 1;      ///< of a structure
    std::int64_t nested = 0;      ///< variables in it
    bool holds_values = false;
  };

  /// \param at of the variable in the file, for messages
  void check_matrix(std::string_view content, std::size_t at, int depth) const {
    constexpr int deepest = 16;
    if (depth > deepest) fail(at, "the variable is a structure of structures beyond 16 levels");
    Claims claims;
    std::size_t number = 0;  // flags, dimensions, name, then what the class has
    for (std::size_t begin = 0; begin < content.size(); ++number) {
      if (content.size() - begin < tag_bytes) fail(at, "the variable is cut off");
      const std::uint32_t first = word(content, begin);
      const bool is_small = first >> 16U != 0;
      const std::size_t size = is_small ? first >> 16U : word(content, begin + 4);
      const std::size_t data_at = begin + (is_small ? 4 : tag_bytes);
      if (size > (is_small ? 4 : content.size() - data_at)) fail(at, "an element of the variable is cut off");
      const std::string_view data = content.substr(data_at, size);
      const std::int64_t type = is_small ? first & 0xffffU : first;
      if (type == matrix_type) check_matrix(data, at, depth + 1);
      take_claim(number, type, data, at, claims);
      begin = is_small ? begin + tag_bytes : data_at + (size + 7) / 8 * 8;
    }
    if (number > 0) check_claims(claims, at);
  }

  void take_claim(std::size_t number, std::int64_t type, std::string_view data, std::size_t at, Claims& claims) const {
    const auto size = static_cast<std::int64_t>(data.size());
    if (type == matrix_type) ++claims.nested;
    if (number == 0 && size >= 4) claims.matlab_class = word(data, 0) & 0xffU;
    if (number == 1) claims.values = count_of(data, at);
    if (number == 3 && is_dense_class(claims.matlab_class))
      claims.holds_values = holds(type, claims.values, data.size());
    if (number == 3 && claims.matlab_class == MAT_C_CHAR) claims.holds_values = claims.values <= size;
    if (number == 3 && claims.matlab_class == MAT_C_STRUCT && size >= 4) claims.name_bytes = word(data, 0);
    if (number == 4 && claims.matlab_class == MAT_C_STRUCT && claims.name_bytes > 0) {
      claims.fields = size / claims.name_bytes;
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
    if (c == MAT_C_CELL && claims.values != claims.nested) refuse(claims.values, "cells");
    std::int64_t parts = 0;
    if (c == MAT_C_STRUCT && (__builtin_mul_overflow(claims.values, claims.fields, &parts) || parts != claims.nested ||
                              (claims.fields == 0 && claims.values > 1))) {
      refuse(claims.values, "structures");
    }
    if (c < MAT_C_CELL || c > MAT_C_UINT64 || c == MAT_C_OBJECT)
      fail(at, fmt::format("variables of class {} are not read", c));
  }

  [[nodiscard]] static bool is_dense_class(std::int64_t matlab_class) {
    return matlab_class >= MAT_C_DOUBLE && matlab_class <= MAT_C_UINT64;
  }

  [[nodiscard]] static bool holds(std::int64_t type, std::int64_t values, std::size_t bytes) {
    const bool known = type >= MAT_T_INT8 && type <= MAT_T_UINT64;
    const std::size_t each = known ? matio().size_of(static_cast<matio_types>(type)) : 0;
    return each > 0 && bytes % each == 0 && bytes / each == static_cast<std::size_t>(values);
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
  MemoryBudget& budget_;
  std::endian order_ = std::endian::little;
};

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

/// A variable of the file, with its data.
class MatReader {
 public:
  /// \param wants_sparse which kind is looked for where no variable is named
  MatReader(const FileBytes& file, bool wants_sparse, MemoryBudget& budget) : name_(file.name), content_(file.name) {
    MatChecker(file, budget).copy_to(content_);
    mat_.reset(matio().open(content_.path().c_str(), MAT_ACC_RDONLY));
    if (mat_ == nullptr) throw ParseError::at_byte(name_, 0, "the header of the MATLAB file is damaged");
    const std::string wanted = file.variable.empty() ? choose(wants_sparse) : file.variable;
    const std::size_t dot = wanted.find('.');
    root_.reset(matio().read(mat_.get(), wanted.substr(0, dot).c_str()));
    if (root_ == nullptr) refuse_name(wanted);
    found_ = root_.get();
    if (dot != std::string::npos) {
      found_ = root_->class_type == MAT_C_STRUCT && root_->data != nullptr
                   ? matio().field(root_.get(), wanted.c_str() + dot + 1, 0)
                   : nullptr;
      if (found_ == nullptr) refuse_name(wanted);
    }
    check_variable(wanted);
  }

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
      if (next->class_type == MAT_C_STRUCT && next->data != nullptr && matio().field(next.get(), field, 0) != nullptr) {
        fitting.push_back(name + "." + field);
      } else if (is_wanted(*next, wants_sparse)) {
        fitting.push_back(name);
      }
      all_.push_back(name);
    }
    matio().rewind(mat_.get());
    if (fitting.size() == 1) return fitting.front();
    throw InvalidMatrix(fmt::format("{}: expected one {}, found {}{}", name_,
                                    wants_sparse ? "sparse matrix" : "dense vector or matrix",
                                    fitting.empty() ? fmt::format("none among the variables {}", fmt::join(all_, ", "))
                                                    : fmt::format("{}", fmt::join(fitting, ", ")),
                                    fitting.empty() ? "" : "; name one as in A.mat:" + fitting.front()));
  }

  [[noreturn]] void refuse_name(const std::string& wanted) {
    matio().rewind(mat_.get());
    all_.clear();
    while (const Variable next{matio().next(mat_.get())}) all_.emplace_back(next->name == nullptr ? "" : next->name);
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
  MemoryFile content_;
  std::unique_ptr<mat_t, CloseMat> mat_;
  Variable root_;
  matvar_t* found_ = nullptr;  ///< the variable, or the field of it
  std::vector<std::string> all_;
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
