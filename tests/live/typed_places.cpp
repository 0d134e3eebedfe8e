// SPDX-License-Identifier: BSD-2-Clause
// As typed_places.c, with what C++ adds. "...": whatever precedes.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

static NOINLINE char *make(size_t size) {
    void *block = calloc(1, size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return static_cast<char *>(block);
}

struct First {
    virtual ~First() {
    }
    int number = 1;
};
struct Second {
    virtual ~Second() {
    }
    long number = 2;
};
namespace shop {
template <typename T> struct Both : First, Second {
    T padding[4];
    char *name = nullptr;
};
} // namespace shop
using Both = shop::Both<long>;

struct Counted { // new[] puts their number before them
    char *text = nullptr;
    long number = 3;
    ~Counted() {
    }
};

struct Pair {
    long number = 4;
    char *text = nullptr;
};

First *by_first;
Second *by_second;
void *by_nothing;
Counted *counted;
std::shared_ptr<Both> shared;
std::vector<Pair> pairs;
std::map<int, char *> tree;
std::unordered_map<int, char *> table;

static NOINLINE void fill() {
    auto *one = new Both;
    by_first = one;
    one->name = make(1000); // TYPED: 1000 global First *by_first > (shop::Both<long>) .name
    auto *two = new Both;
    by_second = two;
    two->name = make(1016); // TYPED: 1016 global Second *by_second > (shop::Both<long>) .name
    auto *three = new Both;
    by_nothing = three;
    three->name = make(1032); // TYPED: 1032 global void *by_nothing > (shop::Both<long>) .name
    counted = new Counted[20];
    counted[19].text = make(1048); // TYPED: 1048 global Counted *counted > [19].text
    shared = std::make_shared<Both>();
    shared->name = make(1064); // TYPED: 1064 ... .name
    pairs.resize(3);
    pairs[2].text = make(1080); // TYPED: 1080 ... [2].text
    tree[1] = make(1096);       // TYPED: 1096 ... > +0x28
    table[1] = make(1112);      // TYPED: 1112 ... +0x10
}

// Overwrites what main's calls have left on the stack below its frame.
static NOINLINE void wipe() {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main() {
    fill();
    wipe();
    puts("ready");
    fflush(stdout);
    pause();
}
