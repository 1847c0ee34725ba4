/// \file
/// Terminals: how wide they are, whether colours go there, and lines broken at blanks so that they fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::cli {

/// Columns of the terminal behind a descriptor, 0 where there is none: what the system says, else COLUMNS, else 80. At
/// least 40: lines that short are better left to the terminal.
[[nodiscard]] std::size_t terminal_width(int descriptor);

/// Whether what is written there may move the cursor: a terminal that is not TERM=dumb.
[[nodiscard]] bool understands_escapes(int descriptor);

/// Whether the locale of the environment (LC_ALL, LC_CTYPE, LANG) is a UTF-8 one.
[[nodiscard]] bool locale_is_utf8();

enum class ColorMode { automatic, always, never };

/// For the rest of the program. Until then, and with `automatic`, colours go to terminals, unless NO_COLOR is set.
void choose_color(ColorMode mode);
[[nodiscard]] bool has_color(int descriptor);

enum class TextStyle { bold, red, green, yellow };

/// The text in a style where the descriptor takes one, else as it is.
[[nodiscard]] std::string styled(std::string_view text, TextStyle style, int descriptor);

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `first`, then the words of `text` from a column on; on a line of its own where `first` reaches into the column.
[[nodiscard]] std::string hanging(std::string_view first, std::string_view text, std::size_t column, std::size_t width);

/// Every text for people passes here: control characters as \xNN, so that names in files cannot command the terminal.
/// Line ends, tabs and UTF-8 stay.
[[nodiscard]] std::string printable(std::string_view text);

/// Lines longer than `width` broken at blanks, after printable(). What follows stands below the text behind the key
/// ("status      "), or is indented by two. A command to type continues behind a backslash, so that a shell takes all
/// of it. Words are left whole. Width 0: not broken.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);

/// The beginning of a text, with "..." for the rest. Width 0: all of it.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width);

/// A text for people as the descriptor shows it: fitted to a terminal, headings and verdicts in colour.
[[nodiscard]] std::string shown(std::string_view text, int descriptor);

}  // namespace tessera::cli
