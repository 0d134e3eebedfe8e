// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The walk of a user stack by call-frame information, inside the kernel. User space has turned the
// information of every mapped object into rows of 8 bytes (image/bpf_events.h); a step finds the mapping
// of the pc, then by the page index and a binary search its row, and leaves the frame as the row says.
// Code without rows (JIT) is left by its frame pointer. Where a return probe has replaced a return
// address, the kernel's own list of such calls has the real one.
//
// Loops are bpf_loop: a plain bounded loop is walked by the verifier iteration by iteration. Invariant:
// `stack.nr_frames` < SEEP_BPF_FRAMES_MAX.
#ifndef SEEP_BPF_UNWIND_BPF_H
#define SEEP_BPF_UNWIND_BPF_H

#include "bpf/tables.bpf.h"

enum seep_asks {
    SEEP_ASKS_NOT,
    SEEP_ASKS_REST, // about addresses outside of the known mappings
    SEEP_ASKS_ALL,  // about all addresses: the known mappings may be out of date
};

// Where code is looked up. Without pointers in it, so that the functions that do so can be global: the
// verifier then looks at each of them once, not at every call. Old kernels look at them even where no program
// calls them, so they ask themselves whether bpf_loop is there.
struct seep_place {
    uint64_t seed;  // of stack ids: from the process and its generation
    uint32_t first; // of the process's mappings
    uint32_t nr;
    uint32_t asks; // the kernel: enum seep_asks
    uint32_t reserved;
    struct seep_bpf_mapping mapping; // of the latest address
};

// Passed to global functions too. No padding: older verifiers take it for uninitialised memory.
struct seep_walk {
    uint64_t first_pc; // where it begins
    uint64_t first_sp;
    uint64_t first_bp;
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    uint64_t hash;
    uint64_t unknown_pc; // the first that had no row; 0: all had one
    uint64_t
        unread; // it met code of this file (seep_id_of) that is not read yet, after nr_known frames; or 0
    uint64_t unknown_sp; // of that frame
    uint64_t unknown_bp;
    uint32_t nr_known; // frames up to that one
    uint32_t generation;
    bool first_exact;
    bool exact;
    bool cut;
    uint8_t reason; // enum seep_cut
    bool unknown_exact;
    uint8_t reserved[3];
    struct seep_place place;
};

struct seep_walker {
    struct seep_bpf_thread *thread;
    struct seep_walk walk;
};

struct seep_search {
    uint64_t address;
    uint32_t
        low; // the element sought is below `high`, the count of those at or below `address` at least `low`
    uint32_t high;
};

static long seep_search_mapping(uint32_t i, void *context) {
    struct seep_search *search = context;
    if (search->low >= search->high)
        return 1;
    uint32_t middle = search->low + (search->high - search->low) / 2;
    const struct seep_bpf_mapping *mapping = bpf_map_lookup_elem(&seep_mappings, &middle);
    if (!mapping)
        return 1;
    if (mapping->start <= search->address)
        search->low = middle + 1;
    else
        search->high = middle;
    return 0;
}

static long seep_search_row(uint32_t i, void *context) {
    struct seep_search *search = context;
    if (search->low >= search->high)
        return 1;
    uint32_t middle = search->low + (search->high - search->low) / 2;
    const uint64_t *row = bpf_map_lookup_elem(&seep_rows, &middle);
    if (!row)
        return 1;
    if (SEEP_BPF_ROW_ADDRESS(*row) <= search->address)
        search->low = middle + 1;
    else
        search->high = middle;
    return 0;
}

struct seep_area {
    uint64_t start;
    uint64_t end;
    struct seep_bpf_file file;
    struct dentry *dentry;
};

// As /proc/PID/maps tells it. Of a file in an overlay the kernel maps the one below it: a backing file. These
// are not accounted, as few others are, and the bit that says so was never another one. Source: Linux
// fs/file_table.c (backing_file), include/linux/fs.h (file_user_inode), from 6.8 on.
static inline bool seep_is_backing(struct file *file) {
    return bpf_core_field_exists(struct backing_file, user_path) &&
           BPF_CORE_READ(file, f_mode) & SEEP_FMODE_NOACCOUNT;
}

