// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <string>
#include <cstring>
namespace shop {
struct Order { std::string note; explicit Order(int i) : note(100 + i, 'x') {} };
template <typename T> __attribute__((noinline)) T *make(int i) { return new T(i); }
}
__attribute__((noinline)) static void wipe() { char room[4096]; memset(room, 0, sizeof(room)); __asm__ volatile("" :: "r"(room) : "memory"); }
__attribute__((noinline)) static void work() { for (int i = 0; i < 4; i++) shop::make<shop::Order>(i); }
int main() { work(); wipe(); return 0; }
