// SPDX-License-Identifier: BSD-2-Clause
//
// The heap image: the memory file that capture writes and the host reads. This header is the one
// contract between the two sides; docs/image-format.md says the same in words. All numbers are in
// the byte order and word size of the traced process, which the header names.
//
// Invariants
//  - The file is sparse and has a fixed size; a page that was never written reads as zero, and zero
//    means "nothing" in every structure here.
//  - Arrays (modules, nodes, sites, threads, strings) only grow. An element is complete before the
//    `used` of its area counts it (release store, acquire load by the reader).
//  - A reader treats all of it as hostile: check every index, offset and count.
//
// The header says how many areas there are, what each holds, where it lies and how long its elements are; so
// readers compute none of it, skip areas that they do not know, and take those that are not there for empty.
#ifndef SEEP_IMAGE_LAYOUT_H
#define SEEP_IMAGE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SEEP_IMAGE_MAGIC   UINT64_C(0x0a474d4950454553) // "SEEPIMG\n", little-endian
#define SEEP_IMAGE_VERSION 2u

// Units: bytes. Pages of the image are this big whatever the page size of the machine is.
#define SEEP_IMAGE_PAGE 4096u

enum seep_area_kind {
    SEEP_AREA_STRINGS,      // `used` bytes of NUL-terminated strings; offset 0 is the empty string
    SEEP_AREA_MODULES,      // `used` elements of struct seep_image_module; id 0 is "no module" (JIT code)
    SEEP_AREA_NODES,        // `used` elements of struct seep_image_node; id 0 is the root of the tree
    SEEP_AREA_SITES,        // `used` elements of struct seep_image_site; id 0 is never used
    SEEP_AREA_THREADS,      // `used` elements of struct seep_image_thread
    SEEP_AREA_ODD,          // `used` elements of struct seep_image_odd; a hash table, holes are zero
    SEEP_AREA_DIR,          // the directory of the heap map, see below
    SEEP_AREA_PAGES,        // pages: leaves of the heap map, counter chunks
    SEEP_AREA_MAPPINGS,     // `used` slots of struct seep_image_mapping; holes have start 0
    SEEP_AREA_MAP_SITES,    // `used` elements of struct seep_image_mapping_site; [0] is the sum of all
    SEEP_AREA_MISUSES,      // `used` slots of struct seep_image_misuse; a hash table, holes are zero
    SEEP_AREA_CUSTOM_POOLS, // `used` slots of struct seep_image_custom_pool; 0 is "no pool"; holes have
                            // born_ns 0
    SEEP_AREA_PIECES,       // `used` slots of struct seep_image_piece; holes have address 0
    SEEP_AREA_REGIONS,      // `used` slots of struct seep_image_region; holes have kind 0
    SEEP_AREA_MARKS,        // `used` bytes: records of struct seep_image_mark, made by the program
    SEEP_AREA_TOOL_MARKS, // the same, made by the tool: the one area that it writes; all of it is accessible
    SEEP_AREA_PAGED_NR,   // those before have pages of their own; what follows lies in the header's
    SEEP_AREA_LOSSES = SEEP_AREA_PAGED_NR, // `used` elements of uint64_t, by enum seep_lost
    SEEP_AREA_NR
};

struct seep_image_area {
    uint64_t off;           // from the start of the file, in bytes
    uint64_t size;          // in bytes: the most it may ever hold
    uint64_t used;          // see enum seep_area_kind; for the pages: how many were handed out
    uint32_t kind;          // enum seep_area_kind
    uint32_t element_bytes; // 1: bytes; of the pages: SEEP_IMAGE_PAGE
};

struct seep_image_range {
    uint64_t start; // 0: none
    uint64_t bytes;
};
#define SEEP_IMAGE_OWN_RANGES 32