static inline struct inode *seep_inode_of(struct file *file) {
    const struct backing_file *backing = (const struct backing_file *)file;
    return seep_is_backing(file) ? BPF_CORE_READ(backing, user_path.dentry, d_inode)
                                 : BPF_CORE_READ(file, f_inode);
}

static inline struct dentry *seep_dentry_of(struct file *file) {
    const struct backing_file *backing = (const struct backing_file *)file;
    return seep_is_backing(file) ? BPF_CORE_READ(backing, user_path.dentry)
                                 : BPF_CORE_READ(file, f_path.dentry);
}

static long seep_copy_area(struct task_struct *task, struct vm_area_struct *vma, void *context) {
    struct seep_area *area = context;
    if (!vma->vm_file)
        return 0;
    area->start = vma->vm_start;
    area->end = vma->vm_end;
    area->file.page_off = vma->vm_pgoff;
    struct inode *inode = seep_inode_of(vma->vm_file);
    area->file.inode = BPF_CORE_READ(inode, i_ino);
    area->file.device = BPF_CORE_READ(inode, i_sb, s_dev);
    area->dentry = seep_dentry_of(vma->vm_file);
    return 0;
}

// What the kernel has mapped at `pc`, for a process whose mappings user space does not know yet. It is told,
// because the process may be gone when it looks.
static inline bool seep_ask_kernel(struct seep_place *place, uint64_t pc) {
    struct seep_area area = {0};
    bpf_find_vma(bpf_get_current_task_btf(), pc, seep_copy_area, &area, 0);
    if (!area.end)
        return false;
    const struct seep_bpf_file_code *code = bpf_map_lookup_elem(&seep_files, &area.file);
    if (!code)
        return false;
    place->mapping = (struct seep_bpf_mapping){.start = area.start,
                                               .end = area.end,
                                               .base = area.start + code->base,
                                               .first_page = code->first_page,
                                               .nr_pages = code->nr_pages};
    uint64_t id = (place->seed ^ area.start) * UINT64_C(0x9e3779b97f4a7c15);
    if (bpf_map_lookup_elem(&seep_seen, &id))
        return true;
    struct seep_bpf_code *told = bpf_ringbuf_reserve(&seep_events, sizeof(*told), 0);
    if (!told) {
        seep_count_lost(SEEP_BPF_LOST_OTHER);
        return true;
    }
    seep_fill_event(&told->event, SEEP_BPF_CODE, 0, area.start);
    told->end = area.end;
    told->file = area.file;
    bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
    uint32_t one = 1;
    bpf_map_update_elem(&seep_seen, &id, &one, BPF_ANY);
    return true;
}

__noinline int seep_find_mapping(struct seep_place *place, uint64_t pc) {
    if (!place || !seep_unwind_cfi)
        return false;
    if (pc >= place->mapping.start && pc < place->mapping.end)
        return true;
    struct seep_search search = {.address = pc, .low = place->first, .high = place->first + place->nr};
    if (seep_find_vma && place->asks == SEEP_ASKS_ALL)
        search.high = search.low;
    bpf_loop(13, seep_search_mapping, &search, 0);
    uint32_t last = search.low - 1;
    const struct seep_bpf_mapping *mapping = bpf_map_lookup_elem(&seep_mappings, &last);
    if (search.low > place->first && mapping && pc < mapping->end) {
        place->mapping = *mapping;
        return true;
    }
    return seep_find_vma && place->asks && seep_ask_kernel(place, pc);
}

