// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of another process, or of a core file of one: its mappings, and reading them without making
// pages in it. Pages that were never touched are left out: reading would cost time, and reservations of
// terabytes are usual. What should be there and cannot be read is counted.
#ifndef SEEP_SCAN_MEMORY_H
#define SEEP_SCAN_MEMORY_H

#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "scan/shared_data.h"

struct seep_memory_area {
    uint64_t start;
    uint64_t end;
    uint64_t file_off;
    uint64_t present_bytes; // resident or swapped out
    bool was_written;       // it has pages of its own that differ from the file's
    const char *path;       // "" for anonymous memory; "[heap]", "[stack]"; in the arena
    uint64_t device;        // of the file that is mapped
    uint64_t inode;
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    bool has_shared_pages; // pages that are in the page table of another process, too
    bool of_seep;          // memory of libseep.so, or its image
    bool of_monitor;       // a page that is not there comes from another program (userfaultfd)
    enum { SEEP_PAGES_UNKNOWN, SEEP_PAGES_COME, SEEP_PAGES_WAIT } pages; // of its file: see seep_memory_read
};

struct seep_core;

// Of a piece that is read at once. A range of up to SEEP_SHORT_BYTES has no need of a room that is larger
// than most of what small programs have.
#define SEEP_PIECE_BYTES ((size_t)1 << 20)
#define SEEP_SHORT_BYTES ((size_t)256 << 10)

struct seep_memory {
    pid_t pid;
    pid_t tid;                         // whose entries of /proc are read, see seep_live_thread()
    const struct seep_core *core;      // NULL: of the running process
    int pagemap_fd;                    // -1: every page is taken as present
    int mem_fd;                        // -1: only process_vm_readv
    struct seep_memory_area *mappings; // sorted
    size_t nr_mappings;
    size_t capacity;
    unsigned word_bytes; // of a pointer: 8, or 4 in a 32-bit program
    uint64_t read_bytes;
    uint64_t unread_bytes;
    unsigned char *piece; // of seep_memory_walk
    unsigned char *large; // the same, where a range is long; NULL: there was none yet
    struct seep_shared_files shared;
    struct seep_memory_ahead *ahead; // of small mappings that follow one another; NULL: there were none yet
    struct seep_memory_pages *pages; // that were read, see seep_memory_is_still; NULL: none is kept
    struct seep_arena arena;
};

// Reads the list of mappings of the process once; their contents are read later. _close frees it.
SEEP_MUST_CHECK struct seep_error *seep_memory_open(pid_t pid, struct seep_memory **ret_memory);
// Borrows the core. What the core leaves out is mapped and not readable.
SEEP_MUST_CHECK struct seep_error *seep_memory_open_core(const struct seep_core *core,
                                                         struct seep_memory **ret_memory);
void seep_memory_close(struct seep_memory *memory); // takes NULL

// The process is stopped, or a copy: seep_memory_read may keep the pages that it has read.
void seep_memory_is_still(struct seep_memory *memory);

// The mapping that has `address`, or NULL.
const struct seep_memory_area *seep_memory_find(const struct seep_memory *memory, uint64_t address);

// false: not all of it could be read. A page that is not there and may never come (userfaultfd, a file on
// FUSE) is not waited for.
SEEP_MUST_CHECK bool seep_memory_read(const struct seep_memory *memory, uint64_t address, void *ret_bytes,
                                      size_t nr_bytes);

// The same of pointers, widened; `address` need not be aligned.
SEEP_MUST_CHECK bool seep_memory_read_words(const struct seep_memory *memory, uint64_t address,
                                            uint64_t *ret_words, size_t nr);

// The pointer at `bytes`.
static inline uint64_t seep_word_at(const void *bytes, unsigned word_bytes) {
    uint64_t word = 0;
    uint32_t narrow;
    if (word_bytes == sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        return word;
    }
    memcpy(&narrow, bytes, sizeof(narrow));
    return narrow;
}

// Rounded to multiples of a pointer's size.
static inline uint64_t seep_word_up(const struct seep_memory *memory, uint64_t address) {
    return (address + memory->word_bytes - 1) & ~(uint64_t)(memory->word_bytes - 1);
}
static inline uint64_t seep_word_down(const struct seep_memory *memory, uint64_t address) {
    return address & ~(uint64_t)(memory->word_bytes - 1);
}

// Gives what is there in [start, end), in pieces of up to 1 MiB that begin at multiples of a pointer's size
// (as `start` must). `take` returns false to stop; then so does this.
typedef bool (*seep_take_piece)(void *data, uint64_t address, const void *bytes, size_t nr_bytes);
SEEP_MUST_CHECK bool seep_memory_walk(struct seep_memory *memory, uint64_t start, uint64_t end,
                                      seep_take_piece take, void *data);

#endif
