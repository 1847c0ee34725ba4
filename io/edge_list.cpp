// Lists of edges: the form of the file from its first lines, then all lines in parallel, then the numbers of the
// vertices.
#include "tessera/edge_list.hpp"

#include "core/parallel.hpp"
#include "io/data_chunks.hpp"
#include "io/edge_line.hpp"
#include "io/file_entries.hpp"
#include "io/matrix_readers.hpp"
#include "io/source.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tessera {

namespace {

using detail::MemoryBudget;
using io::Document;
using io::LineFlaw;
using io::NumberStatus;

constexpr io::Comments comments = io::Comments::percent_or_hash;
[[nodiscard]] std::string lower_letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || io::detail::is_digit(c)) letters += c;
  }
  return letters;
}

[[nodiscard]] bool has_usual_names(const io::EdgeLine& line) {
  using Names = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Names, 7> usual{{{"source", "target"},
                                        {"sourceid", "targetid"},
                                        {"src", "dst"},
                                        {"from", "to"},
                                        {"fromnodeid", "tonodeid"},
                                        {"node1", "node2"},
                                        {"citing", "cited"}}};
  const std::string first = lower_letters(line.fields[0].text());
  const std::string second = lower_letters(line.fields[1].text());
  return std::any_of(usual.begin(), usual.end(),
                     [&](const Names& names) { return names.first == first && names.second == second; });
}

/// The form of the file, and where its edges begin.
struct Layout {
  io::EdgeLineForm form;
  const char* body = nullptr;
};

[[nodiscard]] std::string_view line_at(const Document& document, const char* p) {
  return {p, static_cast<std::size_t>(io::line_end(p, document.end()) - p)};
}

/// What the first line says of all.
[[nodiscard]] io::EdgeLineForm form_of(std::string_view first) {
  io::EdgeLineForm form;
  for (const char separator : {',', ';', '\t'}) {
    if (first.find(separator) == std::string_view::npos) continue;
    form.separator = separator;
    break;
  }
  const io::EdgeLine line = io::split_edge(first.data(), first.data() + first.size(), form.separator);
  form.fields = line.count == 3 ? 3 : 2;
  return form;
}

/// \throws ParseError where the first line is none of two or three fields
[[nodiscard]] Layout find_layout(const Document& document) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  const char* start = document.begin() + (document.text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
  Layout layout;
  layout.body = io::next_data_line(start, document.end(), comments);
  if (layout.body == document.end()) io::fail_at(document, layout.body, "expected a list of edges, found no edge");
  const std::string_view first = line_at(document, layout.body);
  layout.form = form_of(first);
  const io::EdgeLine line = io::split_edge(first.data(), first.data() + first.size(), layout.form.separator);
  if (line.flaw == LineFlaw::none && line.count != 2 && line.count != 3) {
    io::fail_at(document, layout.body,
                fmt::format("expected an edge (from, to, and perhaps a weight), found {}", io::quoted(first)));
  }
  if (line.flaw != LineFlaw::none) return layout;  // told when the line is read

  const char* behind = first.data() + first.size();
  double weight = 0.0;
  bool is_header = has_usual_names(line);
  if (layout.form.weighted() && io::weight_of(line, weight) == NumberStatus::malformed) {
    const char* next = io::next_data_line(behind, document.end(), comments);
    const io::EdgeLine second = io::split_edge(next, io::line_end(next, document.end()), layout.form.separator);
    is_header = is_header || (second.count == 3 && io::weight_of(second, weight) == NumberStatus::ok);
  }
  if (is_header) layout.body = behind;
  return layout;
}

[[noreturn]] void fail_at_line(const Document& document, const char* p, const io::EdgeLineForm& form,
                               bool single_precision) {
  double in_double = 0.0;
  float in_float = 0.0F;
  const char* end = io::line_end(p, document.end());
  const io::EdgeLine line =
      single_precision ? io::parse_edge(p, end, form, in_float) : io::parse_edge(p, end, form, in_double);
  const std::string found = io::quoted(line_at(document, p));
  switch (line.flaw) {
    case LineFlaw::unequal_fields:
      io::fail_at(document, p,
                  fmt::format("expected {} fields ({}) as before, found {} in {}", form.fields,
                              form.weighted() ? "from, to, weight" : "from, to",
                              line.count > 3 ? "more" : std::to_string(line.count), found));
    case LineFlaw::empty_id:
      io::fail_at(document, line.where, fmt::format("expected the id of a vertex, found an empty field in {}", found));
    case LineFlaw::open_quote:
      io::fail_at(document, line.where, fmt::format("expected a closing quote in the same line, found {}", found));
    case LineFlaw::text_after_quote:
      io::fail_at(document, line.where,
                  fmt::format("expected the next field after the closing quote, found {}", found));
    case LineFlaw::bad_weight:
    case LineFlaw::none:
      break;
  }
  io::fail_at(document, line.where,
              fmt::format("expected a weight, a finite number{}, found {}",
                          single_precision ? " that fits single precision" : "", io::quoted(line.fields[2].text())));
}