static __always_inline void seep_fill_names(char (*names)[SEEP_BPF_NAME_BYTES], struct dentry *dentry) {
    for (uint32_t i = 0; i < SEEP_BPF_NAMES_MAX; i++) {
        names[i][0] = 0;
        struct dentry *parent = dentry ? BPF_CORE_READ(dentry, d_parent) : NULL;
        if (parent && parent != dentry)
            bpf_probe_read_kernel_str(names[i], SEEP_BPF_NAME_BYTES, BPF_CORE_READ(dentry, d_name.name));
        dentry = parent == dentry ? NULL : parent;
    }
}

// Tells which file the stack `id` was cut in: it may be closed again before user space looks.
__noinline int seep_tell_unread(uint64_t pc, uint64_t id) {
    if (!seep_unwind_cfi || !seep_find_vma || bpf_map_lookup_elem(&seep_seen, &id))
        return 0;
    struct seep_area area = {0};
    bpf_find_vma(bpf_get_current_task_btf(), pc, seep_copy_area, &area, 0);
    struct seep_bpf_unread *told = area.end ? bpf_ringbuf_reserve(&seep_events, sizeof(*told), 0) : NULL;
    if (!told)
        return 0; // its frame has no name then
    seep_fill_event(&told->event, SEEP_BPF_UNREAD, 0, id);
    told->start = area.start;
    told->end = area.end;
    told->file = area.file;
    seep_fill_names(told->names, area.dentry);
    bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
    return 0;
}

// The row of the pc; 0 (kind SEEP_ROW_NONE): there is none.
__noinline uint64_t seep_find_row(struct seep_place *place, uint64_t pc) {
    if (!place || !seep_unwind_cfi)
        return 0;
    if (!seep_find_mapping(place, pc) || pc < place->mapping.base)
        return 0;
    uint64_t offset = pc - place->mapping.base;
    uint64_t page = offset >> SEEP_BPF_PAGE_SHIFT;
    if (page >= place->mapping.nr_pages)
        return 0;
    uint32_t at = place->mapping.first_page + (uint32_t)page;
    const uint64_t *low = bpf_map_lookup_elem(&seep_index, &at);
    at++;
    const uint64_t *high = bpf_map_lookup_elem(&seep_index, &at);
    if (!low || !high)
        return 0;
    struct seep_search search = {.address = offset, .low = (uint32_t)*low, .high = (uint32_t)*high};
    bpf_loop(12, seep_search_row, &search, 0);
    if (!search.low)
        return 0;
    uint32_t last = search.low - 1;
    const uint64_t *row = bpf_map_lookup_elem(&seep_rows, &last);
    return row && SEEP_BPF_ROW_ADDRESS(*row) <= offset ? *row : 0;
}

enum { EBUSY_NR = 16 };
#define SEEP_UNREAD_BUSY 1
#define SEEP_READING_MS  2000u

// The number of a file that is mapped at `pc` and whose tables user space has not sent yet. 0: there is none.
// 1: not known, because the kernel is changing the mappings, or the file has become known since the search
// for its row.
__noinline uint64_t seep_unread_at(struct seep_place *place, uint64_t pc) {
    if (!place || !seep_unwind_cfi || !seep_find_vma)
        return 0;
    struct seep_area area = {0};
    if (seep_find_mapping(place, pc))
        return SEEP_BPF_ROW_KIND(seep_find_row(place, pc)) != SEEP_ROW_NONE;
    if (bpf_find_vma(bpf_get_current_task_btf(), pc, seep_copy_area, &area, 0) == -EBUSY_NR)
        return SEEP_UNREAD_BUSY;
    return area.end ? (area.file.inode ^ area.file.device << 40) * UINT64_C(0x9e3779b97f4a7c15) | 1 : 0;
}

// Where the row of this address is kept. Two threads never share it, and it is the same row as long as no
// code went; while the loader is at work, or where the process is not known yet, nothing is kept.
static __always_inline struct seep_bpf_known_row *seep_known_row(struct seep_bpf_thread *thread,
                                                                 uint64_t address) {
    uint32_t at = (uint32_t)(address ^ address >> 9) & (SEEP_KNOWN_ROWS - 1);
    barrier_var(at); // the verifier must see the bound
    return &thread->rows[at & (SEEP_KNOWN_ROWS - 1)];
}

