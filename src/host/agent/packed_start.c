// SPDX-License-Identifier: BSD-2-Clause
//
// A program that contains seep-agent packed: it unpacks that to where it was linked, and goes on there as if
// the kernel had started it. No libc. The packed bytes are one LZMA stream of the whole static ELF file
// (tools/pack_agent.py); what is damaged ends in exit status 126 and no message.
// Source: the LZMA specification, 7-Zip (public domain), by Igor Pavlov; System V ABI, "Process
// Initialization". Proof: tests/live/test_agent.py, tests/cross/test_agent_armhf.py.
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent/packed_agent.h"

#if defined(__x86_64__)
#define MMAP SYS_mmap
__asm__(".globl _start\n"
        "_start:\n"
        "mov %rsp, %rdi\n"
        "mov %rsp, %rbx\n"
        "and $-16, %rsp\n"
        "call unpack\n"
        "mov %rbx, %rsp\n"
        "xor %edx, %edx\n"
        "jmp *%rax\n");

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

static void code_was_written(uintptr_t start, uintptr_t end) {
    (void)start, (void)end;
}
#elif defined(__arm__)
#define MMAP SYS_mmap2
__asm__(".globl _start\n"
        ".arm\n"
        ".type _start, %function\n"
        "_start:\n"
        "mov r0, sp\n"
        "mov r4, sp\n"
        "bic sp, sp, #7\n"
        "bl unpack\n"
        "mov sp, r4\n"
        "mov r1, r0\n"
        "mov r0, #0\n"
        "bx r1\n");

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e, r5 __asm__("r5") = f;
    __asm__ volatile("push {r7}\n"
                     "mov r7, %1\n"
                     "svc #0\n"
                     "pop {r7}"
                     : "+r"(r0)
                     : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

static void code_was_written(uintptr_t start, uintptr_t end) {
    enum { CACHEFLUSH = 0xf0002 };
    call(CACHEFLUSH, (long)start, (long)end, 0, 0, 0, 0);
}
#else
#error "how programs of this CPU begin is not known here"
#endif

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_auxv_t elf_auxv;
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_auxv_t elf_auxv;
#endif

// Compilers call it by themselves.
void *memset(void *to, int byte, size_t nr);
__attribute__((used)) void *memset(void *to, int byte, size_t nr) {
    for (unsigned char *at = to; nr--; at++)
        *at = (unsigned char)byte;
    return to;
}

static _Noreturn void give_up(void) {
    enum { STATUS = 126 };
    for (;;)
        call(SYS_exit_group, STATUS, 0, 0, 0, 0, 0);
}

static unsigned char *map(uintptr_t where, size_t nr_bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0);
    long at = call(MMAP, (long)where, (long)nr_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at < 0 && at > -4096)
        give_up();
    return (unsigned char *)at;
}

enum { PAGE_BYTES = 4096 };

// ---- LZMA ----

enum { LC = 3, LP = 1, PB = 1 }; // as tools/pack_agent.py packs
enum { NR_STATES = 12, NR_LENGTHS = 16 + 256, TOP = 1 << 24 };

struct lengths {
    uint16_t choice[2];
    uint16_t low[16][8], middle[16][8], high[256];
};

struct decoder {
    const unsigned char *from, *end;
    uint32_t range, code;
    uint16_t is_match[NR_STATES][16], is_rep[NR_STATES], is_rep0[NR_STATES], is_rep1[NR_STATES],
        is_rep2[NR_STATES];
    uint16_t is_rep0_long[NR_STATES][16];
    uint16_t slots[4][64], distances[128], aligned[16];
    struct lengths match, rep;
    uint16_t literals[768 << (LC + LP)];
};

static void normalize(struct decoder *d) {
    if (d->range >= TOP)
        return;
    if (d->from == d->end)
        give_up();
    d->range <<= 8;
    d->code = d->code << 8 | *d->from++;
}

static unsigned bit(struct decoder *d, uint16_t *probability) {
    normalize(d);
    uint32_t bound = (d->range >> 11) * *probability;
    if (d->code < bound) {
        d->range = bound;
        *probability = (uint16_t)(*probability + ((2048 - *probability) >> 5));
        return 0;
    }
    d->range -= bound;
    d->code -= bound;
    *probability = (uint16_t)(*probability - (*probability >> 5));
    return 1;
}

