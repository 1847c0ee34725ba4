/// \file
/// Ctrl-C and SIGTERM: the first asks the solve to stop and write what it has, the second ends the program at once.
#pragma once

namespace tessera::cli {

/// Takes over SIGINT and SIGTERM for the rest of the program.
void install_interrupt_handlers();

/// The first of the two signals that arrived, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

}  // namespace tessera::cli
