// SPDX-License-Identifier: BSD-2-Clause
// Opening: mappings from /proc/PID/smaps or from the segments of a core file, see memory.h.
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "base/map_line.h"
#include "base/search.h"
#include "process/gone.h"
#include "process/rights.h"
#include "scan/core_file.h"
#include "scan/memory.h"

#define TEXT_BYTES ((size_t)16 << 10) // of smaps at once, at least

static struct seep_error *maps_error(pid_t pid, int trouble) {
    if (trouble == ENOENT || trouble == ESRCH)
        return seep_process_gone(pid, "name a running process");
    struct seep_error *err =
        seep_error_system(trouble, "the memory map of process %d cannot be read", (int)pid);
    if (err->code == SEEP_E_PERMISSION)
        err = seep_right_to_debug(err, pid);
    return err;
}

static struct seep_error *add_mapping(struct seep_memory *memory, const char *line) {
    struct seep_map_line read;
    if (!seep_map_line_read(line, &read))
        return NULL;
    if (!seep_grow(&memory->mappings, &memory->capacity, memory->nr_mappings + 1, sizeof(*memory->mappings)))
        return seep_error_no_memory();
    char *path = seep_arena_strdup(&memory->arena, read.path);
    if (!path)
        return seep_error_no_memory();
    memory->mappings[memory->nr_mappings++] = (struct seep_memory_area){
        .start = read.start,
        .end = read.end,
        .file_off = read.file_off,
        .device = makedev(read.device_major, read.device_minor),
        .inode = read.inode,
        .path = path,
        .readable = read.rights[0] == 'r',
        .writable = read.rights[1] == 'w',
        .executable = read.rights[2] == 'x',
        .shared = read.rights[3] == 's',
        .of_seep = strncmp(path, "/memfd:seep-image", strlen("/memfd:seep-image")) == 0,
    };
    return NULL;
}

// libseep.so marks its memory by two pieces of advice that no other program gives together for anonymous
// memory (preload/sys.h): not to be dumped, read at random.
#define SHARED_ANONYMOUS "/dev/zero (deleted)" // what the kernel calls it

static bool has_mark_of_seep(const char *flags) {
    return strstr(flags, " dd") && strstr(flags, " rr");
}

static bool is_named(const char *line, const char *name) {
    while (*name && *line == *name)
        line++, name++;
    return !*name;
}

// The first number in the line.
static uint64_t number_in(const char *line) {
    uint64_t value = 0;
    while (*line && (*line < '0' || *line > '9'))
        line++;
    for (; *line >= '0' && *line <= '9'; line++)
        value = value * 10 + (uint64_t)(*line - '0');
    return value;
}

// A line that belongs to the mapping before it.
static void add_detail(struct seep_memory *memory, const char *line) {
    if (!memory->nr_mappings)
        return;
    struct seep_memory_area *last = &memory->mappings[memory->nr_mappings - 1];
    // Two dozen of them for each mapping, while the process waits: by hand.
    if (*line == 'A' && is_named(line, "Anonymous:"))
        last->was_written = number_in(line) > 0;
    else if (*line == 'R' && is_named(line, "Rss:"))
        last->present_bytes += number_in(line) << 10;
    else if (*line == 'S' && is_named(line, "Swap:"))
        last->present_bytes += number_in(line) << 10;
    else if (*line == 'S' && is_named(line, "Shared_"))
        last->has_shared_pages |= number_in(line) > 0;
    if (*line != 'V' || !is_named(line, "VmFlags:"))
        return;
    if (has_mark_of_seep(line))
        last->of_seep = last->of_seep || !*last->path || strcmp(last->path, SHARED_ANONYMOUS) == 0;
    // Source: Linux, fs/proc/task_mmu.c, show_smap_vma_flags().
    last->of_monitor = strstr(line, " um") || strstr(line, " ui");
}

static int open_of(pid_t tid, const char *name) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

// *text: malloc'ed, ends with a zero byte. false: errno says why. Not by seep_grow(), which clears the room.
static bool read_text(int fd, char **text, size_t *ret_nr) {
    size_t nr = 0, capacity = 0;
    for (;;) {
        if (capacity - nr <= TEXT_BYTES) {
            char *larger = realloc(*text, capacity = capacity * 2 + 2 * TEXT_BYTES);
            if (!larger)
                return false;
            *text = larger;
        }
        ssize_t got = read(fd, *text + nr, capacity - nr - 1);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return false;
        nr += got > 0 ? (size_t)got : 0;
    }
    (*text)[nr] = 0;
    *ret_nr = nr;
    return true;
}

