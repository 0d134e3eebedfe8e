// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
#include <string>
extern "C" void *library_alloc(std::size_t size) {
    std::string text(size, 'x'); // its memory is libstdc++'s operator new's, and freed here
    text.append(size, 'y');
    void *(*volatile table[])(std::size_t) = {std::malloc};
    void *p = table[0](size);
    __asm__ volatile("" : "+r"(p));
    return p;
}
extern "C" void library_free(void *p) { free(p); }