static unsigned tree(struct decoder *d, uint16_t *probabilities, unsigned nr_bits) {
    unsigned at = 1;
    for (unsigned i = 0; i < nr_bits; i++)
        at = at << 1 | bit(d, &probabilities[at]);
    return at - (1u << nr_bits);
}

static unsigned tree_reversed(struct decoder *d, uint16_t *probabilities, unsigned nr_bits) {
    unsigned at = 1, value = 0;
    for (unsigned i = 0; i < nr_bits; i++) {
        unsigned one = bit(d, &probabilities[at]);
        at = at << 1 | one;
        value |= one << i;
    }
    return value;
}

static unsigned length(struct decoder *d, struct lengths *lengths, unsigned place) {
    if (!bit(d, &lengths->choice[0]))
        return 2 + tree(d, lengths->low[place], 3);
    if (!bit(d, &lengths->choice[1]))
        return 10 + tree(d, lengths->middle[place], 3);
    return 18 + tree(d, lengths->high, 8);
}

static uint32_t distance(struct decoder *d, unsigned nr) {
    unsigned slot = tree(d, d->slots[nr < 6 ? nr - 2 : 3], 6);
    if (slot < 4)
        return slot;
    unsigned nr_bits = (slot >> 1) - 1;
    uint32_t value = (2 | (slot & 1)) << nr_bits;
    if (slot < 14)
        return value + tree_reversed(d, d->distances + value - slot, nr_bits);
    uint32_t direct = 0;
    for (unsigned i = 4; i < nr_bits; i++) {
        normalize(d);
        d->range >>= 1;
        bool one = d->code >= d->range;
        if (one)
            d->code -= d->range;
        direct = direct << 1 | one;
    }
    return value + (direct << 4) + tree_reversed(d, d->aligned, 4);
}

static unsigned char literal(struct decoder *d, const unsigned char *out, size_t at, unsigned state,
                             uint32_t back) {
    unsigned before = at ? out[at - 1] : 0, symbol = 1;
    uint16_t *probabilities = d->literals + 768 * (((at & ((1 << LP) - 1)) << LC) + (before >> (8 - LC)));
    if (state >= 7) { // what stands where the latest match would go on is not it
        unsigned match = out[at - back - 1];
        while (symbol < 256) {
            unsigned expected = match >> 7 & 1, one;
            match <<= 1;
            one = bit(d, &probabilities[((1 + expected) << 8) + symbol]);
            symbol = symbol << 1 | one;
            if (one != expected)
                break;
        }
    }
    while (symbol < 256)
        symbol = symbol << 1 | bit(d, &probabilities[symbol]);
    return (unsigned char)symbol;
}

// The length of a match, whose distance less one is in reps[0] then.
static unsigned match(struct decoder *d, uint32_t *reps, unsigned *state, unsigned place) {
    unsigned from = *state;
    if (!bit(d, &d->is_rep[from])) {
        *state = from < 7 ? 7 : 10;
        reps[3] = reps[2];
        reps[2] = reps[1];
        reps[1] = reps[0];
        unsigned nr = length(d, &d->match, place);
        reps[0] = distance(d, nr);
        return nr;
    }
    if (!bit(d, &d->is_rep0[from])) {
        if (!bit(d, &d->is_rep0_long[from][place])) {
            *state = from < 7 ? 9 : 11;
            return 1;
        }
    } else {
        unsigned which = !bit(d, &d->is_rep1[from]) ? 1 : !bit(d, &d->is_rep2[from]) ? 2 : 3;
        uint32_t taken = reps[which];
        for (; which; which--)
            reps[which] = reps[which - 1];
        reps[0] = taken;
    }
    *state = from < 7 ? 8 : 11;
    return length(d, &d->rep, place);
}

static void decode(struct decoder *d, unsigned char *out, size_t nr_bytes) {
    uint32_t reps[4] = {0, 0, 0, 0};
    unsigned state = 0;
    for (uint16_t *p = &d->is_match[0][0]; p < (uint16_t *)(d + 1); p++)
        *p = 1024;
    for (int i = 0; i < 5; i++)
        d->code = d->code << 8 | *d->from++;
    d->range = UINT32_MAX;
    for (size_t at = 0; at < nr_bytes;) {
        unsigned place = at & ((1 << PB) - 1);
        if (!bit(d, &d->is_match[state][place])) {
            out[at] = literal(d, out, at, state, reps[0]);
            at++;
            state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
            continue;
        }
        unsigned nr = match(d, reps, &state, place);
        if (reps[0] >= at || nr > nr_bytes - at)
            give_up();
        for (; nr; nr--, at++)
            out[at] = out[at - reps[0] - 1];
    }
}

