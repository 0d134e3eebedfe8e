// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>
long born, gone; // the program's, where a library has the operators
#ifdef POOL // keeps blocks that are deleted, and hands them out again
static void *kept[1000]; static int nr_kept;
void *operator new(size_t size) { born++; return size <= 64 && nr_kept ? kept[--nr_kept] : malloc(size < 64 ? 64 : size); }
void operator delete(void *block) noexcept { gone++; if (block && nr_kept < 1000) kept[nr_kept++] = block; }
#elif defined(HEADER)
void *operator new(size_t size) { born++; return (char *)malloc(size + 16) + 16; }
void operator delete(void *block) noexcept { gone++; if (block) free((char *)block - 16); }
#elif defined(ARRAY)
void *operator new[](size_t size) { born++; return (char *)malloc(size + 16) + 16; }
void operator delete[](void *block) noexcept { gone++; if (block) free((char *)block - 16); }
#elif defined(NEW)
void *operator new(size_t size) { born++; return malloc(size); }
#elif defined(DELETE)
void operator delete(void *block) noexcept { gone++; free(block); }
#elif defined(NOTHROW)
void *operator new(size_t size, const std::nothrow_t &) noexcept { born++; return malloc(size); }
#elif defined(SIZED)
void operator delete(void *block, size_t) noexcept { gone++; free(block); }
#endif
struct alignas(64) Wide { char bytes[64]; };
int main() {
    for (int i = 0; i < 3; i++) {
        delete new int;
        delete[] new char[40];
        delete[] new std::string[3];
        delete new (std::nothrow) int;
        delete[] new (std::nothrow) char[50];
        delete new Wide;
        delete[] new Wide[2];
        ::operator delete(::operator new(30), std::nothrow);
        ::operator delete[](::operator new[](30), std::nothrow);
        ::operator delete[](::operator new[](30), 30);
        ::operator delete(nullptr, 4);
        std::vector<std::string> texts;
        for (int k = 0; k < 50; k++) texts.push_back(std::string(k, 'x'));
    }
    std::printf("%ld %ld\n", born, gone);
}