static __always_inline bool seep_row_is_known(const struct seep_walk *walk,
                                              const struct seep_bpf_known_row *known, uint64_t address) {
    return known->address == address && known->generation == walk->generation && !walk->place.asks;
}

// As seep_find_row, but for the address in it.
static __always_inline uint64_t seep_row_of(struct seep_walk *walk, struct seep_bpf_thread *thread,
                                            uint64_t address) {
    struct seep_bpf_known_row *known = seep_known_row(thread, address);
    if (seep_row_is_known(walk, known, address))
        return (uint64_t)known->row << 32;
    uint64_t row = seep_find_row(&walk->place, address);
    // Where there is none, there may be one later.
    if (SEEP_BPF_ROW_KIND(row) != SEEP_ROW_NONE && !walk->place.asks) {
        known->address = address;
        known->generation = walk->generation;
        known->row = (uint32_t)(row >> 32);
    }
    return row;
}

// Whether this is code, and not the trampoline of a return probe, which lies in no mapping that has rows.
static __always_inline bool seep_is_code(struct seep_walk *walk, struct seep_bpf_thread *thread,
                                         uint64_t address) {
    return seep_row_is_known(walk, seep_known_row(thread, address), address) ||
           seep_find_mapping(&walk->place, address);
}

__noinline int seep_read_stack(struct seep_bpf_thread *thread, uint64_t address, uint64_t *ret_word) {
    if (!thread || !ret_word)
        return false;
    uint64_t offset = address - thread->window_start;
    if (offset < sizeof(thread->window) && !(offset & 7)) {
        barrier_var(offset); // the verifier must see the bound
        *ret_word = thread->window[offset / 8 & (SEEP_WINDOW_WORDS - 1)];
        return true;
    }
    return bpf_probe_read_user(ret_word, sizeof(*ret_word), (const void *)address) == 0;
}

struct seep_repair {
    const struct return_instance *instance;
    uint64_t slot;
    uint64_t address;
};

static long seep_repair_step(uint32_t i, void *context) {
    struct seep_repair *repair = context;
    const struct return_instance *instance = repair->instance;
    if (!instance)
        return 1;
    if (BPF_CORE_READ(instance, stack) == repair->slot) {
        repair->address = BPF_CORE_READ(instance, orig_ret_vaddr);
        return 1;
    }
    repair->instance = BPF_CORE_READ(instance, next);
    return 0;
}

// The return address that a return probe replaced at `slot`, or 0.
static __noinline uint64_t seep_replaced(uint64_t slot) {
    if (!seep_unwind_cfi)
        return 0;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct seep_repair repair = {.instance = BPF_CORE_READ(task, utask, return_instances), .slot = slot};
    bpf_loop(64, seep_repair_step, &repair, 0); // the kernel allows no more
    return repair.address;
}

static inline long seep_walk_cut(struct seep_walk *walk, uint8_t reason) {
    walk->cut = true;
    walk->reason = reason;
    return 1;
}

static inline bool seep_walk_signal(struct seep_walk *walk, struct seep_bpf_thread *thread, uint64_t *ret_pc,
                                    uint64_t *ret_sp, uint64_t *ret_bp) {
    return seep_read_stack(thread, walk->sp + SEEP_ROW_SIGNAL_PC, ret_pc) &&
           seep_read_stack(thread, walk->sp + SEEP_ROW_SIGNAL_SP, ret_sp) &&
           seep_read_stack(thread, walk->sp + SEEP_ROW_SIGNAL_BP, ret_bp);
}

// By the frame pointer: a word for the caller's, then the return address.
static inline bool seep_walk_pointer(struct seep_walk *walk, struct seep_bpf_thread *thread,
                                     uint64_t *ret_cfa, uint64_t *ret_bp) {
    if (walk->bp < walk->sp || walk->bp & 7 || !seep_read_stack(thread, walk->bp, ret_bp))
        return false;
    *ret_cfa = walk->bp + 16;
    return true;
}

