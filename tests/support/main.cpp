// SPDX-License-Identifier: MIT
// The main() of every test program.
#define CATCH_CONFIG_RUNNER
// A crash belongs to the sanitizer or the core dump, which know the stack; ctest knows the test.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include "support/catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
