// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
struct Failure { long numbers[6]; };
__attribute__((noinline)) static void fail() { throw Failure(); }
int main() { try { fail(); } catch (const Failure &) { try { throw 5; } catch (int) { std::exit(0); } } }