// Why an event, a block or a stack was lost. Names for reports: seep_lost_name().
enum seep_lost {
    SEEP_LOST_REENTERED, // a signal handler allocated or freed while a hook of its thread was at work
    SEEP_LOST_NO_SITE, // allocation counted under "(stack not recorded)": tree full or its lock not to be had
    SEEP_LOST_NO_LEAF, // live block not kept: heap map could not grow
    SEEP_LOST_ODD_FULL,     // live block not kept: odd table full
    SEEP_LOST_NO_THREAD,    // event not counted: no slot for its thread
    SEEP_LOST_NO_COUNTERS,  // event not counted: no page for its counters
    SEEP_LOST_FREE_UNSEEN,  // block taken over although its free was never seen (counted as freed)
    SEEP_LOST_FORK,         // child could not make an image of its own: it is not traced
    SEEP_LOST_NO_MODULE,    // frame without a module because the module table is full
    SEEP_LOST_PASSIVE,      // events passed through after seep went passive (lower bound)
    SEEP_LOST_FORK_INEXACT, // blocks inherited by a fork child are as in its parent a little later
    SEEP_LOST_NO_MAPPING,   // mapping not kept, or what is left of one not: table full or its lock not to be
                            // had
    SEEP_LOST_NO_MISUSE,    // wrong release not kept: table full or its lock not to be had
    SEEP_LOST_NO_PIECE,     // piece of a pool not kept: table full or its lock not to be had
    SEEP_LOST_NO_NOTE, // mark, region, pool or name told through seep.h not kept: table full or lock not to
                       // be had
    SEEP_LOST_RING,    // event of the kernel that found no room in the ring buffer
    SEEP_LOST_EXEC,    // program executed from where the tool cannot be told: other user or root, system call
                       // filter
    SEEP_LOST_SWAPPED, // what of an image was swapped out and did not come back in time is not in a copy of
                       // it
    SEEP_LOST_LOG,     // line of a log that could not be written
    SEEP_LOST_EVENT,   // event that found no room in the ring of its thread: counted, and not recorded
    SEEP_LOST_STOPPED, // allocation that came while recording was stopped; also `skipped_allocations` of the
                       // slots where nothing is sampled
    SEEP_LOST_NR = 48
};

// Why a stack is not complete up to the start of its thread.
enum seep_cut {
    SEEP_CUT_NO_CFI,   // code without call-frame information, and the frame pointer led nowhere
    SEEP_CUT_BAD_READ, // the next frame's slot is not readable memory
    SEEP_CUT_BAD_CFI,  // call-frame information that cannot be interpreted
    SEEP_CUT_LOOP,     // the stack pointer did not move outward
    SEEP_CUT_DEPTH,    // deeper than the depth limit (the innermost frames are kept)
    SEEP_CUT_UNREAD,   // code of a file whose call-frame information had not been read yet (no image has it)
    SEEP_CUT_PROBE,    // a return probe of another tracer stands where the return address was
    SEEP_CUT_NR = 8
};

// Through which function a block came to life. Names: seep_via_name().
enum seep_via {
    SEEP_VIA_NONE,
    SEEP_VIA_MALLOC,
    SEEP_VIA_CALLOC,
    SEEP_VIA_REALLOC,
    SEEP_VIA_REALLOCARRAY,
    SEEP_VIA_POSIX_MEMALIGN,
    SEEP_VIA_ALIGNED_ALLOC,
    SEEP_VIA_MEMALIGN,
    SEEP_VIA_VALLOC,
    SEEP_VIA_PVALLOC,
    SEEP_VIA_NEW,
    SEEP_VIA_NEW_ARRAY,
    SEEP_VIA_INHERITED,    // reserved: blocks of a fork parent whose stack is not known
    SEEP_VIA_KERNEL,       // one of the kernel's allocators, which is the innermost frame: never in an image
    SEEP_VIA_OTEL,         // a sample that the program's own allocator told by otel_memory: never in an image
    SEEP_VIA_HEAP_NR = 16, // below: through these a heap block comes to life
    SEEP_VIA_MMAP = 16,    // memory of the other class: struct seep_image_mapping_site counts it
    SEEP_VIA_MREMAP,
    SEEP_VIA_BRK,
    SEEP_VIA_SBRK,
    SEEP_VIA_POOL_ALLOC = 20, // pieces of the program's own pools, told through seep.h: a class of their own
    SEEP_VIA_POOL_RESIZE,
    SEEP_VIA_FAULT,     // pages that were touched here first: told by the kernel, never in an image
    SEEP_VIA_FREE = 24, // 24 + enum seep_release: where a block was freed in the wrong way
    SEEP_VIA_NR = 32
};

// Through which function a block was freed. Names: seep_release_name().
enum seep_release {
    SEEP_RELEASE_FREE,
    SEEP_RELEASE_REALLOC,
    SEEP_RELEASE_DELETE,
    SEEP_RELEASE_DELETE_ARRAY,
    SEEP_RELEASE_IMPLICIT, // its free was never seen, its address was handed out again
    SEEP_RELEASE_NR = 8
};

enum seep_image_state {
    SEEP_STATE_SETUP = 0,
    SEEP_STATE_LIVE = 1,    // counting
    SEEP_STATE_PASSIVE = 2, // gave up; `passive_reason` says why
    SEEP_STATE_EXITED = 3,  // the process left through exit() or _exit()
};

