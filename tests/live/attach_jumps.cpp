// SPDX-License-Identifier: BSD-2-Clause
// An allocator whose functions jump to one another, or call one another, through the table of addresses as those of a
// library do: allocates 100 times, or as often as its argument says, in each of five ways, and frees all. No block is
// handed out again. realloc alone does not jump.
#include <cstddef>
#include <cstdlib>
#include <new>

extern "C" {
alignas(16) static char memory[1 << 21];
static size_t used;

__attribute__((noinline)) void *malloc(size_t size) {
    void *block = memory + used;
    used += (size + 15) & ~size_t(15);
    return block;
}

__attribute__((noinline)) void *realloc(void *, size_t size) {
    used += (size + 15) & ~size_t(15);
    return memory + used - ((size + 15) & ~size_t(15));
}

__attribute__((noinline)) void free(void *block) {
    *static_cast<volatile char *>(block) = 0;
}
}

#define FUNCTION(name, body)                                                                                 \
    asm(".text\n.globl " name "\n.type " name ",@function\n" name ":\n" body "\n.size " name ", .-" name)
#define ADDRESS(name) "mov " name "@GOTPCREL(%rip), %rax\n"
#define JUMP(name)    ADDRESS(name) "jmp *%rax"
#define CALL(name)    "sub $8, %rsp\n" ADDRESS(name) "call *%rax\nadd $8, %rsp\nret"

FUNCTION("_Znwm", JUMP("malloc"));
FUNCTION("_Znam", JUMP("_Znwm"));
FUNCTION("_ZnwmRKSt9nothrow_t", JUMP("malloc"));
FUNCTION("_ZdlPv", JUMP("free"));
FUNCTION("_ZdlPvm", JUMP("_ZdlPv"));
FUNCTION("_ZdaPv", CALL("free"));

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 100;
    void *volatile nothing = nullptr; // the compiler knows what realloc does with it
    for (int i = 0; i < times; i++) {
        ::operator delete(::operator new(24), size_t(24));
        ::operator delete[](::operator new[](48));
        ::operator delete(::operator new(72, std::nothrow));
        free(malloc(96));
        free(realloc(nothing, 120));
    }
    return 0;
}