static __always_inline bool seep_row_cfa(struct seep_walk *walk, struct seep_bpf_thread *thread, uint64_t row,
                                         uint64_t *ret_cfa) {
    *ret_cfa = seep_bpf_row_cfa(row, walk->pc, walk->sp, walk->bp);
    return SEEP_BPF_ROW_KIND(row) != SEEP_ROW_BP_DEREF || seep_read_stack(thread, *ret_cfa, ret_cfa);
}

// Where a stack begins without saying so: at the loader's entry point, which calls the constructors, on the
// kernel's own stack; and at a function that was not called, whose address stands where its caller's would
// (makecontext), or at code that ends the process (Boost.Context: xor %rdi,%rdi; call _exit; hlt).
static __always_inline bool seep_is_start(struct seep_walk *walk) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    if (BPF_CORE_READ(task, mm, start_stack) - walk->sp < SEEP_BPF_START_BYTES)
        return true;
    if (walk->exact)
        return false;
    uint8_t code[9];
    if (!bpf_probe_read_user(code, sizeof(code), (const void *)walk->pc) && code[0] == 0x48 &&
        code[1] == 0x31 && code[2] == 0xff && code[3] == 0xe8 && code[8] == 0xf4)
        return true;
    uint64_t row = seep_find_row(&walk->place, walk->pc);
    return SEEP_BPF_ROW_KIND(row) != SEEP_ROW_NONE &&
           walk->place.mapping.base + SEEP_BPF_ROW_ADDRESS(row) == walk->pc;
}

// Records the frame at walk->pc and leaves it. 1: the walk is over. Global, because within a loop the
// verifier would look at it once for each state.
__noinline int seep_leave_frame(struct seep_walk *walk, struct seep_bpf_thread *thread) {
    if (!walk || !thread || !seep_unwind_cfi)
        return 1;
    if (!walk->pc)
        return 1;
    uint32_t at = thread->stack.nr_frames;
    if (at >= SEEP_BPF_FRAMES_MAX - 1)
        return seep_walk_cut(walk, SEEP_CUT_DEPTH);
    thread->frames[at & (SEEP_BPF_FRAMES_MAX - 1)] = walk->pc | (walk->exact ? SEEP_BPF_EXACT : 0);
    thread->stack.nr_frames = at + 1;
    walk->hash = (walk->hash ^ walk->pc) * UINT64_C(0x9e3779b97f4a7c15);
    walk->hash ^= walk->hash >> 29;

    uint64_t row = seep_row_of(walk, thread, walk->exact ? walk->pc : walk->pc - 1);
    uint32_t kind = SEEP_BPF_ROW_KIND(row);
    uint64_t pc = 0, cfa = 0, bp = walk->bp;
    if (kind == SEEP_ROW_END)
        return 1;
    if (kind == SEEP_ROW_SIGNAL) {
        if (!seep_walk_signal(walk, thread, &pc, &cfa, &bp))
            return seep_walk_cut(walk, SEEP_CUT_BAD_READ);
        walk->exact = true;
        walk->pc = pc;
        walk->sp = cfa;
        walk->bp = bp;
        return 0;
    }
    if (kind == SEEP_ROW_NONE) {
        if (seep_is_start(walk))
            return 1;
        if (!walk->unknown_pc) {
            walk->unknown_pc = walk->exact ? walk->pc : walk->pc - 1;
            walk->unknown_exact = walk->exact;
            walk->unknown_sp = walk->sp;
            walk->unknown_bp = walk->bp;
            walk->nr_known = at + 1;
        }
        if (!seep_walk_pointer(walk, thread, &cfa, &bp))
            return seep_walk_cut(walk, SEEP_CUT_NO_CFI);
    } else if (kind == SEEP_ROW_UNSUPPORTED) {
        return seep_walk_cut(walk, SEEP_CUT_BAD_CFI);
    } else {
        if (!seep_row_cfa(walk, thread, row, &cfa))
            return seep_walk_cut(walk, SEEP_CUT_BAD_READ);
        if (SEEP_BPF_ROW_BP_SAVED(row) &&
            !seep_read_stack(thread, seep_bpf_row_bp_slot(row, cfa, walk->bp), &bp))
            return seep_walk_cut(walk, SEEP_CUT_BAD_READ);
    }
    if (cfa <= walk->sp)
        return seep_walk_cut(walk, SEEP_CUT_LOOP);
    if (!seep_read_stack(thread, cfa - 8, &pc))
        return seep_walk_cut(walk, kind == SEEP_ROW_NONE ? SEEP_CUT_NO_CFI : SEEP_CUT_BAD_READ);
    if (pc && !seep_is_code(walk, thread, pc - 1)) {
        uint64_t real = seep_replaced(cfa - 8);
        if (real)
            pc = real;
    }
    walk->exact = false;
    walk->pc = pc;
    walk->sp = cfa;
    walk->bp = bp;
    return 0;
}

