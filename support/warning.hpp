/// \file
/// Something that the user should know about a run that went on.
#pragma once

#include <string>
#include <vector>

namespace tessera::support {

struct Warning {
  std::string code;  ///< stable, for scripts: "W001"
  std::string text;  ///< what is odd and what to do about it
};

using Warnings = std::vector<Warning>;

}  // namespace tessera::support
