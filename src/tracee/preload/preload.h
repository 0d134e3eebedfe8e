// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of libseep.so share: the process-wide state and the state of a thread.
//
// The law: this code lives in other people's processes. It never crashes, hangs, prints, allocates
// through the hooks, or changes errno. On trouble it counts the loss by reason and passes through.
//
// Fork: everything here is private memory, copied on write, except the image (shared with the tool
// and with the parent!). `seep_g.alive` and all struct seep_thread are in MADV_WIPEONFORK memory:
// in a child they read as zero, so the check that every hook makes anyway (guard == READY) fails
// and leads to fork.c before anything of the parent's image is written.
//
// Context of a function in the headers of this folder, where none is given: a hook of the calling thread is
// at work, its guard is taken, and no lock of ours is held. The hook may have been called in a signal handler
// of the program; so nothing here waits for what the interrupted code holds: a lock that this thread already
// has is not to be had. System calls are those of sys.h, which leave errno alone.
//
// Locks: image_lock is the innermost. It may be taken under any other, and none under it.
#ifndef SEEP_PRELOAD_PRELOAD_H
#define SEEP_PRELOAD_PRELOAD_H

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/attr.h"
#include "core/platform.h"
#include "image/layout.h"
#include "preload/sys.h"
#include "unwind/rule.h"

// Whether this is libseep-record.so, which can do more than keep a live image: a constant, so that libseep.so
// has nothing of it.
#ifndef SEEP_MODES
#define SEEP_MODES 0
#endif

// ---- locks: for cold paths only; bounded, so that nothing ever hangs -------------------------------

struct seep_lock {
    _Atomic uint32_t owner;   // tid, 0: free
    _Atomic uint32_t overdue; // owner for which a thread has waited in vain
};

// false: not to be had (its owner was killed, or is the code that a signal handler interrupted). Not
// recursive: false at once for the thread that has it. Waits for about a second at most. After a wait in
// vain it waits no more for that owner. A lock whose owner ended is taken over: what the lock protects counts
// only once it is complete.
SEEP_MUST_CHECK bool seep_lock_take(struct seep_lock *lock);
void seep_lock_release(struct seep_lock *lock);

// A number that one thread writes and another process or a signal handler reads: one store on CPUs of 32 bits
// too, so that no reader sees half of it.
#if SEEP_ARCH_WORD == 8
#define SEEP_PUT(place, value) ((void)((place) = (value)))
#else
#define SEEP_PUT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#endif
#define SEEP_ADD(place, value) SEEP_PUT(place, (place) + (value))

// ---- the stack memo -------------------------------------------------------------------------------

// A word of the stack that was read, and what it held.
struct seep_memo_slot {
    const seep_stack_word *address;
    seep_stack_word value;
};

// A frame of the last unwound stack. pc has bit 63 set where it is exact (see SEEP_PC_EXACT).
struct seep_memo_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;                      // means something only where need_bp
    struct seep_memo_slot *slots_end; // slots up to here were read to leave this frame and all outside it
    uint32_t node;                    // in the stack tree, of the path from the root to this frame
    uint32_t path;                    // seep_path_hash of it
    uint32_t need_bp;                 // leaving this frame or one outside it depends on bp
    uint32_t stamp;                   // of the walk that wrote it, see struct seep_recent
};

// A frame met while walking, innermost first.
struct seep_walk_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    struct seep_rule rule;
    uint64_t frame;                  // SEEP_FRAME_MAKE
    const seep_stack_word *slots[3]; // read to leave the frame: return address, then what the kind needs
    uint64_t values[3];
};

#define SEEP_PC_EXACT  (UINT64_C(1) << 63)
#define SEEP_MAX_DEPTH 16384u

// ---- a thread -------------------------------------------------------------------------------------

// The guard of a thread: 0, the kernel has wiped it; with the highest bit, it is idle, and this is the mode
// under which its memo was made; else a hook is at work, and this is the address of its frame. So one
// comparison with the mode of the process says all that a hook must know.
#define SEEP_GUARD_WIPED          0
#define SEEP_GUARD_IS_IDLE(guard) ((int64_t)(guard) < 0)

