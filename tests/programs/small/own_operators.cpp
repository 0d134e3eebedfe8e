// SPDX-License-Identifier: BSD-2-Clause
//
// With LIBRARY: a library with a C++ runtime of its own. Otherwise the program: it deletes blocks that the library made
// with new, and with an argument also blocks made with malloc.
#ifdef LIBRARY
#include <cstdlib>

#define MADE extern "C" __attribute__((visibility("default")))

MADE int *made() {
    return new int(3);
}
MADE int *made_many() {
    return new int[30];
}
MADE int *allocated() {
    return static_cast<int *>(malloc(sizeof(int)));
}
#else
extern "C" int *made();
extern "C" int *made_many();
extern "C" int *allocated();

int main(int argc, char **) {
    delete made();
    delete[] made_many();
    if (argc > 1)
        delete allocated();
    return 0;
}
#endif