// Why the library traces nothing (SEEP_STATE_PASSIVE). Part of the format: new ones come before NR.
enum seep_passive_reason {
    SEEP_PASSIVE_NONE,
    SEEP_PASSIVE_NO_MEMORY_FILE,
    SEEP_PASSIVE_NO_MAP,
    SEEP_PASSIVE_DISABLED,
    SEEP_PASSIVE_FORK,
    SEEP_PASSIVE_UNMAPPED,
    SEEP_PASSIVE_NR
};

// Facts about the process that change what the numbers mean (bits of header.flags).
#define SEEP_FLAG_PREEMPTED                                                                                  \
    (1u << 0) // the program or an earlier library has its own malloc: it is called instead of ours
#define SEEP_FLAG_FORKED      (1u << 1) // image began as a copy of the fork parent's
#define SEEP_FLAG_STANDALONE  (1u << 2) // no tool took the image over at start
#define SEEP_FLAG_AGES        (1u << 3) // births of blocks are kept, see SEEP_BIRTH_MAKE
#define SEEP_FLAG_FREE_STACKS (1u << 4) // where blocks were freed is kept, see below
#define SEEP_FLAG_CALLS       (1u << 5) // calls are counted and nothing else, see SEEP_SITE_CALLS
#define SEEP_FLAG_EVENTS      (1u << 6) // events are recorded, see image/ring.h
#define SEEP_FLAG_STOPPED     (1u << 7) // allocations are not recorded now, see SEEP_CONTROL_STOPPED
#define SEEP_FLAG_NARROW      (1u << 8) // the heap map is that of a 32-bit process, see below
#define SEEP_FLAG_WAS_STOPPED                                                                                \
    (1u << 9) // recording was stopped at some time: there may be blocks that are not in the map

// header.control: bit 0, allocations are not recorded (releases are: what lived before goes on to be exact);
// the upper half, the depth limit from now on, 0: as it is.
#define SEEP_CONTROL_STOPPED  UINT64_C(1)
#define SEEP_CONTROL_DEPTH(c) ((uint32_t)((c) >> 32))
#define SEEP_CONTROL_MAKE(stopped, depth)                                                                    \
    ((uint64_t)(depth) << 32 | ((stopped) ? SEEP_CONTROL_STOPPED : UINT64_C(0)))
#define SEEP_CONTROL_DEPTH_MOST 16384u

#define SEEP_IMAGE_SIZE_CLASSES 64

// What all sites had at a moment. `dir_page` is the image page where a table of SEEP_CHUNKS_PER_THREAD
// uint32_t image pages begins: chunk i has five uint64_t for each of the sites [i << 10, (i+1) << 10):
// allocations, allocated bytes, frees, freed bytes, temporary blocks, summed over the threads and weighted as
// their counters are.
struct seep_image_peak {
    uint64_t dir_page;
    uint64_t nr_sites;   // sites from here on had nothing
    uint64_t peak_bytes; // the live bytes of the process were as many at most, a little before
    uint64_t at_ns;      // CLOCK_MONOTONIC, or 0: not known
};

