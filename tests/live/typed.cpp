// SPDX-License-Identifier: BSD-2-Clause
// As typed.c, with what C++ adds.
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static NOINLINE void *make(size_t size) {
    void *block = calloc(1, size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

namespace shop {
template <typename T> struct Box {
    long padding;
    T *kept;
};

struct Item {
    long number;
    Item *twin;
    struct Note {
        const char *text;
    } note;
};

struct Base {
    Item *first;
    virtual ~Base() {
    }
};

struct Shelf : Base {
    Box<Item> box;
    ~Shelf() override {
    }
};

struct Registry {
    static Item *only;
};
Item *Registry::only;

Item *item;
Box<Item> boxes[3];
Shelf *shelf;
std::unique_ptr<Item> owned;
std::vector<Item *> *list;
namespace {
Item &referenced = *static_cast<Item *>(
    make(2000)); // TYPED: 2000 global shop::Item &shop::(anonymous namespace)::referenced
}
} // namespace shop

static NOINLINE void fill() {
    using namespace shop;
    item = static_cast<Item *>(make(2016)); // TYPED: 2016 global shop::Item *shop::item
    item->note.text = static_cast<char *>(
        make(2032)); // TYPED: 2032 global shop::Item *shop::item > (shop::Item) .note.text
    boxes[2].kept = static_cast<Item *>(make(2048));  // TYPED: 2048 global shop::Item *shop::boxes[2].kept
    Registry::only = static_cast<Item *>(make(2064)); // TYPED: 2064 global shop::Item *shop::Registry::only
    shelf = new Shelf;
    shelf->first =
        static_cast<Item *>(make(2096)); // TYPED: 2096 global shop::Shelf *shop::shelf > (shop::Shelf) .first
    shelf->box.kept = static_cast<Item *>(
        make(2112)); // TYPED: 2112 global shop::Shelf *shop::shelf > (shop::Shelf) .box.kept
    owned.reset(static_cast<Item *>(make(2128))); // TYPED: 2128 global shop::owned
    referenced.twin = static_cast<Item *>(make(
        2144)); // TYPED: 2144 global shop::Item &shop::(anonymous namespace)::referenced > (shop::Item) .twin
}

// Overwrites what fill() left below main's frame: pause() would have these words in its own frame.
static NOINLINE void wipe() {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main() {
    fill();
    wipe();
    (void)!write(1, "ready\n", 6); // not by stdio, whose frames would stay on the stack
    pause();
}
