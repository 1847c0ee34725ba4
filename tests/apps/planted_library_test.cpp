/// Libraries of the working directory are nobody's: neither at the start of solve nor when it loads one.

#include "solve_process.hpp"

#include <cstring>

namespace tessera::testing {

namespace {

using PlantedLibraryTest = SolveTest;

/// Values of the dynamic section in brackets, such as the names of "Shared library: [libz.so.1]".
std::vector<std::string> dynamic_entries(const std::string& text, const std::string& kind) {
  std::vector<std::string> found;
  const std::regex entry(kind + R"(: \[([^\]]*)\])");
  for (std::sregex_iterator match(text.begin(), text.end(), entry); match != std::sregex_iterator(); ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

TEST_F(PlantedLibraryTest, NoneIsSearchedInTheWorkingDirectory) {
  if (std::strlen(TESSERA_PLANTED_LIBRARY) == 0) GTEST_SKIP() << "sanitizers come before all libraries";
  std::vector<std::string> names{"libcuda.so.1",   "libcusparse.so.12",   "libcusparse.so.13",
                                 "libmatio.so.11", "libmetis.so.5",       "libmetis.so",
                                 "libmpi.so.40",   "libtessera-petsc.so", "libpetsc_real.so.3.18"};
  std::vector<std::string> binaries{TESSERA_SOLVE_BINARY};
  if (std::strlen(TESSERA_PETSC_PLUGIN) > 0) binaries.emplace_back(TESSERA_PETSC_PLUGIN);
  for (const std::string& binary : binaries) {
    const std::string section = run_process({TESSERA_READELF, "-d", "-W", binary}).out;
    const std::vector<std::string> needed = dynamic_entries(section, "Shared library");
    ASSERT_FALSE(needed.empty()) << section;
    names.insert(names.end(), needed.begin(), needed.end());
    for (const std::string& folders : dynamic_entries(section, "Library r(?:un)?path")) {
      EXPECT_TRUE(std::regex_match(folders, std::regex(R"((/|\$ORIGIN)[^:]*(:(/|\$ORIGIN)[^:]*)*)"))) << folders;
    }
  }
  for (const std::string& name : names) {
    std::filesystem::copy_file(TESSERA_PLANTED_LIBRARY, path(name), std::filesystem::copy_options::skip_existing);
  }
  file("a.mat", std::string("MATLAB 5.0 MAT-file").append(105, ' ') + std::string("\0\1IM", 4));
  for (const char* line : {"--version", "doctor", "a.mat", "--poisson2d 4 --engine petsc"}) {
    const auto result = run_with({"LD_LIBRARY_PATH="}, line);
    EXPECT_EQ(result.err.find("PLANTED"), std::string::npos) << line << "\n" << result.err;
    EXPECT_TRUE(result.signal == 0 && result.exit_code != 127) << line << "\n" << result.err;
  }
  // The planted library speaks where it is asked for.
  const auto asked = run_process({"/usr/bin/env", "LD_PRELOAD=" TESSERA_PLANTED_LIBRARY, "/bin/true"});
  EXPECT_NE(asked.err.find("PLANTED"), std::string::npos) << asked.err;
}

}  // namespace

}  // namespace tessera::testing