/// The lines as numbers; ids count only where all of them are whole numbers.
template <class T>
struct ParsedLines {
  io::DataLines lines;
  Array<std::int64_t> from;
  Array<std::int64_t> to;
  Array<T> weights;
  bool numbered = true;  ///< all ids are whole numbers, of the first line perhaps not
  bool header = false;   ///< the first line is one
};

template <class T>
[[nodiscard]] ParsedLines<T> parse_lines(const Document& document, const Layout& layout, const Device& device,
                                         MemoryBudget& budget) {
  ParsedLines<T> out;
  out.lines = io::split_data_lines(document, layout.body, comments, device);
  const std::int64_t count = out.lines.count;
  const io::EdgeLineForm& form = layout.form;
  budget.reserve(static_cast<std::uint64_t>(count) * (2 * sizeof(std::int64_t) + (form.weighted() ? sizeof(T) : 0)),
                 "edges");
  out.from = Array<std::int64_t>(count, Init::none);
  out.to = Array<std::int64_t>(count, Init::none);
  out.weights = Array<T>(form.weighted() ? count : 0, Init::none);
  std::vector<char> has_names(out.lines.chunks.size(), 0);
  bool first_is_names = false;
  const char* malformed = io::read_data_lines(out.lines, count, comments, device,
                                              [&](std::size_t chunk, std::int64_t k, const char*& p, const char* end) {
                                                const char* last = io::line_end(p, end);
                                                T weight{1};
                                                const io::EdgeLine line = io::parse_edge(p, last, form, weight);
                                                if (line.flaw != LineFlaw::none) return false;
                                                const bool first_is_id = io::parse_id(line.fields[0], out.from[k]);
                                                const bool second_is_id = io::parse_id(line.fields[1], out.to[k]);
                                                if (k == 0 && !first_is_id && !second_is_id) {
                                                  first_is_names = true;
                                                } else if (!first_is_id || !second_is_id) {
                                                  has_names[chunk] = 1;
                                                }
                                                if (form.weighted()) out.weights[k] = weight;
                                                p = last;
                                                return true;
                                              });
  if (malformed != nullptr) fail_at_line(document, malformed, form, std::is_same_v<T, float>);
  out.numbered = std::count(has_names.begin(), has_names.end(), 0) == static_cast<std::ptrdiff_t>(has_names.size());
  out.header = out.numbered && first_is_names && count > 1;
  out.numbered = out.numbered && (out.header || !first_is_names);
  return out;
}

/// The vertices of the edges, and their ids.
struct Vertices {
  Array<index_t> from;
  Array<index_t> to;
  std::vector<std::string> labels;
};

[[nodiscard]] index_t new_vertex(const Document& document, std::size_t vertices) {
  if (vertices < static_cast<std::size_t>(io::max_size)) return static_cast<index_t>(vertices);
  throw InvalidMatrix(fmt::format("{}: more than {} vertices", document.name, io::max_size));
}

void reserve_label(std::size_t length, std::size_t table_bytes, MemoryBudget& budget) {
  budget.reserve(sizeof(std::string) + (length > 15 ? length + 1 : 0) + table_bytes, "ids of vertices");
}

/// Numbers by first appearance.
class NameTable {
 public:
  NameTable(const Document& document, MemoryBudget& budget) : document_(document), budget_(budget) {}

  [[nodiscard]] index_t number_of(const io::Token& token) {
    std::string_view name = token.text();
    // In a quoted field, two quotes stand for one.
    const bool has_quotes = token.first > document_.begin() && token.first[-1] == '"' && name.find('"') != name.npos;
    if (has_quotes) name = unescaped(name);
    const auto [place, is_new] = numbers_.try_emplace(name, index_t{0});
    if (!is_new) {
      if (has_quotes) escaped_.pop_back();
      return place->second;
    }
    constexpr std::size_t table_bytes = 64;  // of a node and its bucket
    reserve_label(name.size(), table_bytes, budget_);
    place->second = new_vertex(document_, labels_.size());
    labels_.emplace_back(name);
    return place->second;
  }

