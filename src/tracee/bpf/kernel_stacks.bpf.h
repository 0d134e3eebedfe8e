// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// Where the kernel allocates: its stack, as the number of a site. Unwinding it costs more than a microsecond,
// so what the last unwinding found is kept as a memo: where the return addresses stood on the stack, and
// what they were. A later allocation at the same height of its stack, at which all those words are the same,
// has the same stack, because the unwinder goes from each return address to the next one by a table that
// knows nothing but the address. Where a word could have been taken for a return address, though it was
// none, it is in the memo as well, so a wrong guess costs an unwinding and never an answer.
//
// At the entry of an exception the unwinder continues with the interrupted code. A fault of user code and a
// fault of kernel code may have the same entry and differ only in their height on the stack. So a memo holds
// only at its own height, until its stack was seen at another height: the kernel shifts its stack at random
// for each system call, and never for an exception.
#ifndef SEEP_BPF_KERNEL_STACKS_BPF_H
#define SEEP_BPF_KERNEL_STACKS_BPF_H

#include "bpf/kernel.h"
#include "image/bpf_kernel.h"

// Set before loading, then constant.
const volatile uint32_t seep_sites_max = 2;
const volatile bool seep_has_memos = false; // the kernel has bpf_loop: 5.17 and later

// 6.2 and later. A kernel before 5.16 refuses a program that has a call of it anywhere, so there is one of
// each kind.
extern void *bpf_rdonly_cast(const void *object, uint32_t type) __ksym __weak;

#define STACK_BYTES  16384u // of a task's kernel stack. Source: Linux asm/page_64_types.h (x86-64)
#define WINDOW_BYTES 8192u  // of a stack that are looked at
#define WINDOW_WORDS (WINDOW_BYTES / sizeof(uint64_t))

uint32_t seep_nr_sites = 1; // number 0 is for what is not known

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); // set by the host, as for the next one
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_site);
} seep_sites SEC(".maps");

// From a hash of all that a site is to its number.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, uint64_t);
    __type(value, uint32_t);
} seep_site_numbers SEC(".maps");

#define MEMO_WORDS    48u
#define MEMO_LAST_MAX 4u
#define MEMO_SETS     1024u // a power of two, as the next one
#define MEMO_WAYS     8u
#define FILTER_WORDS  16u
// Those that stand below the tracepoint's arguments: allocated, the program, bpf_trace_run.
#define OWN_FRAMES 3u

struct memo {
    uint32_t sequence; // odd: being written
    uint32_t site;     // 0: nothing here
    uint64_t call_site;
    uint64_t tag;      // name of the cache, and the class
    uint32_t nr_words; // 0: this stack cannot be known by its words
    uint32_t nr_last;
    uint32_t height;                 // the one at which it holds; 0: it holds at any
    uint64_t last;                   // the outermost frame: where the kernel was entered
    uint64_t words[MEMO_WORDS];      // all other frames
    uint16_t at[MEMO_WORDS];         // bytes above the tracepoint's arguments
    uint16_t last_at[MEMO_LAST_MAX]; // bytes below the end of the stack
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MEMO_SETS *MEMO_WAYS);
    __type(key, uint32_t);
    __type(value, struct memo);
} seep_memos SEC(".maps");

// Where an allocation is, as far as its arguments tell.
struct origin {
    uint64_t arguments;  // their own address, which is on the stack
    uint64_t call_site;  // or something else that differs where the stack does
    uint64_t cache_name; // address, 0: no cache
    uint64_t slab_bytes; // 0: not of the slab allocator
    uint32_t class_of;
};

// A program that is interrupted by another one on its CPU must find its scratch memory as it left it.
struct scratch {
    uint64_t busy;
    struct origin origin;
    uint64_t stack;                     // the lowest address of this task's
    struct seep_kernel_process process; // that was here last, and its number
    uint32_t process_number;            // 0: none yet
    uint64_t filter[FILTER_WORDS];
    struct seep_kernel_site site;
    uint64_t window[WINDOW_WORDS];
};

static inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

// Source of the constant: the finaliser of MurmurHash3 (Appleby, public domain).
static inline uint64_t hash_site(const struct seep_kernel_site *site, uint64_t cache_name) {
    uint64_t hash = mix(site->class_of + 1, cache_name);
    for (uint32_t i = 0; i < SEEP_KERNEL_FRAMES_MAX && i < site->nr_frames; i++)
        hash = mix(hash, site->frames[i]);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 33;
}

// ---- unwinding ----

// 0: no room for one more.
static inline uint32_t add_site(struct seep_kernel_site *site, uint64_t id, uint64_t cache_name) {
    site->cache_name = cache_name;
    __builtin_memset(site->cache, 0, sizeof(site->cache));
    if (cache_name)
        bpf_probe_read_kernel_str(site->cache, sizeof(site->cache), (const void *)cache_name);
    site->live_blocks = 0;
    site->live_bytes = 0;
    site->live_slab_bytes = 0;
    if (*(volatile uint32_t *)&seep_nr_sites >= seep_sites_max)
        return 0;
    uint32_t number = __sync_fetch_and_add(&seep_nr_sites, 1);
    struct seep_kernel_site *at = bpf_map_lookup_elem(&seep_sites, &number);
    if (!at)
        return 0;
    __builtin_memcpy(at, site, sizeof(*at));
    // Where another CPU was quicker, its number counts, and ours stays without blocks.
    long status = bpf_map_update_elem(&seep_site_numbers, &id, &number, BPF_NOEXIST);
    const uint32_t *known = status == 0 ? NULL : bpf_map_lookup_elem(&seep_site_numbers, &id);
    return status == 0 ? number : known ? *known : 0;
}

// 0: no room, or the kernel unwound nothing because its buffers were in use by what was interrupted.
static inline uint32_t unwind(void *context, struct seep_kernel_site *site, const struct origin *origin) {
    long nr_bytes = bpf_get_stack(context, site->frames, sizeof(site->frames), 0);
    if (nr_bytes < 0)
        return 0;
    site->class_of = origin->class_of;
    site->nr_frames = (uint32_t)nr_bytes / sizeof(uint64_t);
    uint64_t id = hash_site(site, origin->cache_name);
    const uint32_t *known = bpf_map_lookup_elem(&seep_site_numbers, &id);
    return known ? *known : add_site(site, id, origin->cache_name);
}

// ---- memos ----

// Bytes from the tracepoint's arguments to the end of the task's stack. 0: they are on another stack (an
// interrupt's), or too far down.
static inline uint32_t height_of(struct scratch *scratch) {
    scratch->stack = (uint64_t)bpf_get_current_task_btf()->stack;
    barrier();
    uint64_t height = scratch->stack + STACK_BYTES - scratch->origin.arguments;
    return height < WINDOW_BYTES ? (uint32_t)height : 0;
}

static inline uint64_t tag_of(const struct origin *origin) {
    return origin->cache_name << 3 | origin->class_of;
}

static inline uint32_t first_memo(const struct origin *origin) {
    return (uint32_t)(mix(origin->call_site, tag_of(origin)) >> 40) % MEMO_SETS * MEMO_WAYS;
}

// A word of the stack: read where it is, or in the window, which has been read then.
static __always_inline uint64_t stack_word(const struct scratch *scratch, uint32_t at, bool directly) {
    if (!directly)
        return at / sizeof(uint64_t) < WINDOW_WORDS ? scratch->window[at / sizeof(uint64_t)] : 0;
    const struct pt_regs *words = (const struct pt_regs *)bpf_rdonly_cast(
        (const void *)(scratch->origin.arguments + at), bpf_core_type_id_kernel(struct pt_regs));
    return words->r15; // the first word, whatever the name
}

