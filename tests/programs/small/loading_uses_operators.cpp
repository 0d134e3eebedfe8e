// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdio>
#include <new>
#include <string>
#include <vector>
long born, gone;
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