// The window is only a copy: where one of its pages is not there, words are read one by one.
static inline void seep_fill_window(struct seep_bpf_thread *thread, uint64_t sp) {
    thread->window_start = sp & ~UINT64_C(7);
    if (bpf_probe_read_user(thread->window, sizeof(thread->window), (const void *)thread->window_start))
        thread->window_start = UINT64_C(1) << 63; // where no stack is
}

static __always_inline void seep_walk_begin(struct seep_walk *walk, struct seep_bpf_thread *thread) {
    walk->pc = walk->first_pc;
    walk->sp = walk->first_sp;
    walk->bp = walk->first_bp;
    walk->exact = walk->first_exact;
    walk->cut = false;
    walk->unknown_pc = 0;
    walk->hash = walk->place.seed;
    thread->stack.nr_frames = 0;
}

// One frame more. The walk that met code that is not read yet begins again, once, and asks the kernel: the
// code may be mapped just now, as at the end of the loader's work or by dlopen, and its file be known.
// Whatever ended the walk: there the frame pointer was only a guess, and may have skipped callers or led to
// the end of a stack.
static long seep_walk_step(uint32_t i, void *context) {
    struct seep_walker *walker = context;
    struct seep_walk *walk = &walker->walk;
    if (!seep_leave_frame(walk, walker->thread))
        return 0;
    walk->unread = walk->unknown_pc ? seep_unread_at(&walk->place, walk->unknown_pc) : 0;
    if (!walk->unread || walk->place.asks)
        return 1;
    walk->place.asks = SEEP_ASKS_REST;
    seep_walk_begin(walk, walker->thread);
    return 0;
}

// Differs for each process and generation, in high bits too. The process id alone is not enough: if two
// addresses differ in the same bits as two process ids, a stack of one process gets the id of another's
// stack. The generation is needed because a process may have the id of an ended process.
static __always_inline uint64_t seep_stack_seed(uint32_t pid, uint32_t generation) {
    uint64_t seed = ((uint64_t)generation << 32 | pid) * UINT64_C(0x9e3779b97f4a7c15);
    return (seed ^ bpf_get_current_task_btf()->group_leader->start_time) * UINT64_C(0x9e3779b97f4a7c15);
}

static long seep_copy_end(struct task_struct *task, struct vm_area_struct *vma, void *context) {
    *(uint64_t *)context = vma->vm_end;
    return 0;
}

// Copies the memory of the stack from `sp` on. If a page of it is not there, half as much is tried. Returns
// the number of bytes.
static __always_inline uint32_t seep_copy_rest(uint8_t *to, uint32_t nr, uint32_t most, uint64_t sp) {
    for (int i = 0; i < 4; i++) {
        if (nr > most)
            nr = most;
        if (!bpf_probe_read_user(to, nr, (const void *)sp))
            return nr;
        nr = nr / 2 & ~7u;
    }
    return 0;
}