// A stack that was recorded lately, as the short way (record.h) asks for it and what it answers. Its outer
// part is the memo's; the words that its inner frames were found by are its own, so that stacks which take
// turns, as those of parsers and interpreters do, are validated instead of walked. It stands as long as the
// memo's frames up to `kept` are those it was made with: that frame then still has its stamp, for whatever
// is written further out in the memo is followed by new frames up to the innermost.
enum {
    SEEP_RECENT_SLOTS = 12,
    SEEP_RECENTS_SHIFT = 8,
    SEEP_RECENT_WAYS = 4,
    SEEP_RECENTS_FEW_SHIFT = 4, // so many of them until a thread has walked so often:
    SEEP_RECENTS_FROM = 64,
};
struct seep_recent {
    uint64_t frame; // SEEP_FRAME_OF the hook's caller; 0: none
    uint64_t pc;
    const struct seep_memo_frame *kept;
    const struct seep_memo_slot *kept_end; // the memo's slots up to here must hold
    uint64_t entry;                        // the site, as a heap map entry has it
    struct seep_image_counters *counters;  // of the site
    uint32_t stamp;                        // of `kept`
    uint32_t via;                          // with SEEP_NEED_BP where bp counts
    uint64_t bp;
    uint32_t nr_own;                    // even: the last one may be there twice
    uint32_t turn;                      // in the first of four: which of them was made last
    uint16_t own_at[SEEP_RECENT_SLOTS]; // innermost first, in words from `frame`
    uint64_t own[SEEP_RECENT_SLOTS];    // what they held
#ifdef SEEP_ORACLE
    uint64_t pcs[SEEP_RECENT_SLOTS];
    uint32_t nr_pcs;
#endif
};
#define SEEP_NEED_BP (UINT32_C(1) << 31)

// What makes operations go the long way; read as one word, of which modules_epoch is the upper half.
union seep_mode {
    struct {
#if SEEP_BIG_ENDIAN_HERE
        _Atomic uint32_t modules_epoch, special;
#else
        _Atomic uint32_t special; // SEEP_SPECIAL_*: the longest way, 0: none
        _Atomic uint32_t
            modules_epoch; // from SEEP_FIRST_EPOCH on; grows when code may have gone away: memos end
#endif
    };
    _Atomic uint64_t word;
};
#define SEEP_FIRST_EPOCH 0x80000000u
union seep_mode_seen {
    struct {
#if SEEP_BIG_ENDIAN_HERE
        uint32_t modules_epoch, special;
#else
        uint32_t special, modules_epoch;
#endif
    };
    uint64_t word;
};

// Code pages that could be read: 64 neighbours, a bit each.
struct seep_code_pages {
    uint64_t block; // address / 64 pages
    uint64_t known;
};
enum { SEEP_CODE_BLOCKS = 64 };

// In a real operator new, if calls are only counted: a frame of its hook, and the counts since.
struct seep_counted_new {
    uint64_t frame; // 0: in none
    uint32_t via;   // 0: nothing
    uint64_t size;
    uint64_t size_min_inverted; // before
    uint64_t size_max;
};

// In its own MADV_WIPEONFORK mapping. Only its thread writes.
struct seep_thread {
    // Read on every operation: two cache lines.
    uint64_t guard;
    const struct seep_recent
        *last;                   // of the recent stacks the one that was met last; stands, or is of no caller
    struct seep_recent *recents; // in fours, by hash of frame and pc; after them one that is of no caller
    uint64_t recents_mask;       // of those that are in use, less the lowest bits
    struct seep_memo_frame *memo_end; // one past the innermost frame of the memo; == frames: there is none
    union seep_mode_seen mode;        // what the memo was made under; special is 0: the guard when idle
    uint64_t last_block;              // the block this thread allocated as its latest heap operation, or 0
    uint64_t leaf_start;              // the leaf of the heap map that was used last: its first address,
    uint64_t *leaf;                   // and its entries
    struct seep_memo_slot *slots;
    struct seep_image_thread *slot;
    const uint32_t *chunk_dir;
    int64_t net_most;  // slot->net_room above this: the process must be told,
    int64_t net_above; // and when net_room would fall below 0 by more than this
    // Only where sampling: bytes to the next point, negative (else 0), the filter of recorded blocks (else
    // NULL).
    int64_t sample_at;
    const uint8_t *filter;

