#include "tessera/assemble.hpp"
