// A coordinate file read by several processes: each parses the lines that begin in its share of the bytes.
#include "petsc/engine/matrix_part.hpp"

#include "io/data_chunks.hpp"
#include "io/input_file.hpp"
#include "io/matrix_market_header.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>

namespace tessera::petsc {

namespace {

using io::Comments;
using io::InputFile;
using io::Problem;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Header and where the entries begin, as the first process tells the others.
struct TextLayout {
  MatrixMarketHeader header;
  std::int64_t file_bytes = 0;
  std::int64_t body = 0;       ///< offset of the end of the size line
  std::int64_t size_line = 0;  ///< its number, from 1
};
static_assert(std::is_trivially_copyable_v<TextLayout>);

/// Appends bytes of the file from an offset on, as many as there are. \throws IoError
void append(const InputFile& file, std::int64_t offset, std::int64_t bytes, std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + static_cast<std::size_t>(bytes));
  const InputFile::Got got =
      file.read_at(static_cast<std::uint64_t>(offset), text.data() + before, static_cast<std::size_t>(bytes));
  if (got.error != 0) file.fail(got.error);
  text.resize(before + got.bytes);
}

/// The size line, once a text holds all of it; `text.size()` before.
[[nodiscard]] std::size_t end_of_size_line(const std::string& text) {
  const char* const end = text.data() + text.size();
  const char* p = io::line_end(text.data(), end);
  p = io::line_end(io::next_data_line(p, end, Comments::percent), end);
  return static_cast<std::size_t>(p - text.data());
}

[[nodiscard]] TextLayout read_layout(const InputFile& file) {
  const io::FileStamp stamp = file.stamp();
  if (!stamp.regular) {
    throw InvalidArgument(fmt::format("{}: several processes read a regular file, this is none", file.name()));
  }
  constexpr std::int64_t piece = 65536;
  std::string text;
  do {
    append(file, static_cast<std::int64_t>(text.size()), piece, text);
  } while (end_of_size_line(text) == text.size() && text.size() < stamp.size_bytes);
  if (text.starts_with("\x1f\x8b")) {
    throw InvalidArgument(fmt::format("{}: a compressed file cannot be read in parts", file.name()));
  }
  const io::Document document{text, file.name()};
  const io::ParsedHeader parsed = io::parse_header(document);
  if (parsed.header.format != MatrixMarketFormat::coordinate) {
    throw InvalidArgument(fmt::format("{}: an array file is not read in parts", file.name()));
  }
  return {parsed.header, static_cast<std::int64_t>(stamp.size_bytes), parsed.body - document.begin(),
          io::line_number(document, parsed.size_line)};
}

/// The lines of this process, with what is wrong in them.
class TextShare {
 public:
  TextShare(MPI_Comm comm, const InputFile& file, const TextLayout& layout) : comm_(comm), layout_(layout) {
    document_.name = file.name();
    together(comm, [&] { read(file); });
    document_.text = std::string_view(text_).substr(first_);
  }

  void parse(MatrixPart& part) {
    together(comm_, [&] {
      switch (layout_.header.field) {
        case MatrixMarketField::real:
          return parse_field<MatrixMarketField::real>(part);
        case MatrixMarketField::integer:
          return parse_field<MatrixMarketField::integer>(part);
        case MatrixMarketField::pattern:
          return parse_field<MatrixMarketField::pattern>(part);
      }
    });
    look_for_both_triangles();
    look_at_count();
    fail_at_first_problem();
  }

 private:
  [[nodiscard]] bool is_last() const { return process_number(comm_) + 1 == process_count(comm_); }

  /// A line belongs to the process in whose share it begins, that of the size line to the first.
  void read(const InputFile& file) {
    const std::int64_t bytes = layout_.file_bytes - layout_.body;
    const RowRange share = rows_of_process(comm_, bytes);
    const bool is_first = process_number(comm_) == 0;
    // One byte before the share tells whether a line begins with it.
    offset_ = layout_.body + share.begin - (is_first ? 0 : 1);
    append(file, offset_, layout_.body + share.end - offset_, text_);
    constexpr std::int64_t piece = 4096;
    std::size_t last = text_.size();
    while (!is_last() && (last == 0 || text_[last - 1] != '\n')) {
      const std::size_t known = text_.size();
      append(file, offset_ + static_cast<std::int64_t>(known), piece, text_);
      const std::size_t newline = text_.find('\n', known);
      last = newline == std::string::npos ? text_.size() : newline + 1;
      if (text_.size() == known) break;
    }
    text_.resize(last);
    if (is_first) return;
    const std::size_t newline = text_.find('\n');
    first_ = newline == std::string::npos ? text_.size() : newline + 1;
  }

