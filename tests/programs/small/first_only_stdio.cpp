// SPDX-License-Identifier: BSD-2-Clause
// At its end only the buffers of the C and the C++ library are live, and nothing was freed at once: the two strings
// are freed in the order in which they were allocated.
#include <cstdio>
#include <string>

int main() {
    std::string *first = new std::string(200, 'a');
    std::string *second = new std::string(100, 'b');
    printf("%zu\n", first->size() + second->size());
    delete first;
    delete second;
    return 0;
}