static __always_inline bool has_words(const struct memo *memo, const struct scratch *scratch, uint32_t height,
                                      bool directly) {
    uint32_t nr = memo->nr_words;
    if (memo->height && memo->height != height)
        return false;
    for (uint32_t i = 0; i < MEMO_WORDS && i < nr; i++)
        if (stack_word(scratch, memo->at[i], directly) != memo->words[i])
            return false;
    for (uint32_t i = 0; i < MEMO_LAST_MAX && i < memo->nr_last; i++)
        if (stack_word(scratch, height - memo->last_at[i], directly) != memo->last)
            return false;
    return nr != 0;
}

// Global functions: the verifier looks at each once, and not at every call. Two, for the reason above.
__noinline int memo_holds_directly(const struct memo *memo, const struct scratch *scratch, uint32_t height) {
    return memo && scratch && has_words(memo, scratch, height, true);
}

__noinline int memo_holds_window(const struct memo *memo, const struct scratch *scratch, uint32_t height) {
    return memo && scratch && has_words(memo, scratch, height, false);
}

static inline bool read_window(struct scratch *scratch, uint32_t height) {
    return height <= WINDOW_BYTES &&
           bpf_probe_read_kernel(scratch->window, height, (const void *)scratch->origin.arguments) == 0;
}

// 0: none of the memos is of this stack.
static __always_inline uint32_t recall(struct scratch *scratch, uint32_t height, bool directly) {
    const struct origin *origin = &scratch->origin;
    if (!directly && !read_window(scratch, height))
        return 0;
    uint32_t first = first_memo(origin);
    uint64_t tag = tag_of(origin);
    for (uint32_t way = 0; way < MEMO_WAYS; way++) {
        uint32_t number = first + way;
        const struct memo *memo = bpf_map_lookup_elem(&seep_memos, &number);
        if (!memo)
            return 0;
        uint32_t sequence = *(const volatile uint32_t *)&memo->sequence;
        uint32_t site = memo->site;
        if (!site)
            return 0; // they are taken in order
        if (memo->call_site != origin->call_site || memo->tag != tag || sequence & 1)
            continue;
        if ((directly ? memo_holds_directly : memo_holds_window)(memo, scratch, height) &&
            *(const volatile uint32_t *)&memo->sequence == sequence)
            return site;
    }
    return 0;
}

static inline void filter_frames(struct scratch *scratch) {
    __builtin_memset(scratch->filter, 0, sizeof(scratch->filter));
    for (uint32_t i = 0; i < SEEP_KERNEL_FRAMES_MAX && i < scratch->site.nr_frames; i++) {
        uint64_t frame = scratch->site.frames[i];
        scratch->filter[frame >> 6 & (FILTER_WORDS - 1)] |= UINT64_C(1) << (frame & 63);
    }
}

static inline bool could_be_frame(const struct scratch *scratch, uint64_t word) {
    return scratch->filter[word >> 6 & (FILTER_WORDS - 1)] >> (word & 63) & 1 && word >> 47 == 0x1ffff;
}

struct search {
    struct scratch *scratch;
    struct memo *memo;
    uint32_t height;
    uint32_t nr;        // words found
    uint32_t nr_frames; // of them in the order of the stack, and the probe's own
};

// Frames stand on the stack in their order.
static inline void follow_frames(struct search *search, uint64_t word) {
    uint32_t nr = search->nr_frames;
    if (nr < SEEP_KERNEL_FRAMES_MAX && search->scratch->site.frames[nr] == word)
        search->nr_frames = nr + 1;
}

// One word of the window, for bpf_loop. 1: done.
static long search_word(uint32_t i, struct search *search) {
    struct scratch *scratch = search->scratch;
    struct memo *memo = search->memo;
    if (i >= WINDOW_WORDS)
        return 1;
    uint64_t word = scratch->window[i];
    if (!could_be_frame(scratch, word))
        return 0;
    uint32_t at = i * sizeof(uint64_t);
    if (word == memo->last) {
        uint32_t nr_last = memo->nr_last;
        if (nr_last < MEMO_LAST_MAX) {
            memo->last_at[nr_last] = search->height - at;
            memo->nr_last = nr_last + 1;
            return 0;
        }
    }
    uint32_t nr = search->nr;
    search->nr = nr + 1; // one too many: there are more than have room
    if (nr >= MEMO_WORDS)
        return 1;
    memo->at[nr] = (uint16_t)at;
    memo->words[nr] = word;
    follow_frames(search, word);
    return 0;
}

