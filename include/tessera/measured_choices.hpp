/// \file
/// Choices of `SpmvAlgorithm::measured` as text that later processes read: measured once per matrix, device and
/// options, as the wisdom of FFTW (M. Frigo, S. G. Johnson, Proc. IEEE 93(2), 2005).
///
/// A process remembers its choices by itself: a second plan with the same matrix, device and options takes the kernel
/// of the first without timing any. What is kept is the choice, not the plan: the kernel is set up anew.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

struct ImportedChoices {
  std::int64_t read = 0;      ///< new ones
  std::int64_t outdated = 0;  ///< of another version of the library, passed over
  std::int64_t damaged = 0;   ///< lines whose checksum does not fit, passed over
};

/// All choices that this process remembers: a line for the format, then one per choice with a checksum, in the order of
/// their age. A choice is that of one matrix (a hash of structure and values), device, version of the library, class,
/// and number of applications.
[[nodiscard]] std::string export_measured_choices();

/// Adds the choices of a text. What this process has measured itself stays. A kernel that turns out not to suit its
/// matrix is forgotten, and the matrix measured anew: a text can cost time, never a result.
/// \param name of the text in messages, a path say
/// \throws ParseError for a text that export_measured_choices() of this or an earlier version did not begin
ImportedChoices import_measured_choices(std::string_view text, std::string_view name = "measured choices");

/// Forgets all.
void forget_measured_choices() noexcept;

}  // namespace tessera
