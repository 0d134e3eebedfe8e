// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#define OUT __attribute__((noinline))
template <typename T> static void use(T *p) { __asm__ volatile("" :: "r"(p) : "memory"); }
namespace {
struct Local {
    std::string text;
    OUT Local(int n) : text(n, 'q') {}
    OUT void fill() { use(new char[33]); }
};
template <typename T> OUT void make(int n) { use(new T(n)); }
OUT void unnamed(int n) { use(new char[n]); }
}
template <typename T> struct Box { OUT void put() { use(new T[10]); } };
struct Call { OUT void operator()(int n) const { use(malloc(n)); } };
OUT static void of_file(int n) { use(malloc(n)); }
template <typename T> OUT static void of_file_too(T n) { use(malloc((size_t)n)); }
OUT void with_lambda(int n) { auto f = [](int k) OUT { use(new char[k]); }; f(n); }
OUT void with_class(int n) { struct Inner { OUT static void keep(int k) { use(malloc(k)); } }; Inner::keep(n); }
OUT std::string with_tag(int n) { use(malloc(n)); return "x"; }
OUT static void wipe() { char room[8192]; memset(room, 0, sizeof(room)); use(room); }
int main() {
    make<Local>(99); unnamed(20); { Local local(1); local.fill(); } Box<std::map<int, std::vector<std::string>>>().put();
    Call()(41); of_file(42); of_file_too(43); of_file_too(44L); with_lambda(45); with_class(46); with_tag(47);
    wipe();
    return 0;
}
