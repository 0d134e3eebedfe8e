// SPDX-License-Identifier: BSD-2-Clause
//
// A program that contains seep-agent packed: it unpacks that to where it was linked, and goes on there as if
// the kernel had started it. No libc. The packed bytes are one LZMA stream of the whole static ELF file
// (tools/pack_agent.py); what is damaged ends in exit status 126 and no message.
// Source: System V ABI, "Process Initialization". Proof: tests/live/test_agent.py,
// tests/cross/test_agent_armhf.py.
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent/packed_agent.h"
#include "agent/unlzma.h"

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
    struct seep_unlzma *d = (struct seep_unlzma *)map(0, up(sizeof(*d)));
    if (!seep_unlzma(d, file, packed_agent_bytes, packed_agent, sizeof(packed_agent)))
        give_up();
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
