// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
#include <string>
#include <vector>
template <class T> static void hide(T &p) { asm volatile("" : : "r"(&p) : "memory"); }
__attribute__((noinline)) static void wrong() { int *p = new int[4]; hide(p); free(p); }
__attribute__((noinline)) static void fill() {
    std::vector<std::string> names(100, std::string(2000, 'x'));
    hide(names);
}
int main() { wrong(); wrong(); fill(); return 0; }