    uint32_t top_site; // site of the memo's whole stack for `top_via`
    uint32_t top_via;
    struct seep_memo_frame *frames; // [0] is the outermost
    uint32_t slot_index;

    // Only where sampling.
    int64_t sample_at_long; // sample_at, where releases are kept (free_stacks.h): that is 0 then
    uint64_t last_skipped;  // what sample_nr_skipped said when last_block was allocated
    uint64_t random;
    bool undo_open[64]; // by log of fork_undo.c: a change whose counters are not yet right
    bool undo_any;      // whether there is one

    // Only while walking.
    struct seep_walk_frame *walk;
    const struct seep_memo_frame
        *walk_kept;    // innermost frame of the memo that the latest walk left, NULL: none
    uint32_t stamp;    // of the latest walk
    uint32_t capacity; // of frames and walk in frames, of slots in three times that
    uint32_t limit;    // of depth, that the nodes of the memo are made for
    uint64_t stack_lo; // memory known to be readable: [lo, hi), as long as nothing was unmapped
    uint64_t stack_hi;
    uint32_t unmap_epoch; // when that was found out
    uint32_t tid;
    uint32_t pid;   // of its process: not ours where that shares our memory by clone; 0: under a filter
    uint64_t quiet; // the saved guard while a quiet function runs (quiet_calls.c), or 0
    struct {        // and the fields that are hidden from inner hooks
        int64_t sample_at;
        const uint8_t *filter;
        struct seep_image_counters *called;
    } outer;
    bool nested_release;    // in a real delete: the free it calls is the same event
    uint32_t lsan_disabled; // calls of __lsan_disable that have no __lsan_enable yet
    struct seep_image_counters
        *called; // of site 0, where calls are only counted (call_counts.h); NULL: not yet, or counted_new
    struct seep_counted_new counted_new;
    // Only where events are recorded (events.h).
    struct seep_event *ring_next; // where the next event goes, while ring_left
    struct seep_ring *ring;       // NULL: there was no room for it
    uint64_t ring_mask;
    uint64_t ring_written;
    uint64_t ring_left; // so many may be written before anybody asks what was read
    uint64_t last_stamp;
    bool ring_given_up; // what does not fit is counted, and nothing waited for
    bool ring_is_own;   // the tool has been taken over from, and
    uint64_t ring_read; // so much of it is in our file
    uint64_t own_lo; // of its own stack, to its end: pages that were all readable, while nothing was unmapped
    uint64_t own_hi;
    struct seep_code_pages code[SEEP_CODE_BLOCKS]; // where returns without a rule lead to: the same
};

// Who has no slot: all zero, as a thread is after a fork. Hooks add to its sample_at, and take nothing off.
extern struct seep_thread seep_nobody __attribute__((visibility("hidden")));

// Where the thread is from seep_nobody on: so that whatever storage is zero, before the loader has made it or
// where it never does, is no thread's, and no hook need ask whether there is a thread.
extern __thread uint64_t seep_self_offset __attribute__((tls_model("initial-exec"), visibility("hidden")));

SEEP_INLINE struct seep_thread *seep_self(void) {
    uint64_t nobody = (uintptr_t)&seep_nobody;
    __asm__("" : "+r"(nobody)); // what is at an offset from it is not it
    return (struct seep_thread *)(nobody + seep_self_offset);
}

// Where off_t and limits have 32 bits, the functions of 64 are functions of their own.
#if defined(__GLIBC__) && SEEP_ARCH_WORD == 4
#define SEEP_NARROW_LIBC 1
#endif

// ---- the process ----------------------------------------------------------------------------------

// Names of the operators: Itanium C++ ABI 5.1.5; in them size_t is an unsigned long (m) or an unsigned int
// (j).
#if SEEP_ARCH_WORD == 8
#define SEEP_CXX_SIZE "m"
#else
#define SEEP_CXX_SIZE "j"
#endif
#define SEEP_CXX_NEW "_Znw" SEEP_CXX_SIZE