// Calls of Thumb code were packed with the address that they lead to, which repeats, in place of the
// distance.
static void restore_calls(unsigned char *code, size_t nr_bytes) {
#if defined(__arm__)
    for (size_t i = 0; i + 4 <= nr_bytes; i += 2) {
        unsigned char *at = code + i;
        if ((at[1] & 0xf8) != 0xf0 || (at[3] & 0xf8) != 0xf8)
            continue;
        uint32_t to = (at[1] & 7u) << 19 | (uint32_t)at[0] << 11 | (at[3] & 7u) << 8 | at[2];
        to = (to * 2 - ((uint32_t)i + 4)) >> 1;
        at[1] = (unsigned char)(0xf0 | (to >> 19 & 7));
        at[0] = (unsigned char)(to >> 11);
        at[3] = (unsigned char)(0xf8 | (to >> 8 & 7));
        at[2] = (unsigned char)to;
        i += 2;
    }
#else
    (void)code, (void)nr_bytes;
#endif
}

// ---- loading ----

static uintptr_t down(uintptr_t address) {
    return address & ~(uintptr_t)(PAGE_BYTES - 1);
}

static uintptr_t up(uintptr_t address) {
    return down(address + PAGE_BYTES - 1);
}

// Segments of the agent share no page: tools/pack_agent.py looks.
static void load(const unsigned char *file, const elf_segment *segment) {
    uintptr_t start = segment->p_vaddr, end = start + segment->p_memsz;
    map(down(start), up(end) - down(start));
    for (size_t i = 0; i < segment->p_filesz; i++)
        ((unsigned char *)start)[i] = file[segment->p_offset + i];
    int rights = (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                 (segment->p_flags & PF_X ? PROT_EXEC : 0);
    if (segment->p_flags & PF_X)
        code_was_written(start, end);
    if (call(SYS_mprotect, (long)down(start), (long)(up(end) - down(start)), rights, 0, 0, 0) != 0)
        give_up();
}

// What the kernel tells of the program is to be that of the one inside.
static void tell(uintptr_t *stack, const elf_header *header, uintptr_t headers_at) {
    uintptr_t *at = stack + 1 + stack[0] + 1; // the number of arguments, they, NULL
    while (*at++)
        continue;
    for (elf_auxv *told = (elf_auxv *)at; told->a_type != AT_NULL; told++) {
        if (told->a_type == AT_PHDR)
            told->a_un.a_val = headers_at;
        else if (told->a_type == AT_PHNUM)
            told->a_un.a_val = header->e_phnum;
        else if (told->a_type == AT_ENTRY)
            told->a_un.a_val = header->e_entry;
    }
}

__attribute__((used)) static uintptr_t unpack(uintptr_t *stack) {
    unsigned char *file = map(0, up(packed_agent_bytes));
    struct decoder *d = (struct decoder *)map(0, up(sizeof(*d)));
    d->from = packed_agent;
    d->end = packed_agent + sizeof(packed_agent);
    decode(d, file, packed_agent_bytes);
    restore_calls(file, packed_agent_bytes);
    const elf_header *header = (const elf_header *)file;
    const elf_segment *segments = (const elf_segment *)(file + header->e_phoff);
    uintptr_t entry = header->e_entry, headers_at = 0;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        load(file, &segments[i]);
        if (segments[i].p_offset <= header->e_phoff &&
            header->e_phoff - segments[i].p_offset < segments[i].p_filesz)
            headers_at = segments[i].p_vaddr + (header->e_phoff - segments[i].p_offset);
    }
    tell(stack, header, headers_at);
    call(SYS_munmap, (long)d, (long)up(sizeof(*d)), 0, 0, 0, 0);
    call(SYS_munmap, (long)file, (long)up(packed_agent_bytes), 0, 0, 0, 0);
    return entry;
}
