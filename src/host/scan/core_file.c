// SPDX-License-Identifier: BSD-2-Clause
// Headers and notes of core files, see core_file.h.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/read_at.h"
#include "base/map.h"
#include "base/search.h"
#include "process/elf_notes.h"
#include "scan/core_file.h"
#include "scan/stopped_registers.h"

#define SEGMENTS_MAX (UINT32_C(1) << 22)
#define NOTES_BYTES  ((uint64_t)256 << 20)
// struct elf_prstatus of 64-bit Linux: pr_pid, and where the registers begin.
enum { STATUS_PID = 32, STATUS_REGISTERS = 112 };
// struct elf_prpsinfo: pr_pid and pr_fname.
enum { INFO_PID = 24, INFO_NAME = 40, INFO_NAME_BYTES = 16 };

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, VECTORS = NT_X86_XSTATE };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64, VECTORS = NT_PRFPREG };
#else
#error "write the registers of this CPU here"
#endif

// ---- bytes of the file ----

static bool read_at(const struct seep_core *core, uint64_t off, void *ret_bytes, size_t nr_bytes) {
    return off <= core->nr_bytes && nr_bytes <= core->nr_bytes - off &&
           seep_read_at(core->fd, off, ret_bytes, nr_bytes);
}

static struct seep_error *damaged(const char *name, const char *what) {
    return seep_error_create(SEEP_E_FORMAT, "%s: %s", name, what);
}

// ---- segments ----

