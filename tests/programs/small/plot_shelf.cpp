// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <string>
struct shelf {
    __attribute__((noinline)) void put(const std::string &text) { new std::string(text); }
};
int main() {
    for (int i = 0; i < 100; i++)
        shelf().put(std::string(40, 'x'));
}