// Details begin with a capital, areas with a number. Lines are found by memchr, because AddressSanitizer
// looks at all of the text that strchrnul is given.
static struct seep_error *add_lines(struct seep_memory *memory, char *text, size_t nr) {
    struct seep_error *err = NULL;
    for (char *line = text, *end; !err && *line; line = end) {
        end = memchr(line, '\n', (size_t)(text + nr - line));
        if (end)
            *end++ = 0;
        else
            end = text + nr;
        if (isupper((unsigned char)*line))
            add_detail(memory, line);
        else
            err = add_mapping(memory, line);
    }
    return err;
}

static struct seep_error *read_mappings(struct seep_memory *memory) {
    int fd = open_of(memory->tid, "smaps");
    if (fd < 0)
        return maps_error(memory->pid, errno);
    char *text = NULL;
    size_t nr = 0;
    struct seep_error *err = read_text(fd, &text, &nr) ? NULL : maps_error(memory->pid, errno);
    if (!err)
        err = add_lines(memory, text, nr);
    free(text);
    close(fd);
    if (!err && !memory->nr_mappings)
        err = maps_error(memory->pid, ESRCH);
    return err;
}

struct seep_error *seep_memory_open(pid_t pid, struct seep_memory **ret_memory) {
    struct seep_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return seep_error_no_memory();
    memory->pid = pid;
    memory->tid = seep_live_thread(pid);
    memory->word_bytes = sizeof(uint64_t);
    memory->pagemap_fd = open_of(memory->tid, "pagemap");
    memory->mem_fd = open_of(memory->tid, "mem");
    memory->piece = malloc(SEEP_SHORT_BYTES);
    struct seep_error *err = memory->piece ? read_mappings(memory) : seep_error_no_memory();
    if (err) {
        seep_memory_close(memory);
        return err;
    }
    *ret_memory = memory;
    return NULL;
}

// ---- core files ----

// A file that is mapped may have been cut in several segments, but no segment is of several files.
static struct seep_error *add_segment(struct seep_memory *memory, const struct seep_core_segment *segment) {
    const struct seep_core_mapping *file = seep_core_file_at(memory->core, segment->start);
    uint64_t in_stack = memory->core->in_stack_rt;
    bool stack = !file && segment->start <= in_stack && in_stack < segment->end;
    if (!seep_grow(&memory->mappings, &memory->capacity, memory->nr_mappings + 1, sizeof(*memory->mappings)))
        return seep_error_no_memory();
    memory->mappings[memory->nr_mappings++] = (struct seep_memory_area){
        .start = segment->start,
        .end = segment->end,
        .file_off = file ? file->file_off + (segment->start - file->start) : 0,
        .present_bytes = segment->file_bytes,
        // Of a file that is mapped read-only a core has only what differs from it, and the first page.
        .was_written = file && segment->file_bytes == segment->end - segment->start,
        .path = file    ? file->path
                : stack ? "[stack]"
                        : "",
        .readable = segment->file_bytes > 0,
        .writable = segment->flags & PF_W,
        .executable = segment->flags & PF_X,
        .of_seep = file && strncmp(file->path, "/memfd:seep-image", strlen("/memfd:seep-image")) == 0,
    };
    return NULL;
}

struct seep_error *seep_memory_open_core(const struct seep_core *core, struct seep_memory **ret_memory) {
    struct seep_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return seep_error_no_memory();
    memory->pid = core->pid;
    memory->core = core;
    memory->word_bytes = sizeof(uint64_t);
    memory->pagemap_fd = memory->mem_fd = -1;
    memory->piece = malloc(SEEP_PIECE_BYTES);
    struct seep_error *err = memory->piece ? NULL : seep_error_no_memory();
    for (size_t i = 0; !err && i < core->nr_segments; i++)
        err = add_segment(memory, &core->segments[i]);
    if (err) {
        seep_memory_close(memory);
        return err;
    }
    *ret_memory = memory;
    return NULL;
}

void seep_memory_close(struct seep_memory *memory) {
    if (!memory)
        return;
    if (memory->pagemap_fd >= 0)
        close(memory->pagemap_fd);
    if (memory->mem_fd >= 0)
        close(memory->mem_fd);
    seep_shared_files_deinit(&memory->shared);
    free(memory->mappings);
    free(memory->piece);
    free(memory->large);
    free(memory->ahead);
    free(memory->pages);
    seep_arena_deinit(&memory->arena);
    free(memory);
}

const struct seep_memory_area *seep_memory_find(const struct seep_memory *memory, uint64_t address) {
    const size_t low = SEEP_FIRST_WHERE(at, memory->nr_mappings, memory->mappings[at].end > address);
    const struct seep_memory_area *found = low < memory->nr_mappings ? &memory->mappings[low] : NULL;
    return found && found->start <= address ? found : NULL;
}
