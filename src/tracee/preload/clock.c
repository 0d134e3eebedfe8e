// SPDX-License-Identifier: BSD-2-Clause
//
// The time, from the kernel's own code in the process (vdso): no system call, so no filter of system calls
// has a say. Not by the name of libc's function: that leads to a library that interposes it, and the runtime
// of AddressSanitizer jumps to nowhere while it is not yet set up, a faked clock allocates, and both are not
// ours.
//
// Source: vdso(7); the tables are those of the ELF gABI and of DT_GNU_HASH.
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <time.h>

#include "preload/sys.h"

typedef int clock_function(clockid_t, struct timespec *);
static clock_function *vdso_clock; // written once, at the start, before a second thread can ask

#ifdef CPU_VDSO_CLOCK
struct vdso {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;     // DT_HASH, or NULL
    const uint32_t *gnu_hash; // DT_GNU_HASH, or NULL
};

// With the GNU table the last chain says how many symbols there are.
static uint32_t nr_symbols(const struct vdso *vdso) {
    if (vdso->hash)
        return vdso->hash[1];
    uint32_t nr_buckets = vdso->gnu_hash[0], first = vdso->gnu_hash[1], last = 0;
    const uint32_t *buckets =
        vdso->gnu_hash + 4 + vdso->gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + nr_buckets;
    for (uint32_t i = 0; i < nr_buckets; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < first)
        return 0;
    while (!(chains[last - first] & 1))
        last++;
    return last + 1;
}

static bool is_clock(const char *name) {
    static const char wanted[] = CPU_VDSO_CLOCK;
    for (size_t i = 0; i < sizeof(wanted); i++)
        if (name[i] != wanted[i])
            return false;
    return true;
}

static clock_function *find_clock(uint64_t base) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(base + header->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    uint64_t bias = 0;
    bool loaded = false;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !loaded) {
            bias = base + segments[i].p_offset - segments[i].p_vaddr;
            loaded = true;
        } else if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)(base + segments[i].p_offset);
        }
    }
    struct vdso vdso = {NULL};
    for (; loaded && dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = (const void *)(bias + dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            vdso.symbols = at;
        else if (dynamic->d_tag == DT_STRTAB)
            vdso.strings = at;
        else if (dynamic->d_tag == DT_HASH)
            vdso.hash = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            vdso.gnu_hash = at;
    }
    if (!vdso.symbols || !vdso.strings || (!vdso.hash && !vdso.gnu_hash))
        return NULL;
    for (uint32_t i = 0, nr = nr_symbols(&vdso); i < nr; i++)
        if (vdso.symbols[i].st_shndx != SHN_UNDEF && is_clock(vdso.strings + vdso.symbols[i].st_name))
            return (clock_function *)(bias + vdso.symbols[i].st_value);
    return NULL;
}
#endif

void seep_clock_start(void) {
#ifdef CPU_VDSO_CLOCK
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    vdso_clock = base ? find_clock(base) : NULL;
#endif
}

static uint64_t noted_ns; // CLOCK_MONOTONIC

void seep_clock_note(void) {
    noted_ns = seep_clock_ns(CLOCK_MONOTONIC);
}

// The kernel's code makes a system call where it cannot read the clock itself, but for the coarse ones never.
static uint64_t coarse_ns(int clock) {
    struct timespec now = {0, 0};
    bool monotonic = clock == CLOCK_MONOTONIC;
    if (vdso_clock)
        vdso_clock(monotonic ? CLOCK_MONOTONIC_COARSE : CLOCK_REALTIME_COARSE, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return monotonic && ns < noted_ns ? noted_ns : ns;
}

// The kernel's code reads the processor's counter, which kills where that is forbidden.
uint64_t seep_clock_ns(int clock) {
    struct timespec now = {0, 0};
    if (seep_confined.filtered)
        return coarse_ns(clock);
    if (!vdso_clock || seep_confined.no_counter || vdso_clock(clock, &now) != 0)
        sys3(SYS_clock_gettime, clock, (long)&now, 0); // no vdso under an emulator
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
