// SPDX-License-Identifier: BSD-2-Clause
//
// Gives blocks back in wrong ways that the allocator of glibc puts up with: each argument is one way,
// all of them without arguments. "twice" and "inside" end in abort().
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#define APART __attribute__((noinline, noclone))

template <typename T> static T *keep(T *p) {
    asm volatile("" : "+r"(p) : : "memory");
    return p;
}

APART char *by_new_array(std::size_t size) {
    return keep(new char[size]);
}
APART int *by_new() {
    return keep(new int(3));
}
APART void *by_malloc(std::size_t size) {
    return keep(std::malloc(size));
}

APART void array_by_free() {
    for (int i = 0; i < 5; i++)
        std::free(by_new_array(40));
}
APART void array_by_delete() {
    for (int i = 0; i < 3; i++)
        ::operator delete(static_cast<void *>(by_new_array(41)));
}
APART void malloc_by_delete() {
    for (int i = 0; i < 2; i++)
        ::operator delete(by_malloc(42));
}
APART void new_by_realloc() {
    void *p = std::realloc(by_new(), 400);
    std::free(keep(p));
}
APART void right() { // the same sites, given back as they should
    delete[] by_new_array(40);
    std::free(by_malloc(42));
    delete by_new();
    std::free(std::realloc(by_malloc(1), 1000));
}
// In another thread, which has not given back any block of that site before.
APART void in_other_thread(char *p) {
    std::free(p);
}
APART void by_other_thread() {
    std::thread(in_other_thread, by_new_array(50)).join();
}
APART void twice() {
    void *p = by_malloc(43);
    std::free(p);
    std::free(keep(p));
}
APART void inside() {
    std::free(keep(static_cast<char *>(by_malloc(440)) + 128));
}

int main(int argc, char **argv) {
    right();
    if (argc == 1) {
        array_by_free();
        array_by_delete();
        malloc_by_delete();
        new_by_realloc();
        by_other_thread();
    } else if (std::strcmp(argv[1], "twice") == 0) {
        twice();
    } else if (std::strcmp(argv[1], "inside") == 0) {
        inside();
    }
    right();
    return 0;
}