// The words that are still what they were. Those of the frames are, because the stack is the same one.
static long sift_word(uint32_t i, struct search *search) {
    struct memo *memo = search->memo;
    uint32_t nr = search->nr;
    if (i >= MEMO_WORDS || nr >= MEMO_WORDS)
        return 1;
    uint32_t word = memo->at[i] / sizeof(uint64_t);
    uint64_t was = memo->words[i];
    if (word >= WINDOW_WORDS || search->scratch->window[word] != was)
        return 0;
    memo->at[nr] = memo->at[i];
    memo->words[nr] = was;
    search->nr = nr + 1;
    follow_frames(search, was);
    return 0;
}

static inline void sift_last(struct search *search) {
    struct memo *memo = search->memo;
    uint32_t nr = 0;
    for (uint32_t i = 0; i < MEMO_LAST_MAX && i < memo->nr_last; i++) {
        uint32_t word = (search->height - memo->last_at[i]) / sizeof(uint64_t);
        if (word < WINDOW_WORDS && search->scratch->window[word] == memo->last && nr < MEMO_LAST_MAX)
            memo->last_at[nr++] = memo->last_at[i];
    }
    memo->nr_last = nr;
}

// The memo of this site, or one that gives way to it.
static inline struct memo *choose_memo(const struct origin *origin, uint32_t site, uint32_t victim) {
    uint32_t first = first_memo(origin);
    victim = first + victim % MEMO_WAYS;
    struct memo *memo = NULL;
    for (uint32_t way = 0; way < MEMO_WAYS; way++) {
        uint32_t number = first + way;
        memo = bpf_map_lookup_elem(&seep_memos, &number);
        if (!memo || memo->site == site || memo->site == 0)
            return memo;
    }
    return bpf_map_lookup_elem(&seep_memos, &victim);
}

// Writes down where on the stack the frames of scratch->site are, as far as that is known by now.
static inline void memorize(struct scratch *scratch, uint32_t height, uint32_t number, uint32_t victim) {
    const struct seep_kernel_site *site = &scratch->site;
    uint32_t outermost = site->nr_frames - 1;
    // A stack that was cut has no end.
    if (outermost >= SEEP_KERNEL_FRAMES_MAX - 1 || !read_window(scratch, height))
        return;
    struct memo *memo = choose_memo(&scratch->origin, number, victim);
    if (!memo)
        return;
    uint32_t sequence = *(volatile uint32_t *)&memo->sequence;
    if (sequence & 1 || __sync_val_compare_and_swap(&memo->sequence, sequence, sequence + 1) != sequence)
        return;
    struct search search = {.scratch = scratch, .memo = memo, .height = height, .nr_frames = OWN_FRAMES};
    if (memo->site == number) {
        if (memo->height != height)
            memo->height = 0;
        bpf_loop(memo->nr_words, sift_word, &search, 0);
        sift_last(&search);
    } else {
        memo->site = number;
        memo->call_site = scratch->origin.call_site;
        memo->tag = tag_of(&scratch->origin);
        memo->height = height;
        memo->last = site->frames[outermost];
        memo->nr_last = 0;
        filter_frames(scratch);
        bpf_loop(height / sizeof(uint64_t), search_word, &search, 0);
    }
    // All frames but the outermost one, which has its own place.
    bool whole = search.nr_frames >= outermost && search.nr <= MEMO_WORDS && memo->nr_last;
    memo->nr_words = whole ? search.nr : 0;
    barrier(); // stores are seen in order (x86-64)
    *(volatile uint32_t *)&memo->sequence = sequence + 2;
}

#endif