  [[nodiscard]] std::vector<std::string> take_labels() { return std::move(labels_); }

 private:
  std::string_view unescaped(std::string_view name) {
    std::string& plain = escaped_.emplace_back();
    for (std::size_t k = 0; k < name.size(); ++k) {
      plain += name[k];
      if (name[k] == '"') ++k;
    }
    return plain;
  }

  const Document& document_;
  MemoryBudget& budget_;
  std::unordered_map<std::string_view, index_t> numbers_;
  std::vector<std::string> labels_;
  std::deque<std::string> escaped_;  ///< names that do not stand in the text
};

/// \param first number of the first line that is an edge
[[nodiscard]] Vertices number_names(const Document& document, const io::DataLines& lines, std::int64_t first,
                                    const io::EdgeLineForm& form, MemoryBudget& budget) {
  Vertices out{Array<index_t>(lines.count - first, Init::none), Array<index_t>(lines.count - first, Init::none), {}};
  NameTable names(document, budget);
  const char* p = io::find_data_line(document, lines, first, comments);
  for (std::int64_t k = 0; k < out.from.size(); ++k) {
    const char* end = io::line_end(p, document.end());
    const io::EdgeLine line = io::split_edge(p, end, form.separator);
    out.from[k] = names.number_of(line.fields[0]);
    out.to[k] = names.number_of(line.fields[1]);
    p = io::next_data_line(end, document.end(), comments);
  }
  out.labels = names.take_labels();
  return out;
}

/// The distinct ids, ascending.
[[nodiscard]] std::vector<std::int64_t> distinct(std::span<const std::int64_t> from, std::span<const std::int64_t> to,
                                                 MemoryBudget& budget) {
  const auto [least_from, most_from] = std::minmax_element(from.begin(), from.end());
  const auto [least_to, most_to] = std::minmax_element(to.begin(), to.end());
  const std::int64_t least = std::min(*least_from, *least_to);
  const auto range = static_cast<std::uint64_t>(std::max(*most_from, *most_to)) - static_cast<std::uint64_t>(least);
  std::vector<std::int64_t> ids;
  constexpr std::uint64_t marks_per_edge = 16;
  if (range / marks_per_edge < from.size()) {
    // Few gaps: mark what occurs.
    budget.reserve(range + 1, "ids of vertices");
    std::vector<char> occurs(range + 1, 0);
    for (const auto side : {from, to}) {
      for (const std::int64_t id : side) occurs[static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(least)] = 1;
    }
    const auto count = static_cast<std::uint64_t>(std::count(occurs.begin(), occurs.end(), 1));
    budget.reserve(count * sizeof(std::int64_t), "ids of vertices");
    ids.reserve(count);
    for (std::uint64_t k = 0; k <= range; ++k) {
      if (occurs[k] != 0) ids.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + k));
    }
    budget.release(range + 1);
    return ids;
  }
  budget.reserve(2 * from.size_bytes(), "ids of vertices");
  ids.reserve(2 * from.size());
  ids.insert(ids.end(), from.begin(), from.end());
  ids.insert(ids.end(), to.begin(), to.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Numbers in the order of the ids.
[[nodiscard]] Vertices number_integers(const Document& document, std::span<const std::int64_t> from,
                                       std::span<const std::int64_t> to, const Device& device, MemoryBudget& budget) {
  const std::vector<std::int64_t> ids = distinct(from, to, budget);
  static_cast<void>(new_vertex(document, ids.size() - 1));
  const auto count = static_cast<std::int64_t>(from.size());
  Vertices out{Array<index_t>(count, Init::none), Array<index_t>(count, Init::none), {}};
  const bool gapless =
      static_cast<std::uint64_t>(ids.back()) - static_cast<std::uint64_t>(ids.front()) == ids.size() - 1;
  const auto number_of = [&](std::int64_t id) {
    const auto place = gapless ? id - ids.front() : std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
    return static_cast<index_t>(place);
  };
  host::parallel_for(device, count, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      out.from[k] = number_of(from[static_cast<std::size_t>(k)]);
      out.to[k] = number_of(to[static_cast<std::size_t>(k)]);
    }
  });
  out.labels.reserve(ids.size());
  for (const std::int64_t id : ids) {
    out.labels.push_back(std::to_string(id));
    reserve_label(out.labels.back().size(), 0, budget);
  }
  return out;
}

}  // namespace