static int compare_segments(const void *left, const void *right) {
    const struct seep_core_segment *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static struct seep_error *add_segment(struct seep_core *core, const char *name, const Elf64_Phdr *header) {
    struct seep_core_segment segment = {
        .start = header->p_vaddr, .file_off = header->p_offset, .flags = header->p_flags};
    if (__builtin_add_overflow(header->p_vaddr, header->p_memsz, &segment.end) ||
        header->p_filesz > header->p_memsz)
        return damaged(name, "a segment of memory is out of range");
    if (segment.start == segment.end)
        return NULL;
    uint64_t there = header->p_offset < core->nr_bytes ? core->nr_bytes - header->p_offset : 0;
    segment.file_bytes = SEEP_MIN(header->p_filesz, there);
    core->missing_bytes += header->p_filesz - segment.file_bytes;
    core->segments[core->nr_segments++] = segment;
    return NULL;
}

static struct seep_error *settle_segments(struct seep_core *core, const char *name) {
    if (core->nr_segments)
        qsort(core->segments, core->nr_segments, sizeof(*core->segments), compare_segments);
    for (size_t i = 1; i < core->nr_segments; i++)
        if (core->segments[i].start < core->segments[i - 1].end)
            return damaged(name, "segments of memory overlap");
    return NULL;
}

const struct seep_core_segment *seep_core_find(const struct seep_core *core, uint64_t address) {
    const size_t low = SEEP_FIRST_WHERE(at, core->nr_segments, core->segments[at].end > address);
    return low < core->nr_segments && core->segments[low].start <= address ? &core->segments[low] : NULL;
}

const struct seep_core_mapping *seep_core_file_at(const struct seep_core *core, uint64_t address) {
    const struct seep_core_mapping *found = NULL;
    for (size_t i = 0; i < core->nr_files && core->files[i].start <= address; i++)
        found = &core->files[i];
    return found && address < found->end ? found : NULL;
}

size_t seep_core_there(const struct seep_core *core, uint64_t address, size_t nr_bytes) {
    const struct seep_core_segment *segment = seep_core_find(core, address);
    if (!segment || address - segment->start >= segment->file_bytes)
        return 0;
    return (size_t)SEEP_MIN((uint64_t)nr_bytes, segment->file_bytes - (address - segment->start));
}

bool seep_core_read(const struct seep_core *core, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    for (char *to = ret_bytes; nr_bytes > 0;) {
        size_t there = seep_core_there(core, address, nr_bytes);
        const struct seep_core_segment *segment = seep_core_find(core, address);
        if (!there || !read_at(core, segment->file_off + (address - segment->start), to, there))
            return false;
        to += there;
        address += there;
        nr_bytes -= there;
    }
    return true;
}

// ---- notes ----

static uint64_t word_at(const unsigned char *bytes, size_t off) {
    uint64_t word;
    memcpy(&word, bytes + off, sizeof(word));
    return word;
}

static bool add_thread(struct seep_core *core, const struct seep_elf_note *note) {
    struct user_regs_struct registers;
    if (note->nr_bytes < STATUS_REGISTERS + sizeof(registers))
        return true; // of another kernel than any we know: without its registers
    if (!seep_grow(&core->threads, &core->threads_capacity, core->nr_threads + 1, sizeof(*core->threads)))
        return false;
    struct seep_stopped_thread *thread = &core->threads[core->nr_threads++];
    int32_t tid;
    memcpy(&tid, note->bytes + STATUS_PID, sizeof(tid));
    memcpy(&registers, note->bytes + STATUS_REGISTERS, sizeof(registers));
    *thread = (struct seep_stopped_thread){.tid = tid, .own_tid = tid, .words = malloc(sizeof(registers))};
    if (!thread->words)
        return false;
    memcpy(thread->words, &registers, sizeof(registers));
    thread->nr_words = thread->nr_general_words = sizeof(registers) / sizeof(*thread->words);
    seep_stopped_keep_general(thread, &registers);
#if defined(__x86_64__)
    thread->sp = registers.rsp;
    thread->tls = registers.fs_base;
    thread->in_system_call = (long)registers.orig_rax >= 0;
#else
    thread->sp = registers.sp;
#endif
    thread->stack_from_rt = seep_stack_used_from(thread->sp);
    return true;
}

// More registers of the thread whose status came last.
static bool add_registers(struct seep_core *core, const struct seep_elf_note *note) {
    struct seep_stopped_thread *thread = core->nr_threads ? &core->threads[core->nr_threads - 1] : NULL;
    size_t nr = note->nr_bytes / sizeof(uint64_t);
    if (!thread || nr > SEEP_REGISTER_WORDS_MAX || thread->nr_words + nr > 2 * SEEP_REGISTER_WORDS_MAX)
        return true;
    uint64_t *more = realloc(thread->words, (thread->nr_words + nr) * sizeof(*more));
    if (!more)
        return false;
    memcpy(more + thread->nr_words, note->bytes, nr * sizeof(*more));
    thread->words = more;
    thread->nr_words += nr;
    return true;
}

static void take_info(struct seep_core *core, const struct seep_elf_note *note) {
    int32_t pid;
    if (note->nr_bytes < INFO_NAME + INFO_NAME_BYTES)
        return;
    memcpy(&pid, note->bytes + INFO_PID, sizeof(pid));
    core->pid = pid > 0 ? pid : 0;
    memcpy(core->name, note->bytes + INFO_NAME, INFO_NAME_BYTES);
}

static void take_auxv(struct seep_core *core, const struct seep_elf_note *note) {
    for (size_t at = 0; at + 16 <= note->nr_bytes; at += 16)
        if (word_at(note->bytes, at) == AT_RANDOM)
            core->in_stack_rt = word_at(note->bytes, at + 8);
}

static int compare_files(const void *left, const void *right) {
    const struct seep_core_mapping *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

// Number of mappings, bytes of a page; start, end and offset in pages of each; then all their names.
static bool take_files(struct seep_core *core, const struct seep_elf_note *note) {
    if (core->files || note->nr_bytes < 16)
        return true;
    uint64_t nr = word_at(note->bytes, 0), page = word_at(note->bytes, 8);
    if (nr > (note->nr_bytes - 16) / 25) // and a byte of a name
        return true;
    core->files = seep_arena_alloc(&core->arena, SEEP_MAX((size_t)nr, (size_t)1), sizeof(*core->files));
    if (!core->files)
        return false;
    const char *at = (const char *)note->bytes + 16 + nr * 24,
               *end = (const char *)note->bytes + note->nr_bytes;
    for (size_t i = 0; i < nr; i++) {
        const char *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop)
            break;
        struct seep_core_mapping *file = &core->files[core->nr_files++];
        *file = (struct seep_core_mapping){.start = word_at(note->bytes, 16 + i * 24),
                                           .end = word_at(note->bytes, 24 + i * 24),
                                           .file_off = word_at(note->bytes, 32 + i * 24) * page,
                                           .path = seep_arena_strndup(&core->arena, at, (size_t)(stop - at))};
        if (!file->path)
            return false;
        at = stop + 1;
    }
    if (core->nr_files)
        qsort(core->files, core->nr_files, sizeof(*core->files), compare_files);
    return true;
}

static bool take_linux_note(struct seep_core *core, const struct seep_elf_note *note) {
#if defined(__aarch64__)
    if (note->type == NT_ARM_TLS && core->nr_threads && note->nr_bytes >= 8)
        core->threads[core->nr_threads - 1].tls = word_at(note->bytes, 0);
#endif
    return note->type != VECTORS || add_registers(core, note);
}

static bool take_core_note(struct seep_core *core, const struct seep_elf_note *note) {
    switch (note->type) {
    case NT_PRSTATUS:
        return add_thread(core, note);
    case NT_PRFPREG:
        return (uint32_t)VECTORS == NT_PRFPREG ? add_registers(core, note) : true;
    case NT_PRPSINFO:
        take_info(core, note);
        return true;
    case NT_AUXV:
        take_auxv(core, note);
        return true;
    case NT_FILE:
        return take_files(core, note);
    default:
        return true;
    }
}

// false: out of memory. What does not fit its segment ends it.
static bool take_notes(struct seep_core *core, const unsigned char *bytes, size_t nr_bytes) {
    struct seep_elf_note note;
    for (uint64_t at = 0; seep_elf_note_next(bytes, nr_bytes, &at, &note);)
        if (!(seep_elf_note_is_of(&note, "LINUX")  ? take_linux_note(core, &note)
              : seep_elf_note_is_of(&note, "CORE") ? take_core_note(core, &note)
                                                   : true))
            return false;
    return true;
}

static struct seep_error *read_notes(struct seep_core *core, const char *name, const Elf64_Phdr *header) {
    if (header->p_filesz > NOTES_BYTES || header->p_offset > core->nr_bytes ||
        header->p_filesz > core->nr_bytes - header->p_offset)
        return damaged(name, "its notes are cut or out of range");
    unsigned char *bytes = malloc(SEEP_MAX((size_t)header->p_filesz, (size_t)1));
    bool fits = bytes && read_at(core, header->p_offset, bytes, (size_t)header->p_filesz) &&
                take_notes(core, bytes, (size_t)header->p_filesz);
    free(bytes);
    return fits ? NULL : seep_error_no_memory();
}

// ---- the whole ----

static bool is_core(const Elf64_Ehdr *header) {
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_CORE;
}

bool seep_core_is_one(const char *path) {
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) && is_core(&header);
    if (fd >= 0)
        close(fd);
    return is;
}