// File offset 0. The rest of its SEEP_IMAGE_PAGE is zero.
struct seep_image_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_size; // of the writer: what is before `areas`
    uint8_t byte_order;   // 1 little, 2 big
    uint8_t word_bytes;   // 4 or 8
    uint16_t elf_machine; // EM_* of <elf.h>
    uint32_t flags;       // SEEP_FLAG_*
    uint64_t file_size;   // in bytes
    uint32_t areas_off;   // where the table of areas begins
    uint16_t nr_areas;
    uint16_t area_bytes; // sizeof(struct seep_image_area) of the writer

    uint32_t pid; // as the process itself sees it (its own pid namespace)
    uint32_t ppid;
    uint32_t forked_from; // pid whose image this one began as, or 0
    uint32_t state;       // enum seep_image_state
    uint32_t passive_reason;
    int32_t exit_code; // when state is SEEP_STATE_EXITED: 0..255, or INT32_MIN: not known (abort, musl)
    uint64_t start_realtime_ns; // CLOCK_REALTIME when the image was made
    uint64_t start_ns;          // CLOCK_MONOTONIC at the same moment
    uint64_t end_ns;            // CLOCK_MONOTONIC at exit, or 0

    uint64_t exe_off;          // in the strings area
    uint64_t args_off;         // in the strings area: nr_args strings, one after the other
    uint32_t nr_args;          // those that are kept
    uint32_t nr_args_all;      // those there were
    uint64_t preempted_by_off; // in the strings area: module whose malloc is called instead of ours

    // The heap map, see below.
    uint32_t granule_shift; // 4 or 5, narrow: 3 or 4: log2 of address bytes per entry
    uint32_t leaf_shift;    // log2 of address bytes per leaf
    uint32_t dir_bits;      // the directory has 2 << dir_bits entries, narrow: 1 << dir_bits

    uint32_t depth_limit;  // frames kept per stack
    uint64_t sample_bytes; // 0: every allocation is recorded

    // Atomic, relaxed: written by any thread.
    uint64_t live_bytes_flushed; // sum of what threads flushed of their net bytes
    uint64_t peak_bytes_flushed; // highest value of the above
    uint64_t peak_slack_bytes;   // most by which one thread's unflushed part may differ
    uint64_t cut[SEEP_CUT_NR];   // 0: the reader counts the sites whose stack is cut
    uint64_t reserved;           // 0
    uint64_t nr_thread_starts;   // threads that ever had a slot

    // Private memory of the library, beside that of the thread slots, as far as there is room.
    struct seep_image_range own[SEEP_IMAGE_OWN_RANGES];

    // Atomic, relaxed: pools and pieces that the program told of.
    uint64_t pools_created;
    uint64_t pools_destroyed;
    uint64_t unknown_piece_frees; // pieces freed that were never seen

    // Libraries whose calls go past us: names of the first in the strings area (0: no room), and how many
    // times one was asked for.
    uint64_t deep_bound_off; // dlopen with RTLD_DEEPBIND
    uint64_t namespace_off;  // dlmopen into another namespace
    uint32_t nr_deep_bound;  // atomic, relaxed
    uint32_t nr_namespaces;

    // Where address space is limited (RLIMIT_AS): what the image takes of it, and may take at most.
    uint64_t space_bytes; // 0: not limited
    uint64_t space_most_bytes;
    // Of allocations and their bytes: live blocks that a fork child began with. Weighted where these are.
    uint64_t inherited_blocks;
    uint64_t inherited_bytes;
    uint64_t copied_ns; // CLOCK_MONOTONIC when the library wrote this to a file; 0: it has not
    // What the sites had at the latest peak that is over: at_peak[at_peak_which - 1]; 0: there was none.
    struct seep_image_peak at_peak[2];
    uint64_t at_peak_which;
    uint64_t ring_dir_page; // with SEEP_FLAG_EVENTS: where the rings of thread slots are, see image/ring.h
    uint64_t ring_beat;     // written by the tool: grows as long as it takes events
    uint64_t ring_stamp;    // with SEEP_FLAG_EVENTS: a stamp, and CLOCK_MONOTONIC of the same moment
    uint64_t ring_stamp_ns;
    uint64_t copied_stamp; // the stamp of copied_ns
    uint64_t control;      // written by the tool: what it wants, see SEEP_CONTROL_STOPPED
    uint64_t control_done; // of that, what the library does now

    // At areas_off, and the area of losses: readers do not rely on where they are. New fields go before them.
    struct seep_image_area areas[SEEP_AREA_NR];
    uint64_t lost[SEEP_LOST_NR]; // atomic, relaxed
};
// What the first writers of this version had.
#define SEEP_IMAGE_HEADER_LEAST 936u

// Owner: the whole struct is written once, except unloaded_ns.
struct seep_image_module {
    uint64_t path_off; // in the strings area
    uint64_t bias_rt;  // run-time address minus ELF virtual address
    uint64_t start_rt; // mapped range
    uint64_t end_rt;
    uint64_t first_seen_ns; // CLOCK_MONOTONIC
    uint64_t unloaded_ns;   // CLOCK_MONOTONIC, 0 while mapped
    uint32_t build_id_bytes;
    uint8_t build_id[44]; // longer ones are cut
};

// A frame in 64 bits: module in the high 16, then one bit "exact", then 47 bits of offset.
// offset is the ELF virtual address (run-time address minus bias) of the return address; where
// "exact" is set (a frame that a signal interrupted) of the instruction itself. Look a return
// address up at offset-1. With module 0 the offset is the run-time address.
#define SEEP_FRAME_OFFSET(f) ((f) & ((UINT64_C(1) << 47) - 1))
#define SEEP_FRAME_EXACT(f)  ((unsigned)((f) >> 47) & 1u)
#define SEEP_FRAME_MODULE(f) ((uint32_t)((f) >> 48))
#define SEEP_FRAME_MAKE(module, exact, offset)                                                               \
    ((uint64_t)(module) << 48 | (uint64_t)((exact) ? 1 : 0) << 47 | ((offset) & ((UINT64_C(1) << 47) - 1)))