struct seep_real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*usable_size)(void *);
    struct { // the same of glibc, by names that nothing stands in front of; NULL with musl
        void *(*malloc)(size_t);
        void (*free)(void *);
        void *(*calloc)(size_t, size_t);
        void *(*realloc)(void *, size_t);
        void *(*memalign)(size_t, size_t);
        void *(*valloc)(size_t);
        void *(*pvalloc)(size_t);
    } libc;
    int (*dlclose)(void *);
    void (*exit_now)(int);
    void (*exit)(int);
    void (*quick_exit)(int);
    void (*abort)(void);
    int (*execv)(const char *, char *const *);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvp)(const char *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*posix_spawn)(pid_t *, const char *, const void *, const void *, char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const void *, const void *, char *const *, char *const *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
#ifdef SEEP_NARROW_LIBC
    void *(*mmap64)(void *, size_t, int, int, int, off64_t);
    int (*setrlimit64)(unsigned, const struct rlimit64 *);
    int (*prlimit64)(pid_t, unsigned, const struct rlimit64 *, struct rlimit64 *);
#endif
    int (*munmap)(void *, size_t);
    int (*mprotect)(void *, size_t, int);
#if SEEP_ARCH_WORD == 8
    int (*madvise)(void *, size_t, int);
#endif
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    int (*setrlimit)(unsigned, const struct rlimit *);
    int (*prlimit)(pid_t, unsigned, const struct rlimit *, struct rlimit *);
    int (*mlockall)(int);
    int (*sigaltstack)(const stack_t *, stack_t *);
    int (*prctl)(int, ...);
    long (*syscall)(long, long, long, long, long, long, long);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(long, const char *, int);
    struct { // NULL, but in a program built with LeakSanitizer
        void (*disable)(void);
        void (*enable)(void);
        void (*ignore_object)(const void *);
        void (*root_add)(const void *, size_t);
        void (*root_remove)(const void *, size_t);
    } lsan;
};

// How far the library is (seep_g.entry); it only goes forward, but a child of fork begins again.
enum { SEEP_ENTRY_FRESH, SEEP_ENTRY_STARTING, SEEP_ENTRY_READY, SEEP_ENTRY_PASSIVE };

struct seep_rule_entry {
    _Atomic uint64_t key; // pc with SEEP_PC_EXACT, 0: free, or SEEP_RULE_DEAD
    uint64_t rule;        // struct seep_rule
    uint64_t frame;
};

#define SEEP_RULE_DEAD UINT64_C(0xdead000000000001) // no address that code can have

struct seep_rule_table {
    uint32_t shift; // 64 - log2(size)
    uint32_t nr_used;
    uint64_t mask;
    struct seep_rule_entry entries[];
};

struct seep_node_table {
    uint32_t bits; // log2(size)
    uint32_t nr_used;
    uint32_t mask;
    uint32_t unused[13];
    _Atomic uint32_t entries[]; // by cache lines; the node, exclusive-or the hash of its path; 0: free
};

// SEEP_MODE of the environment; and the bits of what a line of the log has.
enum seep_mode_of { SEEP_MODE_LIVE, SEEP_MODE_COUNT, SEEP_MODE_LOG, SEEP_MODE_RECORD };
enum { SEEP_LOG_TIME = 1, SEEP_LOG_THREAD = 2, SEEP_LOG_CALLER = 4 };

struct seep_config {
    // Copies: programs that set their title (redis, postgres) write over their first environment.
    char out[1024];   // "" where not given
    char socket[108]; // sun_path's size
    uint32_t depth;
    int dump_signal;
    uint64_t sample_bytes;
    bool age;
    bool free_stacks;
    bool wipe; // SEEP_WIPE
    bool disabled;
    bool ignore_children;
    bool is_ignored; // this process is a child that is to be ignored
    bool scan;       // the tool wants to look at our memory before it is gone
    enum seep_mode_of mode;
    bool drop;            // events that find no room are counted at once
    int log_fd;           // -1: not given
    uint32_t log_columns; // SEEP_LOG_*
};

enum {
    SEEP_SPECIAL_SAMPLING = 1,
    SEEP_SPECIAL_UNDO = 2,
    SEEP_SPECIAL_IGNORED = 4,
    SEEP_SPECIAL_AGE = 8,
    SEEP_SPECIAL_FREED = 16,
    SEEP_SPECIAL_MODE = 32, // not live
    SEEP_SPECIAL_STOPPED = 64,
};

