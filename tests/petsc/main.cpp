// The tests run as a user's program does: PETSc loads the plug-in because an option says so.
#include <gtest/gtest.h>
#include <petscsys.h>

#include <array>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<char*> arguments(argv, argv + argc);
  std::array<std::string, 2> options{"-dll_prepend", TESSERA_PETSC_LIBRARY};
  for (std::string& option : options) arguments.push_back(option.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(arguments.size()) - 1;
  char** pointer = arguments.data();
  if (PetscInitialize(&count, &pointer, nullptr, nullptr) != 0) return 1;
  if (PetscLogDefaultBegin() != 0) return 1;
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  // One process speaks; all of them count.
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  const int failed = RUN_ALL_TESTS();
  return PetscFinalize() != 0 ? 1 : failed;
}