// The stack tree. Node 0 is the root and has no frame. A path that begins at a child of the root
// whose frame is SEEP_FRAME_CUT(reason) is a stack that is not complete; the reason is enum seep_cut.
struct seep_image_node {
    uint64_t frame;
    uint32_t parent; // always smaller than the node's own id
    uint32_t site;   // first site of this stack, or 0; the others follow through site.next
};
#define SEEP_FRAME_CUT(reason) (UINT64_C(0xffff) << 48 | (uint64_t)(reason))
#define SEEP_FRAME_IS_CUT(f)   (SEEP_FRAME_MODULE(f) == 0xffff)

// Site 1 always exists and means "(stack not recorded)": node 0.
struct seep_image_site {
    uint32_t node;
    uint32_t via;      // enum seep_via
    uint32_t next;     // next site of the same node, or 0
    uint32_t map_site; // its element of SEEP_AREA_MAP_SITES, or 0
};
#define SEEP_SITE_UNKNOWN 1u
// With SEEP_FLAG_CALLS: the site of all that came through one function; its node is 0. Whose block was given
// back is not known: the frees are counted at SEEP_SITE_UNKNOWN, and their bytes nowhere.
#define SEEP_SITE_CALLS(via) (SEEP_SITE_UNKNOWN + (via))

// What one thread slot counted for one site. One cache line; only the slot's thread writes.
// The sum over all slots is the truth; a single slot may have more frees than allocations.
// Where header.sample_bytes is not 0 these are estimates (image/sample.h): bytes are weighted,
// allocations, frees and temporary are weighted and in units of 1/1024, and peak_bytes is the number
// of recorded allocations instead.
struct seep_image_counters {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t temporary;  // blocks freed by the thread's very next heap operation; and SEEP_RELEASE_OK bits
    uint64_t peak_bytes; // highest (allocated - freed) seen by this slot; never below 0
    uint64_t size_min_inverted; // ~smallest requested size, so that zero means "none yet"
    uint64_t size_max;
};

// High bits of `temporary`: this thread has found that blocks of the site may be freed so.
// (Bit 63 costs the check of free() one branch on the sign that the addition leaves.)
#define SEEP_RELEASE_OK(release)                                                                             \
    ((release) == SEEP_RELEASE_DELETE         ? UINT64_C(1) << 62                                            \
     : (release) == SEEP_RELEASE_DELETE_ARRAY ? UINT64_C(1) << 61                                            \
                                              : UINT64_C(1) << 63)
#define SEEP_TEMPORARY(value) ((value) & ((UINT64_C(1) << 61) - 1))

#define SEEP_CHUNK_SITES_SHIFT 10u // sites per counter chunk
#define SEEP_CHUNK_SITES       (1u << SEEP_CHUNK_SITES_SHIFT)
#define SEEP_MAX_SITES         (1u << 24)
#define SEEP_CHUNKS_PER_THREAD (SEEP_MAX_SITES / SEEP_CHUNK_SITES)

// A thread slot. Slots are reused when their thread has ended: `nr_owners` says by how many.
struct seep_image_thread {
    uint32_t tid; // of the latest owner, 0: the slot is being set up
    uint32_t nr_owners;
    char name[16];           // of the latest owner, as last looked at
    uint64_t start_ns;       // of the latest owner, CLOCK_MONOTONIC
    uint64_t chunk_dir_page; // image page where its table of SEEP_CHUNKS_PER_THREAD uint32_t image
                             // pages begins: chunk i has the counters of sites [i << 10, (i+1) << 10)
    // What this slot allocated minus what it freed is
    //     min(peak_bytes, flushed_bytes + header.peak_slack_bytes) - net_room
    int64_t net_room;
    int64_t flushed_bytes;  // the part of it that is in header.live_bytes_flushed
    int64_t peak_bytes;     // the highest it ever was: the program's exact peak while there is only one slot
    uint64_t unknown_frees; // frees of blocks that were never seen
    uint64_t releases[SEEP_RELEASE_NR]; // but free: the rest of all frees; weighted where those are
    uint64_t failed;                    // allocations that returned NULL
    // Only where header.sample_bytes is not 0: what was not recorded, and what was, unweighted.
    uint64_t skipped_allocations;
    uint64_t skipped_bytes;
    uint64_t skipped_frees; // blocks that were not recorded
    uint64_t sampled_allocations;
    uint64_t sampled_bytes;
    uint64_t sampled_frees;
    uint64_t size_class[SEEP_IMAGE_SIZE_CLASSES]; // allocations by bit length of the size: [0] is size 0, [n]
                                                  // 2^(n-1) <= size < 2^n, last: all above
    // Of the latest owner.
    uint64_t stack_rt;              // an address on its stack
    struct seep_image_range own[2]; // private memory of the library
    // A realloc at work: the block that it was given, which the heap map has no more. What is in it may
    // already lie elsewhere. moving_bytes is its size, or 0: not known (yet).
    uint64_t moving_rt; // 0: none
    uint64_t moving_bytes;
    // The start of its alternate signal stack, which only the kernel knows; 0: none. In its lowest bit
    // SEEP_SLOT_NAMED, in its highest 16 bits how many times 1 KiB the stack has at least.
    uint64_t signal_stack_rt;
};
#define SEEP_SLOT_NAMED               UINT64_C(1) // the program named the work of the thread, and `name` is that
#define SEEP_SIGNAL_STACK_SIZE_SHIFT  48
#define SEEP_SIGNAL_STACK_SIZE(bytes) ((uint64_t)((bytes) / 1024) << SEEP_SIGNAL_STACK_SIZE_SHIFT)
#define SEEP_SIGNAL_STACK_START(rt)                                                                          \
    ((rt) & ((UINT64_C(1) << SEEP_SIGNAL_STACK_SIZE_SHIFT) - 1) & ~SEEP_SLOT_NAMED)
