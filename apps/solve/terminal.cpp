#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tessera::cli {

namespace {

constexpr std::size_t least_width = 40;
constexpr std::size_t usual_width = 80;

ColorMode chosen_color = ColorMode::automatic;

[[nodiscard]] std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Open MPI gives standard output of its processes a pseudo-terminal, whatever mpiexec itself writes to.
[[nodiscard]] bool is_terminal(int descriptor) {
  return ::isatty(descriptor) != 0 && variable("OMPI_COMM_WORLD_SIZE").empty();
}

[[nodiscard]] std::size_t columns_variable() {
  constexpr std::size_t widest = 10000;
  const std::string_view text = variable("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns <= widest ? columns : 0;
}

[[nodiscard]] std::size_t leading_blanks(std::string_view text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

/// How a long line goes on.
struct Continuation {
  std::size_t column = 0;  ///< where the lines after the first begin
  std::size_t kept = 0;    ///< bytes at the beginning that stay as they are: indentation, or key and blanks
  bool is_command = false;
};

[[nodiscard]] Continuation continuation_of(std::string_view line, std::size_t width) {
  const std::size_t lead = leading_blanks(line);
  Continuation result{lead + 2, lead, false};
  const std::size_t gap = line.find("  ", lead);
  const bool has_comment = gap != std::string_view::npos;
  if (has_comment) {
    const std::size_t text = gap + leading_blanks(line.substr(gap));
    // A column far to the right would leave no room.
    if (const std::size_t column = display_width(line.substr(0, text)); column <= 2 * width / 3) {
      result.column = column;
      result.kept = text;
    }
  }
  result.is_command = line.substr(result.kept).starts_with("solve ") || line.find("try: solve ") != line.npos;
  return result;
}

void fit_line(std::string_view line, std::size_t width, std::string& result) {
  if (display_width(line) <= width) {
    result += line;
    return;
  }
  const Continuation next = continuation_of(line, width);
  const std::size_t room = width - (next.is_command ? 2 : 0);
  result += line.substr(0, next.kept);
  std::size_t column = display_width(line.substr(0, next.kept));
  bool at_start = true;
  for (std::string_view rest = line.substr(next.kept); !rest.empty();) {
    const std::size_t blanks = leading_blanks(rest);
    const std::size_t end = std::min(rest.find(' ', blanks), rest.size());
    const std::size_t size = display_width(rest.substr(blanks, end - blanks));
    const bool breaks = !at_start && column + blanks + size > room;
    if (breaks) {
      result += next.is_command ? " \\\n" : "\n";
      result.append(next.column, ' ');
      column = next.column;
    }
    result += rest.substr(breaks ? blanks : 0, end - (breaks ? blanks : 0));
    column += size + (breaks ? 0 : blanks);
    rest.remove_prefix(end);
    at_start = false;
  }
}

/// Headings, and the lines that say how it ended.
[[nodiscard]] std::string colored_line(std::string_view line, int descriptor) {
  if (line.ends_with(':') && !line.starts_with(' ')) return styled(line, TextStyle::bold, descriptor);
  if (line.starts_with("FAIL ") || line.starts_with("SLOWER ")) return styled(line, TextStyle::red, descriptor);
  constexpr std::string_view key = "status      ";
  if (!line.starts_with(key)) return std::string(line);
  const std::string_view text = line.substr(key.size());
  const std::string_view status = text.substr(0, std::min(text.find(" after "), text.find(':')));
  const TextStyle style = status == "converged" ? TextStyle::green : TextStyle::red;
  return std::string(key) + styled(status, style, descriptor) + std::string(text.substr(status.size()));
}

/// Calls `take(line)` for each line, without its end.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end), end < text.size());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  if (!is_terminal(descriptor)) return 0;
  struct winsize size {};
  std::size_t columns = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  if (columns == 0) columns = columns_variable();
  return std::max(columns == 0 ? usual_width : columns, least_width);
}

bool understands_escapes(int descriptor) { return is_terminal(descriptor) && variable("TERM") != "dumb"; }

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(variable(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

void choose_color(ColorMode mode) { chosen_color = mode; }

bool has_color(int descriptor) {
  if (chosen_color != ColorMode::automatic) return chosen_color == ColorMode::always;
  return understands_escapes(descriptor) && variable("NO_COLOR").empty();
}

std::string styled(std::string_view text, TextStyle style, int descriptor) {
  if (!has_color(descriptor)) return std::string(text);
  constexpr std::string_view codes[] = {"1", "1;31", "32", "33"};
  return fmt::format("\033[{}m{}\033[0m", codes[static_cast<std::size_t>(style)], text);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string hanging(std::string_view first, std::string_view text, std::size_t column, std::size_t width) {
  std::string result(first);
  std::size_t at = display_width(first);
  if (at + 2 > column) {
    result += '\n';
    at = 0;
  }
  result.append(column - at, ' ');
  at = column;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t size = display_width(word);
    if (at > column && at + 1 + size > width) {
      result += '\n';
      result.append(column, ' ');
      at = column;
    }
    if (at > column) {
      result += ' ';
      ++at;
    }
    result += word;
    at += size;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + '\n';
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto byte = static_cast<unsigned char>(text[k]);
    const auto before = static_cast<unsigned char>(k > 0 ? text[k - 1] : ' ');
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    // U+0080 to U+009F, and those bytes where no character of UTF-8 has begun.
    const bool is_c1 = byte >= 0x80 && byte < 0xa0 && (before == 0xc2 || before < 0x80);
    if (is_c0 || is_c1) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += text[k];
    }
  }
  return result;
}

std::string fitted(std::string_view text, std::size_t width) {
  std::string safe = printable(text);
  if (width == 0) return safe;
  std::string result;
  for_each_line(safe, [&](std::string_view line, bool ended) {
    fit_line(line, width, result);
    if (ended) result += '\n';
  });
  return result;
}

std::string shortened(const std::string& text, std::size_t width) {
  if (width == 0 || display_width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && ++shown > width - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::string shown(std::string_view text, int descriptor) {
  std::string lines = fitted(text, terminal_width(descriptor));
  if (!has_color(descriptor)) return lines;
  std::string result;
  for_each_line(lines, [&](std::string_view line, bool ended) {
    result += colored_line(line, descriptor);
    if (ended) result += '\n';
  });
  return result;
}

}  // namespace tessera::cli
