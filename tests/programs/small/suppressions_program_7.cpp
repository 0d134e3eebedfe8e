// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
#include <stdexcept>
__attribute__((noinline)) static void fail() { throw std::runtime_error("thrown"); }
int main() { try { fail(); } catch (const std::exception &) { try { throw 5; } catch (int) { std::exit(0); } } }