#define SEEP_SIGNAL_STACK_BYTES(rt) (((rt) >> SEEP_SIGNAL_STACK_SIZE_SHIFT) * 1024) // 0: not known

// The heap map: block address to (site, size). For a block at address a, 8-byte aligned, with
// a >> leaf_shift < 1 << dir_bits and size < 1 << SEEP_ENTRY_SIZE_BITS:
//   plane = (a >> 3) & 1
//   leaf  = dir[(a >> leaf_shift) << 1 | plane], an image page number as uint32_t; 0: no leaf
//   entry = ((uint64_t *)image_page(leaf))[(a & (leaf size - 1)) >> granule_shift]
// where granule_shift is 5 the entry's "sub" bit is bit 4 of a. (glibc's blocks are at least 32
// bytes apart, so one entry per 32 bytes is enough; other allocators get one per 16, and the second
// plane takes the blocks of 8 bytes that jemalloc, mimalloc and tcmalloc place at odd multiples of 8.)
// With SEEP_FLAG_NARROW, where blocks of glibc are at least 16 bytes apart, there is one plane, and all else
// is half of that: dir[a >> leaf_shift], granule_shift is 3 or 4, and with 4 "sub" is bit 3. Its processes
// write an entry as two words: the low one, then the high one with the site; they end a block with the high
// one first. Where the entry's site is 0 there is no live block; what else is in it is then the site of the
// block that was freed last (or 0: none ever was), so that a second free can be told. All other blocks are in
// the odd table, and so are all recorded blocks where header.sample_bytes is not 0.
#define SEEP_ENTRY_SIZE_BITS  37
#define SEEP_ENTRY_SUB_BIT    37
#define SEEP_ENTRY_SITE_SHIFT 38
#define SEEP_ENTRY_MAKE(site, sub, size)                                                                     \
    ((uint64_t)(site) << SEEP_ENTRY_SITE_SHIFT | (uint64_t)(sub) << SEEP_ENTRY_SUB_BIT | (size))
#define SEEP_ENTRY_SITE(e)    ((uint32_t)((e) >> SEEP_ENTRY_SITE_SHIFT))
#define SEEP_ENTRY_IS_LIVE(e) (SEEP_ENTRY_SITE(e) != 0)
#define SEEP_ENTRY_SUB(e)     ((e) >> SEEP_ENTRY_SUB_BIT & 1)
#define SEEP_ENTRY_SIZE(e)    ((e) & ((UINT64_C(1) << SEEP_ENTRY_SIZE_BITS) - 1))

// Blocks that the heap map cannot hold. address 0: hole.
struct seep_image_odd {
    uint64_t address;
    uint64_t size;
    uint64_t site;
    uint64_t birth; // SEEP_BIRTH_MAKE, or 0: not kept
};
#define SEEP_ODD_SLOTS 65536u

