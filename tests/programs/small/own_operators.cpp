// SPDX-License-Identifier: BSD-2-Clause
//
// With LIBRARY: a library with a C++ runtime of its own. Otherwise the program: it deletes blocks that the library made
// with new, and the library deletes what the program made. With an argument blocks of malloc are deleted, and one of
// new is freed.
#include <cstdlib>

#ifdef LIBRARY

#define MADE extern "C" __attribute__((visibility("default")))

MADE int *made() {
    return new int(3);
}
MADE int *made_many() {
    return new int[30];
}
MADE void deleted(int *number) {
    delete number; // optimised, a jump to an operator that jumps to free
}
MADE int *allocated() {
    return static_cast<int *>(malloc(sizeof(int)));
}
#else
extern "C" int *made();
extern "C" int *made_many();
extern "C" void deleted(int *number);
extern "C" int *allocated();
int *volatile number;

int main(int argc, char **) {
    delete made();
    delete[] made_many();
    number = new int(3);
    deleted(number);
    if (argc > 1) {
        delete allocated();
        number = new int(3);
        free(number);
    }
    return 0;
}
#endif