#define SEEP_SEND_REST(most)                                                                                 \
    do {                                                                                                     \
        struct seep_bpf_rest *rest = bpf_ringbuf_reserve(&seep_events, sizeof(*rest) + (most), 0);           \
        if (!rest)                                                                                           \
            return false;                                                                                    \
        seep_fill_event(&rest->event, SEEP_BPF_REST, 0, id);                                                 \
        rest->pc = walk->unknown_pc;                                                                         \
        rest->sp = walk->unknown_sp;                                                                         \
        rest->bp = walk->unknown_bp;                                                                         \
        rest->start_stack = start_stack;                                                                     \
        rest->generation = walk->generation;                                                                 \
        rest->exact = walk->unknown_exact;                                                                   \
        rest->nr_bytes = seep_copy_rest(rest->bytes, nr, (most), walk->unknown_sp);                          \
        bpf_ringbuf_submit(rest, BPF_RB_NO_WAKEUP);                                                          \
        return true;                                                                                         \
    } while (0)

// Sends the memory of a stack that was cut in code that is not read yet. Such memory takes at most half of
// the ring: a stack without it stays cut, but an event without room is lost.
__noinline int seep_send_rest(struct seep_walk *walk, uint64_t id) {
    if (!walk || !seep_unwind_cfi || !seep_find_vma)
        return false;
    if (bpf_ringbuf_query(&seep_events, BPF_RB_AVAIL_DATA) >
        bpf_ringbuf_query(&seep_events, BPF_RB_RING_SIZE) / 2)
        return false;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    uint64_t start_stack = BPF_CORE_READ(task, mm, start_stack), sp = walk->unknown_sp, end = 0;
    bpf_find_vma(bpf_get_current_task_btf(), sp, seep_copy_end, &end, 0);
    if (start_stack > sp && start_stack < end)
        end = start_stack;
    // The libc has the control block of a thread above its stack, and other memory may lie behind it.
    uint64_t control_block = BPF_CORE_READ(task, thread.fsbase);
    if (control_block > sp && control_block < end)
        end = control_block;
    uint64_t left = end > sp ? end - sp : SEEP_BPF_REST_LARGE;
    uint32_t nr = (uint32_t)(left < SEEP_BPF_REST_LARGE ? left : SEEP_BPF_REST_LARGE);
    if (nr <= SEEP_BPF_REST_TINY)
        SEEP_SEND_REST(SEEP_BPF_REST_TINY);
    if (nr <= SEEP_BPF_REST_SMALL)
        SEEP_SEND_REST(SEEP_BPF_REST_SMALL);
    if (nr <= SEEP_BPF_REST_MIDDLE)
        SEEP_SEND_REST(SEEP_BPF_REST_MIDDLE);
    if (nr <= SEEP_BPF_REST_BIG)
        SEEP_SEND_REST(SEEP_BPF_REST_BIG);
    SEEP_SEND_REST(SEEP_BPF_REST_LARGE);
}

// Whether the tool may still read this file. A file that it has not read some seconds after the first meeting
// cannot be read: a memfd, a file that is gone. Each stack through that file is then sent once, as others
// are.
static __always_inline bool seep_may_be_read(uint64_t unread) {
    uint32_t now = (uint32_t)(bpf_ktime_get_ns() >> 20); // some milliseconds
    const uint32_t *first = bpf_map_lookup_elem(&seep_seen, &unread);
    if (first)
        return now - *first < SEEP_READING_MS;
    bpf_map_update_elem(&seep_seen, &unread, &now, BPF_ANY);
    return true;
}