static struct seep_error *check_header(const Elf64_Ehdr *header, const char *name) {
    if (!is_core(header))
        return seep_error_hint(damaged(name, "not a core file"), "'seep report' shows a saved trace");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != MACHINE)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                 "%s: a core of another CPU (ELF machine %u)", name,
                                                 (unsigned)header->e_machine),
                               "scan it on a machine of that kind");
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return damaged(name, "its headers are of another size");
    return NULL;
}

// More segments than the header can count are counted in the first section's header.
static struct seep_error *count_segments(const struct seep_core *core, const char *name,
                                         const Elf64_Ehdr *header, uint32_t *ret_nr) {
    Elf64_Shdr first;
    *ret_nr = header->e_phnum;
    if (header->e_phnum == PN_XNUM) {
        if (!read_at(core, header->e_shoff, &first, sizeof(first)))
            return damaged(name, "cut: it does not say how many segments it has");
        *ret_nr = first.sh_info;
    }
    uint64_t room = header->e_phoff < core->nr_bytes ? core->nr_bytes - header->e_phoff : 0;
    if (*ret_nr > SEGMENTS_MAX || (uint64_t)*ret_nr * sizeof(Elf64_Phdr) > room)
        return damaged(name, "cut within its headers, or their number is out of range");
    return NULL;
}

static struct seep_error *read_all(struct seep_core *core, const char *name) {
    Elf64_Ehdr header;
    struct stat status;
    if (fstat(core->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return damaged(name, "not a regular file");
    core->nr_bytes = (uint64_t)status.st_size;
    if (!read_at(core, 0, &header, sizeof(header)))
        return damaged(name, "not a core file");
    uint32_t nr = 0;
    struct seep_error *err = check_header(&header, name);
    if (!err)
        err = count_segments(core, name, &header, &nr);
    if (err)
        return err;
    core->segments = seep_arena_alloc(&core->arena, SEEP_MAX(nr, 1u), sizeof(*core->segments));
    if (!core->segments)
        return seep_error_no_memory();
    for (uint32_t i = 0; !err && i < nr; i++) {
        Elf64_Phdr segment;
        if (!read_at(core, header.e_phoff + (uint64_t)i * sizeof(segment), &segment, sizeof(segment)))
            err = damaged(name, "cut within its headers");
        else if (segment.p_type == PT_LOAD)
            err = add_segment(core, name, &segment);
        else if (segment.p_type == PT_NOTE)
            err = read_notes(core, name, &segment);
    }
    if (!err)
        err = settle_segments(core, name);
    if (!err && (!core->nr_threads || !core->nr_segments))
        err = damaged(name, "it has no threads or no memory");
    if (!err && !core->pid)
        core->pid = core->threads[0].tid;
    return err;
}

struct seep_error *seep_core_open_fd(int fd, const char *name, struct seep_core **ret_core) {
    struct seep_core *core = calloc(1, sizeof(*core));
    if (!core) {
        close(fd);
        return seep_error_no_memory();
    }
    core->fd = fd;
    struct seep_error *err = read_all(core, name);
    if (err) {
        seep_core_close(core);
        return err;
    }
    *ret_core = core;
    return NULL;
}

struct seep_error *seep_core_open(const char *path, struct seep_core **ret_core) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return seep_error_system(errno, "%s: cannot be opened", path);
    return seep_core_open_fd(fd, path, ret_core);
}

void seep_core_close(struct seep_core *core) {
    if (!core)
        return;
    for (size_t i = 0; i < core->nr_threads; i++)
        free(core->threads[i].words);
    free(core->threads);
    seep_arena_deinit(&core->arena);
    close(core->fd);
    free(core);
}
