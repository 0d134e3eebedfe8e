// SPDX-License-Identifier: BSD-2-Clause
//
// Gives blocks back in wrong ways that the allocator of glibc puts up with: each argument is one way,
// those that end well without arguments. "twice" and "inside" end in abort(); with "first", "first_delete",
// "first_array", "first_realloc", "first_thread", "first_between", "first_fork" and "first_sampled" a block is given
// back twice, from two places.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

template <typename T> static T *keep(T *p) {
    asm volatile("" : "+r"(p) : : "memory");
    return p;
}

APART char *by_new_array(std::size_t size) {
    return keep(new char[size]);
}
// Large enough that a sample of each byte on average meets it: of 4 bytes one in 55 runs would not.
struct record {
    int values[14];
};
APART record *by_new() {
    return keep(new record{{3}});
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
APART void right() { // the same sites, freed as they should
    delete[] by_new_array(40);
    std::free(by_malloc(42));
    delete by_new();
    std::free(std::realloc(by_malloc(1), 1000));
}
// In another thread, which has not freed any block of that site before.
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
APART void realloc_inside() {
    keep(std::realloc(keep(static_cast<char *>(by_malloc(440)) + 128), 1000));
}
APART void realloc_twice() {
    void *p = by_malloc(43);
    std::free(p);
    keep(std::realloc(keep(p), 1 << 20));
}

// What was freed twice: by whom first, and by whom again.
APART void free_first(void *p) {
    std::free(p);
    keep(&p);
}
APART void free_again(void *p) {
    std::free(p);
    keep(&p);
}
APART void delete_first(record *p) {
    delete p;
    keep(&p);
}
APART void delete_again(record *p) {
    delete p;
    keep(&p);
}
APART void delete_array_first(char *p) {
    delete[] p;
    keep(&p);
}
APART void delete_array_again(char *p) {
    delete[] p;
    keep(&p);
}
APART void *realloc_first(void *p) {
    return keep(std::realloc(p, 100000));
}
APART void *by_malloc_again(std::size_t size) {
    return keep(std::malloc(size));
}

APART void first_and_again(const char *way) {
    if (std::strcmp(way, "first") == 0) {
        void *p = by_malloc(61);
        free_first(p);
        free_again(keep(p));
    } else if (std::strcmp(way, "first_delete") == 0) {
        record *p = by_new();
        delete_first(p);
        delete_again(keep(p));
    } else if (std::strcmp(way, "first_array") == 0) {
        char *p = by_new_array(62);
        delete_array_first(p);
        delete_array_again(keep(p));
    } else if (std::strcmp(way, "first_realloc") == 0) {
        void *p = by_malloc(63);
        void *wall = by_malloc(100); // so it must move
        void *moved = realloc_first(p);
        free_again(keep(p));
        std::free(moved);
        std::free(wall);
    } else if (std::strcmp(way, "first_thread") == 0) {
        void *p = by_malloc(64);
        std::thread(free_first, p).join();
        free_again(keep(p));
        _exit(0); // the heap is not whole any more
    } else if (std::strcmp(way, "first_between") == 0) {
        void *p = by_malloc(65);
        std::free(p);
        void *q = by_malloc_again(66);
        if (p != q)
            std::puts("moved");
        free_first(keep(p)); // the address of the living block q: nobody can tell
        free_again(keep(q));
    } else if (std::strcmp(way, "first_fork") == 0) {
        void *p = by_malloc(67);
        free_first(p);
        if (fork() == 0) {
            free_again(keep(p));
            _exit(0);
        }
        wait(nullptr);
    } else if (std::strcmp(way, "first_sampled") == 0) {
        void *p = by_malloc(99000);
        for (int i = 0; i < 1000; i++)
            right();
        free_first(p);
        for (int i = 0; i < 1000; i++) // hands out the beginning of its memory: its start is that of others
            right();
        std::free(by_malloc(99000));
        void *q = by_malloc_again(99000);
        free_first(q);
        free_again(keep(q));
    }
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
    } else if (std::strcmp(argv[1], "realloc_inside") == 0) {
        realloc_inside();
    } else if (std::strcmp(argv[1], "realloc_twice") == 0) {
        realloc_twice();
    } else {
        first_and_again(argv[1]);
    }
    right();
    return 0;
}