// The second plane, with SEEP_FLAG_AGES: behind the entries of a leaf as many births, each that of the entry
// so many places before it. It means something only where the entry has a live block.
#define SEEP_BIRTH_THREAD_SHIFT     48
#define SEEP_BIRTH_MAKE(thread, us) ((uint64_t)(thread) << SEEP_BIRTH_THREAD_SHIFT | (us))
#define SEEP_BIRTH_THREAD(b)        ((uint32_t)((b) >> SEEP_BIRTH_THREAD_SHIFT))           // slot
#define SEEP_BIRTH_US(b)            ((b) & ((UINT64_C(1) << SEEP_BIRTH_THREAD_SHIFT) - 1)) // CLOCK_MONOTONIC, in us
// The second plane with SEEP_FLAG_EVENTS, which excludes the others: the stamp of the latest event at the
// address. The last plane, with SEEP_FLAG_FREE_STACKS: behind the entries, and the births where there are, as
// many releases. One means something only where the entry has no live block: SEEP_ENTRY_MAKE of the site
// where the block was freed (via 24 + enum seep_release), of its own sub and size; 0: not known.

// Memory that the program mapped by itself: mmap, mremap, brk, sbrk. Slots are in no order and do not
// overlap; one is written with `start` last and ended with `start` first. What munmap, mremap or a
// mapping in its place takes out of the middle leaves two.
struct seep_image_mapping {
    uint64_t start; // 0: hole
    uint64_t bytes;
    uint32_t site;
    uint32_t kind;    // SEEP_MAPPING_*
    uint64_t born_ns; // CLOCK_MONOTONIC
};
#define SEEP_MAPPING_FILE     (1u << 0) // of a file, else anonymous
#define SEEP_MAPPING_SHARED   (1u << 1)
#define SEEP_MAPPING_RESERVED (1u << 2) // without access when it was made
#define SEEP_MAPPING_STACK    (1u << 3) // the program said so: MAP_STACK, MAP_GROWSDOWN
#define SEEP_MAPPING_BREAK    (1u << 4) // of brk and sbrk
#define SEEP_MAPPING_SLOTS    65536u    // what Linux lets a process have by default (vm.max_map_count) fits

// What was mapped at a site. Element 0 is the sum.
struct seep_image_mapping_site {
    uint32_t site;
    uint32_t reserved;
    uint64_t maps; // calls that made memory appear
    uint64_t mapped_bytes;
    uint64_t unmaps; // calls that took memory of the site away, or a part of it
    uint64_t unmapped_bytes;
    uint64_t peak_bytes; // highest mapped - unmapped
};
#define SEEP_MAP_SITES 16384u

// Blocks that were freed in a wrong way.
enum seep_misuse {
    SEEP_MISUSE_NONE,
    SEEP_MISUSE_MISMATCH,    // through the function of another family: new[] by free
    SEEP_MISUSE_DOUBLE_FREE, // freed before, and its address not handed out again
    SEEP_MISUSE_INSIDE,      // not the start of a block, but an address inside a live one
    SEEP_MISUSE_STACK,       // on the stack of the thread that freed it: no site
    SEEP_MISUSE_STATIC,      // in the static memory of a module: no site
    SEEP_MISUSE_WILD,        // where there is no memory: no site
    SEEP_MISUSE_NR
};
struct seep_image_misuse {
    uint32_t kind;         // enum seep_misuse; 0: hole
    uint32_t site;         // where the block came from
    uint32_t release_site; // where it was freed, through 24 + enum seep_release
    uint32_t first_site;   // double free: where it was freed first; 0: not known
    uint64_t count;
    uint64_t address; // of the first
    uint64_t size;    // of the first; 0: not known
};
#define SEEP_MISUSE_SLOTS 4096u

// Pools of the program and the pieces they gave out, as told through seep.h. A piece lies inside a
// block or a mapping, so none of it is in the figures of those: what was counted at the sites of
// SEEP_VIA_POOL_* is of this class.
struct seep_image_custom_pool {
    uint64_t handle;   // the address that the program knows it by
    uint64_t name_off; // in the strings area; 0: no name
    uint64_t born_ns;  // CLOCK_MONOTONIC; 0: hole
    uint32_t site;     // where it was made
    uint32_t first;    // slot of one of its pieces; 0: it has none
};
#define SEEP_CUSTOM_POOLS (1u << 20)

// Written with `address` last and ended with `address` first.
struct seep_image_piece {
    uint64_t address; // 0: hole
    uint64_t bytes;
    uint64_t born_ns; // CLOCK_MONOTONIC; 0: not kept
    uint32_t site;
    uint32_t pool; // slot of its pool, 0: none
    uint32_t next; // slot of the next piece of the pool, or of the next hole; 0: none
    uint32_t previous;
};
#define SEEP_PIECES (1u << 25)

