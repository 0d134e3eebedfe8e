// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
struct Box {
    char *inside;
    __attribute__((noinline)) Box() { inside = (char *)malloc(48); inside[0] = 1; }
};
static __attribute__((noinline)) int lose(int size) {
    char *volatile block = (char *)malloc(size);
    block[0] = 1;
    block = nullptr;
    return size;
}
int main() {
    for (int i = 0; i < 10; i++) {
        Box *volatile box = new Box;
        box = nullptr;
        lose(33);
    }
    return 0;
}