bool io::is_edge_table(std::string_view bytes) {
  const Document document{bytes, {}};
  constexpr int looked_at = 3;
  EdgeLineForm form;
  int lines = 0;
  const char* p = next_data_line(document.begin(), document.end(), comments);
  for (; p != document.end() && lines < looked_at; ++lines) {
    const char* end = line_end(p, document.end());
    if (lines == 0) form = form_of({p, static_cast<std::size_t>(end - p)});
    const EdgeLine line = split_edge(p, end, form.separator);
    if (form.separator == blanks || line.flaw != LineFlaw::none || line.count != form.fields) return false;
    p = next_data_line(end, document.end(), comments);
  }
  return lines > 1;
}

template <class T>
EdgeList<T> io::read_edge_text(const Document& document, const ReadOptions& options, MemoryBudget& budget) {
  const Layout layout = find_layout(document);
  ParsedLines<T> parsed = parse_lines<T>(document, layout, options.device, budget);
  const std::int64_t first = parsed.header ? 1 : 0;
  const std::int64_t count = parsed.lines.count - first;
  if (count == 0) io::fail_at(document, document.end(), "expected edges below the header, found the end of the file");
  const auto skipped = static_cast<std::size_t>(first);
  budget.reserve(2 * static_cast<std::uint64_t>(count) * sizeof(index_t), "edges");
  Vertices vertices = parsed.numbered ? number_integers(document, parsed.from.span().subspan(skipped),
                                                        parsed.to.span().subspan(skipped), options.device, budget)
                                      : number_names(document, parsed.lines, first, layout.form, budget);
  parsed.from = Array<std::int64_t>();
  parsed.to = Array<std::int64_t>();
  budget.release(static_cast<std::uint64_t>(parsed.lines.count) * 2 * sizeof(std::int64_t));
  if (options.duplicates == Duplicates::error) {
    if (const auto repeated = io::first_repeated(vertices.from.span(), vertices.to.span())) {
      io::fail_at(document, io::find_data_line(document, parsed.lines, first + *repeated, comments),
                  fmt::format("expected every edge once, found the one from {} to {} again",
                              io::quoted(vertices.labels[static_cast<std::size_t>(vertices.from[*repeated])]),
                              io::quoted(vertices.labels[static_cast<std::size_t>(vertices.to[*repeated])])));
    }
  }
  io::FileEntries<T> entries;
  entries.header.field = layout.form.weighted() ? MatrixMarketField::real : MatrixMarketField::pattern;
  entries.header.rows = entries.header.cols = static_cast<std::int64_t>(vertices.labels.size());
  entries.header.entries = count;
  entries.rows = std::move(vertices.from);
  entries.columns = std::move(vertices.to);
  entries.values = layout.form.weighted() && first > 0 ? Array<T>::copy_of(parsed.weights.span().subspan(skipped))
                                                       : std::move(parsed.weights);
  return {io::assemble_entries(std::move(entries), document.name, options, budget), std::move(vertices.labels)};
}

template <class T>
EdgeList<T> read_edge_list(const std::filesystem::path& path, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  const io::ByteBuffer text = io::load_text(path, budget, options.device);
  return io::read_edge_text<T>({text.view(), path.string()}, options, budget);
}

template <class T>
EdgeList<T> parse_edge_list(std::string_view text, const std::string& name, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  return io::read_edge_text<T>({text, name}, options, budget);
}

template EdgeList<float> io::read_edge_text(const Document&, const ReadOptions&, MemoryBudget&);
template EdgeList<double> io::read_edge_text(const Document&, const ReadOptions&, MemoryBudget&);
template EdgeList<float> read_edge_list(const std::filesystem::path&, const ReadOptions&);
template EdgeList<double> read_edge_list(const std::filesystem::path&, const ReadOptions&);
template EdgeList<float> parse_edge_list(std::string_view, const std::string&, const ReadOptions&);
template EdgeList<double> parse_edge_list(std::string_view, const std::string&, const ReadOptions&);

}  // namespace tessera
