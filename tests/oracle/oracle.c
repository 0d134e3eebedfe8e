// SPDX-License-Identifier: BSD-2-Clause
//
// The oracle: in libseep-oracle.so every recorded stack is compared, frame by frame, with what libgcc's
// unwinder makes of the same stack at the same moment. It counts in a page that is a shared mapping
// of the file $SEEP_ORACLE_OUT, which all processes of a run add to, so no exit can lose anything;
// the first stacks that differ or are cut follow as text. test_oracle.py reads it.
//
// libgcc's unwinder here takes no lock (it uses _dl_find_object) and walks through signal frames and
// makecontext. It ends at code without CFI, where seep may go on by frame pointer, and repeats a
// signal trampoline that directly follows a function with CFI (vdso of qemu 8.2 and later for s390x), because it
// looks up the byte before. Then only the frames up to there are compared, and the sample counts as `partial`.
#include <inttypes.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "image/layout.h"

#define MOST_FRAMES 16384u
#define TEXT_BYTES  (1u << 20)
#define FULL_NOTES  8u

// The reader is read_oracle() in test_oracle.py: keep the two in step.
struct findings {
    _Atomic uint64_t magic, samples, frames, max_depth, different, cut, partial, unwinder_failed;
    _Atomic uint64_t text_used;
};
static union {
    struct findings findings;
    char bytes[4096 + TEXT_BYTES];
} shared __attribute__((aligned(4096)));

void seep_oracle_check(const uint64_t *pcs, unsigned nr, int cut);

// On ARM libgcc does not show the frame that it cannot leave, and has but one code for an end.
#ifdef __arm__
#define STOP _URC_FAILURE
#else
#define STOP _URC_NORMAL_STOP
#endif

// Of what a signal has interrupted libgcc says two bytes more on MIPS, whose instructions have four.
#ifdef __mips__
#define PC_OF(pc) ((pc) & ~UINT64_C(3))
#else
#define PC_OF(pc) (pc)
#endif

// A walk of libgcc's, compared as it goes: nothing is stored but where it stands.
struct comparison {
    const uint64_t *pcs;
    unsigned nr;
    unsigned at; // frames of seep's met so far
    bool begun;  // the frames of the library itself are behind
    bool deep;   // seep's frames are the innermost ones of a stack that is too deep
    bool differs;
    bool stays;       // libgcc went from a frame to the same frame
    uint64_t pc, cfa; // of the frame before
    uint64_t last;    // innermost-to-outermost, the last pc seen; 0: none
    unsigned walked;  // frames since begun
};

static _Unwind_Reason_Code compare_frame(struct _Unwind_Context *context, void *arg) {
    struct comparison *c = arg;
    int exact = 0;
    uint64_t pc = PC_OF(_Unwind_GetIPInfo(context, &exact));
    if (pc == 0)
        return _URC_NO_REASON; // beyond the outermost frame
    if (!c->begun) {
        if (c->nr == 0 || pc != c->pcs[0])
            return _URC_NO_REASON;
        c->begun = true;
    }
    if (c->deep && c->at == c->nr)
        return STOP;
#ifdef __arm__ // where _Unwind_GetCFA() stays the same from frame to frame
    uint64_t cfa = _Unwind_GetGR(context, 13);
#else
    uint64_t cfa = _Unwind_GetCFA(context);
#endif
    c->stays = c->walked && pc == c->pc && cfa == c->cfa;
    if (c->stays)
        return STOP;
    c->pc = pc;
    c->cfa = cfa;
    c->walked++;
    c->last = exact ? pc : pc - 1;
    if (c->at < c->nr && c->pcs[c->at] == pc)
        c->at++;
    else
        c->differs = true;
    return c->differs ? STOP : _URC_NO_REASON;
}

static void note(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n <= 0)
        return;
    if (n >= (int)sizeof(line))
        n = sizeof(line) - 1;
    uint64_t at = atomic_fetch_add(&shared.findings.text_used, (uint64_t)n);
    if (at + (uint64_t)n <= TEXT_BYTES)
        memcpy(shared.bytes + 4096 + at, line, (size_t)n);
}

// "module+offset" from /proc/self/maps: dladdr would take the loader's lock.
static void note_pc(const char *who, unsigned index, uint64_t pc) {
    char text[4096], name[256] = "?";
    uint64_t start = 0, end = 0, offset = 0, found = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t held = 0;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text + held, sizeof(text) - 1 - held)) > 0) {
        held += (size_t)got;
        text[held] = '\0';
        char *line = text, *stop;
        for (; (stop = strchr(line, '\n')); line = stop + 1) {
            *stop = '\0';
            if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %255s", &start, &end, &offset,
                       name) >= 3 &&
                pc >= start && pc < end) {
                found = pc - start + offset;
                goto done;
            }
            snprintf(name, sizeof(name), "?");
        }
        held = strlen(line);
        memmove(text, line, held);
        if (held == sizeof(text) - 1)
            held = 0;
    }
done:
    if (fd >= 0)
        close(fd);
    note("  %s %3u %#" PRIx64 " %s+%#" PRIx64 "\n", who, index, pc, found ? name : "?", found);
}

struct listing {
    unsigned index;
};