struct seep_loader_object;
struct seep_global {
    // Read on hot paths; written at start and by fork.c only.
    struct seep_real real;
    bool apart; // hooks go apart (hooks_sampled.c): until the constructor has run, and where blocks are
                // sampled
    unsigned char *base; // of the image window
    unsigned char *pages;
    uint32_t *dir;
    struct seep_image_node *nodes;
    struct seep_image_site *sites;
    uint32_t granule_shift;
    uint32_t sub_mask;      // 1 where granules can hold two blocks, else 0
    _Atomic uint32_t depth; // changed by control.c
    uint64_t sample_bytes;  // 0: every allocation is recorded
    uint8_t *filter;        // changed by atomic operations
    _Atomic(struct seep_rule_table *) rules;
    _Atomic(struct seep_node_table *) node_index;
    _Atomic uint32_t unmap_epoch; // grows when memory has been unmapped
    union seep_mode mode;
    _Atomic uint32_t entry; // SEEP_ENTRY_*

    // Cold.
    struct seep_image_header *header;
    struct seep_image_thread *threads;
    struct seep_image_odd *odd;
    _Atomic uint32_t *alive; // in MADV_WIPEONFORK memory: 1 while the image is this process's own; then
                             // whether the handler of fork ran in it
    uint64_t opened[SEEP_AREA_PAGED_NR]; // bytes of each area that are accessible
    // Of the area that is being opened: its bytes, which are whole pages, and its number + 1; 0: none.
    uintptr_t opening;
    uint64_t area_off[SEEP_AREA_PAGED_NR]; // the layout, which is not taken from memory that others can write
    uint64_t area_size[SEEP_AREA_PAGED_NR];
    uint64_t window_bytes;
    uint64_t budget_bytes; // of address space; UINT64_MAX: not limited (image_window.h)
    bool reserved;         // the whole window is mapped
    bool strict_memory;    // pages must be asked for before they are touched
    struct seep_thread **thread_of_slot;
    uint32_t thread_cursor;
    uint64_t stack_start; // with musl: where the kernel began the first thread's stack
    uint64_t musl_rt;     // and where musl's code is
    uint64_t musl_bytes;
    uint64_t program_entry;
    int fd; // of the memory file, until the tool has it; -1
    union {
        struct {
            struct seep_lock image_lock;   // areas, pages
            struct seep_lock tree_lock;    // nodes, sites, node_index
            struct seep_lock rules_lock;   // rules, modules
            struct seep_lock threads_lock; // thread slots
            struct seep_lock odd_lock;
            struct seep_lock map_lock;    // mappings
            struct seep_lock misuse_lock; // misuses
            struct seep_lock log_lock;    // descriptor of the log
            struct seep_lock maps_lock;   // what is read of /proc/self/maps
        };
        struct seep_lock locks[9]; // a hook may be left while it holds them
    };
    struct seep_lock fork_lock;
    const void *found_malloc;               // the real malloc, even while another one stands in for it
    const char *preempted_by;               // module whose malloc is in front of ours, or NULL
    void *(*front_realloc)(void *, size_t); // of that module; NULL: there is none
    void (*front_free)(void *);
    int (*find_object)(void *pc, struct seep_loader_object *ret_object); // glibc's _dl_find_object, or NULL
    bool new_is_malloc; // operator new is libstdc++'s or libc++'s: malloc and nothing else
    bool delete_is_free;
    bool operators_replaced;       // the program or a library defines some; ours behave as the C++ library's
    bool emulated;                 // who answers system calls is no kernel (qemu-user)
    bool handed_over;              // a tool has the image
    bool libc_opened;              // by dlopen: the program may call libc's malloc without our hook
    bool was_stopped;              // there may be blocks that were allocated while recording was stopped
    _Atomic uint64_t control_done; // see control.h
    struct seep_config config;
};

// All that is global to the library. Hidden, so that it is reached without a table.
extern struct seep_global seep_g __attribute__((visibility("hidden")));

// Where a loss is counted, in an image that is there.
SEEP_INLINE uint64_t *seep_lost_place(enum seep_lost reason) {
    return &seep_g.header->lost[reason];
}

