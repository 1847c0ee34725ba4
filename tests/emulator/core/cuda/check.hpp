#pragma once
#include <string_view>
namespace tessera::cuda { inline void check(int, std::string_view) {} }