static _Unwind_Reason_Code list_frame(struct _Unwind_Context *context, void *arg) {
    struct listing *listing = arg;
    uint64_t pc = _Unwind_GetIP(context);
    if (pc)
        note_pc("libgcc", listing->index++, pc);
    return listing->index < 64 ? _URC_NO_REASON : STOP;
}

static void note_stacks(const struct comparison *c, int cut) {
    note("process %d: %u frames, cut %d, %s at %u (libgcc had walked %u%s)\n", (int)getpid(), c->nr, cut,
         c->differs ? "differs" : "stands", c->at, c->walked, c->begun ? "" : ", never met the first frame");
    for (unsigned i = 0; i < c->nr && i < 64; i++)
        note_pc("seep  ", i, c->pcs[i]);
    struct listing listing = {0};
    _Unwind_Backtrace(list_frame, &listing);
}

// libgcc exports it, no header declares it.
struct dwarf_eh_bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

#ifdef __arm__
// libc has it for libgcc. An entry: where a function begins, counted from the entry itself, and its table.
struct index_entry {
    uint32_t start, table;
};
extern const struct index_entry *__gnu_Unwind_Find_exidx(uintptr_t pc, int *nr_entries);
enum { CANNOT_UNWIND = 1 };

static bool has_cfi(uint64_t pc) {
    int nr = 0;
    const struct index_entry *entry = __gnu_Unwind_Find_exidx((uintptr_t)pc, &nr), *found = NULL;
    for (; entry && nr > 0; nr--, entry++)
        if ((uint32_t)(uintptr_t)entry + (uint32_t)((int32_t)(entry->start << 1) >> 1) <= pc)
            found = entry;
    return found && found->table != CANNOT_UNWIND;
}
#else
static bool has_cfi(uint64_t pc) {
    struct dwarf_eh_bases bases;
    return _Unwind_Find_FDE((void *)pc, &bases) != NULL;
}
#endif

static void raise_to(_Atomic uint64_t *figure, uint64_t value) {
    uint64_t now = atomic_load(figure);
    while (now < value && !atomic_compare_exchange_weak(figure, &now, value))
        continue;
}

// Called by libseep-oracle.so with its guard held, after every stack it records: nr return addresses,
// innermost first; after a signal frame the exact pc. cut: enum seep_cut, or -1 when the stack is whole.
void seep_oracle_check(const uint64_t *pcs, unsigned nr, int cut) {
    struct findings *f = &shared.findings;
    struct comparison c = {.pcs = pcs, .nr = nr, .deep = cut == SEEP_CUT_DEPTH};
    atomic_fetch_add(&f->samples, 1);
    atomic_fetch_add(&f->frames, nr);
    raise_to(&f->max_depth, nr);
    bool note_cut = cut >= 0 && atomic_fetch_add(&f->cut, 1) < 2;
    _Unwind_Reason_Code code = _Unwind_Backtrace(compare_frame, &c);
#ifdef __arm__
    (void)code;
    if ((c.begun || nr == 1) && !c.differs && c.at + 1 == nr && !has_cfi(pcs[c.at] - 1)) {
        c.begun = true;
        c.at++;
    }
#else
#ifdef __powerpc64__ // libgcc reports code without call-frame information as an error
    if (!has_cfi(c.last))
        code = _URC_END_OF_STACK;
#endif
    if (code != _URC_END_OF_STACK && !c.differs && !c.stays && !(c.deep && c.at == nr))
        atomic_fetch_add(&f->unwinder_failed, 1);
#endif
    bool whole = c.begun && !c.differs && c.at == nr;
    if (!whole && c.begun && !c.differs && (c.stays || !has_cfi(c.last))) {
        atomic_fetch_add(&f->partial, 1);
        whole = true;
    }
    if ((!whole && atomic_fetch_add(&f->different, 1) < FULL_NOTES) || note_cut)
        note_stacks(&c, cut);
}

// Maps the file in the place of the counters and walks once, so that what libgcc sets up at its
// first walk is set up outside any hook.
__attribute__((constructor(101))) static void start(void) {
    struct comparison nothing = {0};
    _Unwind_Backtrace(compare_frame, &nothing);
    const char *path = getenv("SEEP_ORACLE_OUT");
    if (!path)
        return;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(shared)) != 0) {
        static const char message[] = "oracle: cannot make the file named by SEEP_ORACLE_OUT\n";
        if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
            _exit(96);
        _exit(97);
    }
    struct findings before;
    memcpy(&before, &shared.findings, sizeof(before));
    if (mmap(&shared, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        _exit(97);
    close(fd);
    // What came before the constructor is added to what other processes have found.
    struct findings *f = &shared.findings;
    atomic_store(&f->magic, UINT64_C(0x31454c4341524f53)); // "SORACLE1"
    atomic_fetch_add(&f->samples, before.samples);
    atomic_fetch_add(&f->frames, before.frames);
    raise_to(&f->max_depth, before.max_depth);
    atomic_fetch_add(&f->different, before.different);
    atomic_fetch_add(&f->cut, before.cut);
    atomic_fetch_add(&f->partial, before.partial);
    atomic_fetch_add(&f->unwinder_failed, before.unwinder_failed);
}