// Counts one loss for the reports. Safe in signal handlers, and without an image.
SEEP_INLINE void seep_lost(enum seep_lost reason) {
    if (seep_g.header)
        __atomic_fetch_add(seep_lost_place(reason), 1, __ATOMIC_RELAXED);
}

// confined.c: whether there is a filter of system calls that kills, or may kill, for what this library does;
// `nr_of_tool`: how many the tool itself is under, 0: not known. And: one will be installed.
bool seep_sandbox_kills(uint32_t nr_of_tool);
void seep_filter_is_coming(void);
void seep_place_of_tid_learn(void);
uint32_t seep_tid_of_libc(void); // no system call; 0: not known
// The thread and process whose memory the caller runs in: of a child of vfork, the thread that waits for it.
uint32_t seep_thread_identify(uint32_t *ret_pid);
void seep_private_reserve(void); // private_memory.c
void seep_readable_note(void);   // readable.c
// [start, end) is readable from now on, or no longer is. A known range takes no second place, unless it is
// the rest of a removed range. Returns the place.
uint32_t seep_readable_know(uintptr_t start, uintptr_t end, bool is_rest);
void seep_readable_gone(uint64_t start, uint64_t bytes);
// The program has mapped or unmapped the range: if it is near the first thread's stack, a stack pointer below
// that stack no longer means that all between is readable.
void seep_readable_placed(uint64_t start, uint64_t bytes);
// The program has mapped the range. It is kept only under a filter, where the kernel cannot be asked.
SEEP_INLINE void seep_readable_mapped(uintptr_t start, uint64_t bytes) {
    if (SEEP_UNLIKELY(seep_confined.filtered))
        seep_readable_know(start, (uintptr_t)(start + bytes), false);
}
void seep_readable_under_valgrind(
    void); // which reads a limit by itself, and dies of it where that cannot be read

// start.c: finds the real functions and makes the image, once. true: hooks may record. false: the library is
// passive, or another thread is starting it at this moment; a hook then passes through. Any thread may be the
// first, and needs no guard. Keeps errno, though it calls libc.
bool seep_start(void);
// real_functions.c: fills seep_g.real, and the facts about an allocator before or after ours in the search
// order. Only from seep_start(). It asks the loader, which may call our hooks: the boot allocator serves
// these.
void seep_real_find(void);
// NULL contains nothing.
bool seep_path_contains(const char *path, const char *word);
// settings.c: prints invalid settings on standard error, and takes their defaults. Only from seep_start().
void seep_config_read(struct seep_config *config);

// image.c: the memory file, mapped, with an empty image in it; sets seep_g.fd, base, header and what points
// into the image. false: no such file, or no address space for it: go passive. Only from seep_start().
bool seep_image_create(void);
// image.c: a new image in place of the parent's, in a child of fork. false: it cannot be had.
bool seep_image_create_as_copy(void);
bool seep_image_is_ours(void); // fork.c: there is one and it is this process's own. Anywhere, without a lock
void seep_fork_none_is_ours(void); // and none any more, of our own or of a parent's
// give_up.c: whether any of the image is there; the next piece from *at on that is not the image's, false:
// there is none before `end`; and, before memory is mapped over or moved: where it is the image's, recording
// ends for good, after a wait of 50 ms at most for the hooks that are at work. None takes a lock; the last
// needs no thread.
bool seep_memory_is_ours(uint64_t start, uint64_t bytes);
bool seep_memory_rest(uint64_t *at, uint64_t end, uint64_t *ret_start, uint64_t *ret_bytes);
void seep_memory_goes(uint64_t start, uint64_t bytes);
// Recording ends, and the image is unmapped: where no hook is at work, on any stack.
void seep_memory_gives_way(void);
// image_window.c: makes [0, bytes) of the area accessible. false, and then nothing has changed: beyond the
// size that the area may have or the address space that is left, or a filter of system calls is there. Not
// counted as a loss: only the caller knows of what. With image_lock held; the second takes it where the area
// must grow.
bool seep_area_open(enum seep_area_kind area, uint64_t bytes);
bool seep_area_lock_and_open(enum seep_area_kind area, uint64_t bytes);
// Tells the reader of the image that this memory is the library's (header.own). NULL is none. Without a lock.
// SEEP_IMAGE_OWN_RANGES can be told; what comes after them is the program's in the account.
void seep_own_note(const void *memory, size_t bytes);
// The same for fresh memory: private, zeroed, never freed; or NULL.
void *seep_own_memory(size_t bytes);
// Of `nr_pages` image pages from `from` on, which is aligned to the machine's pages: a byte each, of which
// bit 0 says that the file has the page. false: the kernel does not say.
bool seep_pages_present(const unsigned char *from, uint64_t nr_pages, unsigned char *ret_present);
// The number of the first of as many image pages as hold `bytes`, fresh and zeroed; 0: none. They stay
// taken. Takes image_lock.
uint32_t seep_pages_take(uint64_t bytes);
// Copies `length` bytes into the strings area and puts a 0 behind them. Returns the offset of the copy. 0: no
// room, or 16 KiB or more. Takes image_lock.
uint64_t seep_string(const char *text, size_t length);

