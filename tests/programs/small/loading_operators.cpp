// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
struct alignas(64) Wide { char bytes[64]; };
int main() {
    std::vector<std::string> texts;
    for (int i = 0; i < 100; i++) texts.push_back(std::string(i, 'x'));
    delete new Wide;
    delete[] new char[100];
    void *p = realloc(nullptr, 10);
    free(p);
    std::printf("%zu\n", texts.size());
}