  template <MatrixMarketField field>
  void parse_field(MatrixPart& part) {
    const MatrixMarketHeader& h = layout_.header;
    const io::LineRules rules{h.format, h.field, h.symmetry, h.rows, h.cols, false};
    const bool is_general = h.symmetry == MatrixMarketSymmetry::general;
    const double sign = h.symmetry == MatrixMarketSymmetry::skew_symmetric ? -1.0 : 1.0;
    const char* const end = document_.end();
    for (const char* p = next(document_.begin()); p != end; p = next(p)) {
      const char* const line = p;
      io::TextEntry<double> entry;
      ++lines_;
      if (!io::read_line<MatrixMarketFormat::coordinate, field>(p, end, rules, entry)) {
        const Problem problem = io::problem_of_line<double>(document_, line, rules);
        note(problem.where, problem.message);
        p = io::line_end(line, end);
        continue;
      }
      if (problem_) continue;
      part.add(entry.row, entry.column, entry.value);
      if (is_general || entry.row == entry.column) continue;
      part.add(entry.column, entry.row, sign * entry.value);
      std::int64_t& first = entry.row > entry.column ? first_lower_ : first_upper_;
      if (first == never) first = position(line);
    }
  }

  [[nodiscard]] const char* next(const char* p) const {
    return io::next_data_line(p, document_.end(), Comments::percent);
  }
  /// In the file.
  [[nodiscard]] std::int64_t position(const char* where) const { return offset_ + (where - text_.data()); }
  [[nodiscard]] bool holds(std::int64_t position) const {
    return position >= offset_ + static_cast<std::int64_t>(first_) &&
           position < offset_ + static_cast<std::int64_t>(text_.size());
  }
  void note(const char* where, std::string message) {
    if (!problem_ || where < problem_->where) problem_ = Problem{where, std::move(message)};
  }

  /// A symmetric file that holds entries of both strict triangles would be doubled by mirroring.
  void look_for_both_triangles() {
    std::int64_t firsts[2] = {first_lower_, first_upper_};
    std::int64_t least[2] = {never, never};
    check_mpi(MPI_Allreduce(firsts, least, 2, MPI_INT64_T, MPI_MIN, comm_));
    const std::int64_t second = std::max(least[0], least[1]);
    if (second == never || !holds(second)) return;
    const char* const line = text_.data() + (second - offset_);
    const io::Token row = io::next_token(line, document_.end());
    const io::Token column = io::next_token(row.last, document_.end());
    note(line, fmt::format("expected an entry of the {} triangle as before, found ({}, {}): a {} file holds one "
                           "triangle, the other one is its mirror image",
                           least[0] < least[1] ? "lower" : "upper", row.text(), column.text(),
                           to_string(layout_.header.symmetry)));
  }

  void look_at_count() {
    const std::int64_t expected = layout_.header.entries;
    const std::int64_t before = sum_before(comm_, lines_);
    const std::int64_t found = sum_over(comm_, lines_);
    if (found < expected && is_last()) {
      note(document_.end(), fmt::format("expected {} entries (sizes in line {}), found end of file after {}", expected,
                                        layout_.size_line, found));
    }
    if (found <= expected || expected < before || expected >= before + lines_) return;
    const char* line = next(document_.begin());
    for (std::int64_t k = before; k < expected; ++k) line = next(io::line_end(line, document_.end()));
    io::Token token{line, io::line_end(line, document_.end())};
    while (io::is_blank(token.last[-1])) --token.last;
    note(line, fmt::format("expected end of file after {} entries (sizes in line {}), found {}", expected,
                           layout_.size_line, io::quoted(token.text())));
  }

  void fail_at_first_problem() const {
    const std::int64_t mine = problem_ ? position(problem_->where) : never;
    std::int64_t first = never;
    check_mpi(MPI_Allreduce(&mine, &first, 1, MPI_INT64_T, MPI_MIN, comm_));
    if (first == never) return;
    const std::int64_t lines = std::count(document_.begin(), document_.end(), '\n');
    const std::int64_t lines_before = sum_before(comm_, lines) + layout_.size_line - 1;
    together(comm_, [&] {
      if (mine != first) return;
      const char* line = problem_->where;
      while (line > document_.begin() && line[-1] != '\n') --line;
      throw ParseError(document_.name, lines_before + io::line_number(document_, problem_->where),
                       problem_->where - line + 1, problem_->message);
    });
  }

  MPI_Comm comm_;
  const TextLayout& layout_;
  std::string text_;
  std::int64_t offset_ = 0;  ///< of the text in the file
  std::size_t first_ = 0;    ///< where the lines of this process begin in the text
  io::Document document_;    ///< these lines
  std::int64_t lines_ = 0;   ///< with data
  std::int64_t first_lower_ = never;
  std::int64_t first_upper_ = never;
  std::optional<Problem> problem_;
};

}  // namespace

MatrixPart read_matrix_market_part(MPI_Comm comm, const std::string& path) {
  TextLayout layout;
  std::optional<InputFile> file;
  together(comm, [&] {
    file.emplace(path);
    if (process_number(comm) == 0) layout = read_layout(*file);
  });
  check_mpi(MPI_Bcast(&layout, sizeof layout, MPI_BYTE, 0, comm));
  MatrixPart part;
  part.header = layout.header;
  TextShare(comm, *file, layout).parse(part);
  return part;
}

}  // namespace tessera::petsc