// thread.c: the thread, ready to be entered, or NULL: pass through (the loss is counted). `frame`:
// CPU_FRAME() of the function that enters it.
// The thread is not entered yet: its guard is idle, or a longjmp has left a hook, and what that hook left
// unfinished is mended.
struct seep_thread *seep_thread_slow(uint64_t frame);
void seep_thread_has_signal_stack(void); // the calling thread has told the kernel of one, or of none
bool seep_is_on_alternate_stack(void);   // whether a handler of a signal runs there; it makes a system call
// Counters of this thread for the SEEP_CHUNK_SITES sites around `site`. false: no room, which is counted.
// Takes image_lock.
bool seep_counters_chunk(struct seep_thread *thread, uint32_t site);
// Four times the room for frames, slots and walk, which are copied; old pointers into them lead nowhere. The
// memo and the recent stacks are empty after it. false: no memory, or SEEP_MAX_DEPTH is reached; nothing has
// changed.
bool seep_thread_deeper(struct seep_thread *thread);

// fork.c: what a child has lost for its parent's report, in memory that they share and in which nothing is
// but counts by SEEP_LOST_FORK and SEEP_LOST_EXEC. The parent takes them over now and then.
void seep_news_begin(void);
uint64_t seep_news_part(uint64_t *ret_bytes); // where that memory is; 0 bytes: there is none
void seep_news_tell(enum seep_lost reason, uint32_t change);
void seep_news_take(void);

// true: this process has an image of its own now; *ret_made: this thread has made it, and looked for filters.
// `frame`: as of seep_thread_slow().
bool seep_fork_child(uint64_t frame, bool *ret_made);
// Whether this is a child of fork that has no image yet.
bool seep_fork_lacks_image(void);
// Makes the image of a forked child now, before a call that would make it impossible.
void seep_fork_make_image(void);
// The handlers of pthread_atfork: no guard is taken in them.
void seep_fork_prepare(void);
// Ends the making of an image that a handler has left, and unblocks its signals: a program that is executed
// would begin with them blocked.
void seep_fork_end_left(void);
void seep_fork_in_child(void);
uint64_t seep_fork_ns(void);       // CLOCK_MONOTONIC at the fork of this process; UINT64_MAX: not known
uint64_t seep_fork_image_ns(void); // and of when the image is that it copies
// Whether this process is a child of fork, and its handler ran: of a raw clone it does not.
bool seep_fork_was_told(void);

// handshake.c
// Sends the image in seep_g.fd to the tool, and closes that descriptor. `header`: of the image, in a fork
// child not yet in its place. `shared`: the file, where another process may have put its own under that
// number (a child that has its parent's table of descriptors); that one is neither sent nor closed. NULL: no
// other process can.
struct seep_file_id;
void seep_handshake_tool(struct seep_image_header *header, const struct seep_file_id *shared);
// A socket that is connected to the tool, close-on-exec and not blocking, or a negative errno.
int seep_handshake_connect(void);
// The process at the other end of a connected socket; 0: not known.
uint32_t seep_peer_pid(int fd);
// The letter of its state (proc(5)); 0: not known, or there is no such process.
char seep_process_state(uint32_t pid);
// Tells the tool that a process is about to become another program. `flags`: SEEP_NOTICE_*;
// `environment` NULL: an empty one. True: the tool cannot be told, and the image counts it as lost;
// seep_handshake_take_back: it did not come to that.
bool seep_handshake_notice(uint32_t flags, uint32_t pid, const char *path, char *const *environment);
void seep_handshake_take_back(void);