// What the program said about memory, for the scan.
enum seep_region_kind {
    SEEP_REGION_NONE,
    SEEP_REGION_IGNORED, // the live block at `start` is no leak, nor is what it leads to; bytes is 0
    SEEP_REGION_ROOT,    // [start, start + bytes) is searched for pointers as the globals are
    // In a child of another thread than the first one: start is the stack pointer that the first one, which
    // the child does not have, had at the fork. What is below it holds nothing; bytes is 0.
    SEEP_REGION_FIRST_STACK,
};
struct seep_image_region {
    uint64_t start;
    uint64_t bytes;
    uint32_t kind; // enum seep_region_kind; 0: hole
    uint32_t reserved;
};
#define SEEP_REGIONS 65536u

// A moment with a name. The record: this, the name, then, where counts_bytes is not 0, for each site that
// had allocated anything, by id: unsigned LEB128 of its id minus that of the one before (0 before the
// first), allocations, allocated bytes, frees, freed bytes, temporary; in units of the counters.
struct seep_image_mark {
    uint32_t bytes; // of the whole record, a multiple of 8
    uint32_t tid;   // of the thread that made it; 0: the tool
    uint64_t at_ns; // CLOCK_MONOTONIC
    uint32_t name_bytes;
    uint32_t counts_bytes;
    uint64_t is_counted; // 1; with 0 and no counts there was no room for them
};
#define SEEP_MARK_NAME_MAX 255u

// The shape of an image's heap map, by its header.flags.
#define SEEP_MAP_PLANE_SHIFT(flags)      ((flags)&SEEP_FLAG_NARROW ? 0u : 1u) // log2 of the planes
#define SEEP_MAP_SUB_SHIFT(flags)        ((flags)&SEEP_FLAG_NARROW ? 3u : 4u) // the bit of addresses
#define SEEP_MAP_HAS_SUB(flags, granule) ((granule) == SEEP_MAP_SUB_SHIFT(flags) + 1)

// The same on all CPUs: nothing has padding, though some (i386) would not align 64 bits to 8 bytes. Of the
// others the size says as much.
#define SEEP_AT(of, field, off)                                                                              \
    _Static_assert(offsetof(struct seep_image_##of, field) == (off), "wire offset")
SEEP_AT(header, file_size, 24);
SEEP_AT(header, pid, 40);
SEEP_AT(header, start_realtime_ns, 64);
SEEP_AT(header, exe_off, 88);
SEEP_AT(header, preempted_by_off, 112);
SEEP_AT(header, granule_shift, 120);
SEEP_AT(header, sample_bytes, 136);
SEEP_AT(header, cut, 168);
SEEP_AT(header, own, 248);
SEEP_AT(header, pools_created, 760);
SEEP_AT(header, deep_bound_off, 784);
SEEP_AT(header, space_bytes, 808);
SEEP_AT(header, at_peak, 848);
SEEP_AT(header, ring_dir_page, 920);
SEEP_AT(header, control_done, 968);
SEEP_AT(header, areas, 976);
SEEP_AT(thread, start_ns, 24);
SEEP_AT(thread, net_room, 40);
SEEP_AT(thread, unknown_frees, 64);
SEEP_AT(thread, failed, 136);
SEEP_AT(thread, size_class, 192);
SEEP_AT(thread, stack_rt, 704);
SEEP_AT(thread, moving_rt, 744);
SEEP_AT(module, build_id_bytes, 48);
#undef SEEP_AT
_Static_assert(sizeof(struct seep_image_area) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_custom_pool) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_piece) == 40, "wire size");
_Static_assert(sizeof(struct seep_image_region) == 24, "wire size");
_Static_assert(sizeof(struct seep_image_mark) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_mapping) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_mapping_site) == 48, "wire size");
_Static_assert(sizeof(struct seep_image_misuse) == 40, "wire size");
_Static_assert(sizeof(struct seep_image_module) == 96, "wire size");
_Static_assert(sizeof(struct seep_image_node) == 16, "wire size");
_Static_assert(sizeof(struct seep_image_site) == 16, "wire size");
_Static_assert(sizeof(struct seep_image_counters) == 64, "one cache line");
_Static_assert(sizeof(struct seep_image_odd) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_header) <= SEEP_IMAGE_PAGE, "the header fits its page");
_Static_assert(sizeof(struct seep_image_peak) == 32, "wire size");
_Static_assert(sizeof(struct seep_image_range) == 16, "wire size");
_Static_assert(offsetof(struct seep_image_header, areas) >= SEEP_IMAGE_HEADER_LEAST, "the header only grows");
_Static_assert(sizeof(struct seep_image_thread) == 768, "wire size");

#endif