// Walks from these registers into thread->stack. Returns the id of the stack; 0: there is none. Global, as
// seep_find_row: the verifier looks at the walk once in a program.
__noinline uint64_t seep_walk_stack(struct seep_bpf_thread *thread, uint64_t pc, uint64_t sp, uint64_t bp,
                                    bool exact) {
    if (!thread || !seep_unwind_cfi)
        return 0;
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    struct seep_walker walker = {.thread = thread,
                                 .walk = {.first_pc = pc,
                                          .first_sp = sp,
                                          .first_bp = bp,
                                          .first_exact = exact,
                                          .place.asks = SEEP_ASKS_REST,
                                          .place.seed = seep_stack_seed(pid, 0)}};
    struct seep_walk *walk = &walker.walk;
    const struct seep_bpf_process *process = bpf_map_lookup_elem(&seep_processes, &pid);
    if (process) {
        walk->place.first = process->first;
        walk->place.nr = process->nr;
        walk->place.asks = process->flags & SEEP_BPF_PROCESS_MOVED                     ? SEEP_ASKS_ALL
                           : !process->nr || process->flags & SEEP_BPF_PROCESS_LOADING ? SEEP_ASKS_REST
                                                                                       : SEEP_ASKS_NOT;
        walk->place.seed = seep_stack_seed(pid, process->generation);
        walk->generation = process->generation;
    }
    thread->is_walking = 1;
    seep_fill_window(thread, sp);
    seep_walk_begin(walk, thread);
    bpf_loop(2 * SEEP_BPF_FRAMES_MAX, seep_walk_step, &walker, 0); // each walk ends by itself
    thread->is_walking = 0;
    if (walk->unread) {
        thread->stack.nr_frames = walk->nr_known;
        // The same walk may be right when the code is read. Each stack has its memory, so it has its own id.
        uint64_t first_id = walk->hash ^ walk->unread;
        walk->hash = first_id;
        if (walk->unread == SEEP_UNREAD_BUSY || seep_may_be_read(walk->unread)) {
            walk->hash = (first_id ^ bpf_ktime_get_ns()) * UINT64_C(0x9e3779b97f4a7c15);
            if (!seep_send_rest(walk, walk->hash ? walk->hash : 1))
                walk->hash = first_id;
        }
        seep_tell_unread(walk->unknown_pc, walk->hash ? walk->hash : 1);
    }
    thread->stack.end = walk->unread ? 1 + SEEP_CUT_UNREAD : walk->cut ? 1 + walk->reason : 0;
    return walk->hash ? walk->hash : 1;
}

// Kernels without bpf_loop: frame pointers only.
static __noinline uint64_t seep_walk_pointers(struct seep_bpf_thread *thread, void *context) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    long nr_bytes = bpf_get_stack(context, thread->frames, 127 * 8, BPF_F_USER_STACK);
    uint64_t hash = seep_stack_seed(pid, 0);
    uint32_t nr = nr_bytes > 0 ? (uint32_t)nr_bytes / 8 : 0;
    for (uint32_t i = 0; i < 127; i++) {
        if (i >= nr)
            break;
        hash = (hash ^ thread->frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    thread->stack.nr_frames = nr;
    thread->stack.end = 1 + SEEP_CUT_NO_CFI;
    return hash ? hash : 1;
}

// Puts the walked stack into the ring, unless it is there already. false: it found no room.
static __noinline bool seep_send_stack(struct seep_bpf_thread *thread, uint64_t id) {
    if (bpf_map_lookup_elem(&seep_seen, &id))
        return true;
    seep_fill_event(&thread->stack.event, SEEP_BPF_STACK, 0, id);
    uint32_t nr = thread->stack.nr_frames & (SEEP_BPF_FRAMES_MAX - 1);
    if (bpf_ringbuf_output(&seep_events, &thread->stack, sizeof(thread->stack) + nr * 8, BPF_RB_NO_WAKEUP)) {
        seep_count_lost(SEEP_BPF_LOST_STACK);
        return false;
    }
    uint32_t one = 1;
    bpf_map_update_elem(&seep_seen, &id, &one, BPF_ANY);
    return true;
}

#endif