// hooks_exit.c: where ages are kept, a mark "exit" when the program begins to leave, so that what is freed
// from then on can be told apart. By a thread-local destructor of the main thread (`unused` is its object),
// which runs before all exit handlers, or by exit(). Weak: a test has no hooks.
void seep_exit_begins(void *unused) __attribute__((weak));

// hooks_cxx.c: whether the program, or what it loads before us, defines an operator new or delete, or a
// library behind us some of them. `allocator`: the path of malloc's module, or NULL. Weak: as above.
bool seep_operators_replaced(const char *allocator) __attribute__((weak));
// A library was closed: the real operators are looked up again. Weak: as above.
void seep_operators_closed(void) __attribute__((weak));

// start.c: registers our handlers of exit() and quick_exit(), the first time that it is called.
void seep_exit_register(void);

bool seep_quick_exit_begins(
    int status); // start.c: a handler will call seep_at_exit() when all others have run

// dump.c. The folder that the file is in, opened, and the name in it. Negative errno: it is not there, or not
// one that files may be left in: ours, root's, or sticky. The path is cut for a moment: no stack has room for
// another one.
int seep_folder_of(char *path, const char **ret_name);
// A descriptor that stays open while the program runs. The program may close it and open another file under
// its number, so it is checked before each use. Programs close or take over low ones: one that is kept is far
// from them where the limit allows it.
struct seep_file_id {
    uint64_t device;
    uint64_t inode;
};
bool seep_file_identify(int fd, struct seep_file_id *ret_id); // false: not open
// Moves *fd to a high number where the limit allows it, and identifies it. false: not open.
bool seep_file_keep(int *fd, struct seep_file_id *ret_id);
bool seep_file_is(int fd, const struct seep_file_id *id);
// Writes the trace that is left where there is no tool. Nothing while another thread does so, or where the
// image is not this process's own. Needs no thread.
void seep_dump(void);
// Appends a record of events (image/raw.h), with its header, to the dump that is not yet written: so it
// begins. false: it cannot be, now or for ever.
bool seep_dump_events(const void *record, uint64_t nr_bytes, uint64_t nr_events);
void seep_dump_in_child(void);
char *seep_dump_name(void); // SEEP_OUT or the default, for this process; its caller has a lock
#define SEEP_STATUS_UNKNOWN INT32_MIN
void seep_at_exit(int status);
void seep_at_exit_after_all(void); // it may not leave

// exit_wait.c: the process leaves after this; returns when the tool has looked at it.
void seep_park(void);
void seep_park_above(uint64_t sp); // the same, where above `sp` is the program's
void seep_park_at_exit(void);      // the same in the last of all exit handlers
// In a function that has called __builtin_unwind_init: where on the stack the program's memory begins,
// its registers included. Below it old words must not hold the program's blocks. With a frame pointer
// the five other registers that functions preserve are pushed right below it on x86-64; elsewhere all of
// the frame is taken.
#if defined(__x86_64__)
#define SEEP_PARK_PLACE() ((uint64_t)__builtin_frame_address(0) - 5 * sizeof(uint64_t))
#else
#define SEEP_PARK_PLACE() seep_park_place()
uint64_t seep_park_place(void);
#endif
void seep_park_again(void);          // it has parked, and may not leave: the next time counts as well
void seep_park_leaving(uint64_t sp); // exit() was called, above `sp` is the program's

// module.c: what covers `pc`. The object is the module's own memory, readable until the program closes it.
struct seep_module_at {
    struct seep_cfi_object object;
    uint32_t module; // id in the image, 0: table full
    uint64_t bias_rt;
};
// false: no module (JIT code). rules_lock held. A module that the image does not have yet is added to it.
bool seep_module_find(uint64_t pc, struct seep_module_at *ret_at);
// Adds those that the loader has mapped. Only from seep_start(), before there is a second thread.
void seep_modules_at_start(void);
// After a dlclose: marks modules that are gone, drops their rules, and then ends all memos. Takes rules_lock.
void seep_modules_check(void);

#endif
