// SPDX-License-Identifier: BSD-2-Clause
// With OPERATORS: operators new and delete of an allocator, with a header before the block. operator new calls malloc,
// and frees the block again if it throws. Otherwise a program that catches the exception and goes on.
#include <cstdlib>
#include <new>

#ifdef OPERATORS
enum { HEADER = 32, LIMIT = 1 << 20 };

void *operator new(size_t size) {
    char *block = static_cast<char *>(malloc(size + HEADER));
    if (size >= LIMIT) {
        free(block);
        throw std::bad_alloc();
    }
    return block + HEADER;
}

void *operator new[](size_t size) {
    return operator new(size);
}

static void gone(void *block) {
    if (block)
        free(static_cast<char *>(block) - HEADER);
}

void operator delete(void *block) noexcept {
    gone(block);
}

void operator delete[](void *block) noexcept {
    gone(block);
}
#else
static void *volatile kept;

// The exception leaves from deeper on the stack than the calls after it.
__attribute__((noinline)) static void fail(int depth) {
    volatile char room[64];
    room[0] = 0;
    if (depth) {
        fail(depth - 1);
        room[0] = 1;
        return;
    }
    try {
        kept = operator new(2 << 20);
    } catch (const std::bad_alloc &) {
        room[0] = 2;
    }
}

int main() {
    for (int i = 0; i < 10; i++) {
        fail(20);
        for (int j = 0; j < 3; j++) {
            kept = malloc(50);
            free(kept);
        }
        kept = operator new(70);
        operator delete(kept);
        kept = operator new[](80);
    }
}
#endif
