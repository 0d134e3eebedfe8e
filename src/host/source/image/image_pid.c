// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the live image of a process: the mappings of a file "/memfd:seep-image" in /proc/PID/maps.
// A descriptor of that file is best, because through it holes are seen as holes; /proc/PID/mem is
// the way where none can be had. The process is neither stopped nor signalled.
//
// Invariant: the image taken says the pid of the process it was asked for. A child that has not used
// its heap since fork still maps its parent's image: that one is not its own.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "base/map_line.h"
#include "base/read_at.h"
#include "process/gone.h"
#include "process/proc_fields.h"
#include "source/image/image_source.h"
#include "process/rights.h"

#define IMAGE_NAME    "/memfd:seep-image"
#define ANCESTORS_MAX 32

// The mappings of one image file in a process.
struct image_file {
    uint64_t inode;
    struct seep_image_window *windows;
    size_t nr_windows;
    size_t capacity;
    struct seep_image_window
        beginning; // that may only be read: from it a child of fork will see its parent's image
};

struct image_files {
    struct image_file *items;
    size_t nr_items;
    size_t capacity;
};

static void files_deinit(struct image_files *files) {
    for (size_t i = 0; i < files->nr_items; i++)
        free(files->items[i].windows);
    free(files->items);
}

static bool add_window(struct image_files *files, uint64_t inode, bool only_read,
                       const struct seep_image_window *window) {
    struct image_file *file = NULL;
    for (size_t i = 0; i < files->nr_items; i++)
        if (files->items[i].inode == inode)
            file = &files->items[i];
    if (!file) {
        if (!seep_grow(&files->items, &files->capacity, files->nr_items + 1, sizeof(*files->items)))
            return false;
        file = &files->items[files->nr_items++];
        *file = (struct image_file){.inode = inode};
    }
    if (only_read) {
        if (window->image_off == 0)
            file->beginning = *window;
        return true;
    }
    if (!seep_grow(&file->windows, &file->capacity, file->nr_windows + 1, sizeof(*file->windows)))
        return false;
    file->windows[file->nr_windows++] = *window;
    return true;
}

static bool read_line(struct image_files *files, const char *line) {
    struct seep_map_line read;
    if (!seep_map_line_read(line, &read) || strncmp(read.path, IMAGE_NAME, strlen(IMAGE_NAME)) != 0 ||
        read.start >= read.end || read.file_off % SEEP_IMAGE_PAGE)
        return true;
    struct seep_image_window window = {
        .address = read.start, .nr_bytes = read.end - read.start, .image_off = read.file_off};
    return add_window(files, read.inode, read.rights[0] == 'r' && read.rights[1] != 'w', &window);
}

// Of a child that has not used its heap since the fork there is nothing else.
static bool use_beginnings(struct image_files *files) {
    bool fits = true;
    for (size_t i = 0; fits && i < files->nr_items; i++) {
        struct image_file *file = &files->items[i];
        if (!file->nr_windows)
            fits = seep_grow(&file->windows, &file->capacity, 1, sizeof(*file->windows));
        if (fits && !file->nr_windows)
            file->windows[file->nr_windows++] = file->beginning;
    }
    return fits;
}

static struct seep_error *open_error(pid_t pid, int trouble) {
    struct seep_error *err = NULL;
    if (trouble == ENOENT || trouble == ESRCH)
        return seep_process_gone(pid, "name a running process, or a trace file");
    err = seep_error_system(trouble, "process %d cannot be looked at", (int)pid);
    if (err->code == SEEP_E_PERMISSION)
        return seep_right_to_debug(err, pid);
    return err;
}

static struct seep_error *find_files(pid_t pid, struct image_files *ret_files, bool *ret_any) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)seep_live_thread(pid));
    FILE *maps = fopen(path, "re");
    if (!maps)
        return open_error(pid, errno);
    char *line = NULL;
    size_t room = 0;
    bool fits = true;
    errno = 0;
    while (fits && getline(&line, &room, maps) > 0) {
        *ret_any = true;
        fits = read_line(ret_files, line);
    }
    int trouble = ferror(maps) ? errno : 0;
    free(line);
    fclose(maps);
    if (!fits || !use_beginnings(ret_files))
        return seep_error_no_memory();
    return trouble ? open_error(pid, trouble) : NULL;
}

static void process_name(pid_t pid, char *ret_name, size_t room) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    snprintf(ret_name, room, "?");
    FILE *comm = fopen(path, "re");
    if (!comm)
        return;
    if (!fgets(ret_name, (int)room, comm))
        snprintf(ret_name, room, "?");
    ret_name[strcspn(ret_name, "\n")] = 0;
    fclose(comm);
}

static bool same_file(int fd, uint64_t inode) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode;
}

// Of the file system of all memory files; 0: not known. It is asked for once, because that takes a
// descriptor, and later there may be none.
static dev_t memory_device(void) {
    static _Atomic dev_t known;
    dev_t device = known;
    struct stat status;
    int memory = device ? -1 : memfd_create("seep", MFD_CLOEXEC);
    if (memory >= 0 && fstat(memory, &status) == 0)
        known = device = status.st_dev;
    if (memory >= 0)
        close(memory);
    return device;
}

// What only has the name of one may be any file, mounted there by who can mount in a
// namespace of his own: as root we would write into what its owner may only read. All memory files lie on one
// file system, where no path leads.
bool seep_image_is_memory_file(int fd) {
    struct stat status;
    dev_t device = memory_device();
    return device && fstat(fd, &status) == 0 && status.st_dev == device && S_ISREG(status.st_mode);
}

// A descriptor of the file among those of `pid`, or -1.
static int open_descriptor(pid_t pid, uint64_t inode, int access) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)seep_live_thread(pid));
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    int found = -1;
    for (struct dirent *entry; found < 0 && (entry = readdir(folder));) {
        char target[64];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (length <= 0)
            continue;
        target[length] = 0;
        if (strncmp(target, IMAGE_NAME, strlen(IMAGE_NAME)) != 0)
            continue;
        found = openat(dirfd(folder), entry->d_name, access | O_CLOEXEC | O_NONBLOCK);
        if (found >= 0 && !(same_file(found, inode) && seep_image_is_memory_file(found))) {
            close(found);
            found = -1;
        }
    }
    closedir(folder);
    return found;
}

// `access`: O_RDONLY or O_RDWR.
static int open_image(pid_t pid, const struct image_file *file, int access) {
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)seep_live_thread(pid),
             (unsigned long long)file->windows[0].address,
             (unsigned long long)(file->windows[0].address + file->windows[0].nr_bytes));
    int fd = open(path, access | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && same_file(fd, file->inode) && seep_image_is_memory_file(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    pid_t holder = pid;
    for (int i = 0; i < ANCESTORS_MAX && holder > 0; i++) {
        fd = open_descriptor(holder, file->inode, access);
        if (fd >= 0)
            return fd;
        holder = (pid_t)seep_status_number(holder, 0, "PPid:");
    }
    return -1;
}

static struct seep_error *copy_memory(pid_t pid, const char *name, const struct image_file *file,
                                      struct seep_image_copy **ret_copy) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)seep_live_thread(pid));
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    if (mem < 0)
        return open_error(pid, errno);
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)seep_live_thread(pid));
    int pagemap = open(path, O_RDONLY | O_CLOEXEC);
    struct seep_error *err = NULL;
    if (pagemap < 0) {
        err = open_error(pid, errno);
    } else {
        const struct seep_image_window *last = &file->windows[file->nr_windows - 1];
        struct seep_image_source source = {.name = name,
                                           .fd = mem,
                                           .nr_bytes = last->image_off + last->nr_bytes,
                                           .windows = file->windows,
                                           .nr_windows = file->nr_windows,
                                           .pagemap_fd = pagemap,
                                           .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
        err = seep_image_copy_from_source(&source, ret_copy);
        close(pagemap);
    }
    close(mem);
    return err;
}

static struct seep_error *copy_file(pid_t pid, unsigned flags, const struct image_file *file,
                                    struct seep_image_copy **ret_copy) {
    char name[64];
    snprintf(name, sizeof(name), "process %d", (int)pid);
    int fd = flags & SEEP_IMAGE_PID_ONLY_MEM ? -1 : open_image(pid, file, O_RDONLY);
    if (fd < 0)
        return copy_memory(pid, name, file, ret_copy);
    struct seep_error *err = seep_image_copy_from_fd(fd, name, ret_copy);
    close(fd);
    return err;
}

// Why a process that can be looked at has no image. Of one that ends meanwhile only some mappings were read,
// or none.
static struct seep_error *no_image(pid_t pid, bool any_mapping) {
    char name[64];
    process_name(pid, name, sizeof(name));
    if (seep_process_is_ending(pid))
        return seep_process_gone(pid, "name a running process, or a trace file");
    if (!any_mapping)
        return seep_error_create(SEEP_E_NOT_FOUND,
                                 "process %d (%s) has no memory: it has ended, or is part of the kernel",
                                 (int)pid, name);
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND, "process %d (%s) is not traced by seep", (int)pid, name),
        "start it with 'seep run', or with LD_PRELOAD=libseep.so; 'seep attach' traces it as it is");
}

static struct seep_error *not_own(pid_t pid, uint32_t of) {
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND,
                          "process %d has no image of its own yet: it has not used its heap "
                          "since it was forked from process %u",
                          (int)pid, of),
        "look at process %u", of);
}

static struct seep_error *choose(pid_t pid, unsigned flags, const struct image_files *files,
                                 struct seep_image_copy **ret_copy) {
    unsigned long own_pid = seep_own_id(pid);
    if (!own_pid)
        own_pid = (unsigned long)pid;
    struct seep_error *first = NULL;
    for (size_t i = 0; i < files->nr_items; i++) {
        struct seep_image_copy *copy;
        struct seep_error *err = copy_file(pid, flags, &files->items[i], &copy);
        if (!err && copy->head.header.pid == own_pid) {
            seep_error_destroy(first);
            *ret_copy = copy;
            return NULL;
        }
        if (!err) {
            err = not_own(pid, copy->head.header.pid);
            seep_image_copy_destroy(copy);
        }
        if (first)
            seep_error_destroy(err);
        else
            first = err;
    }
    return first;
}

struct seep_error *seep_image_copy_from_pid(pid_t pid, unsigned flags, struct seep_image_copy **ret_copy) {
    struct image_files files = {NULL, 0, 0};
    bool any_mapping = false;
    struct seep_error *err = find_files(pid, &files, &any_mapping);
    if (!err && !files.nr_items)
        err = no_image(pid, any_mapping);
    if (!err)
        err = choose(pid, flags, &files, ret_copy);
    files_deinit(&files);
    return err;
}

int seep_image_open_pid(pid_t pid) {
    struct image_files files = {NULL, 0, 0};
    bool any_mapping = false;
    struct seep_error *err = find_files(pid, &files, &any_mapping);
    unsigned long own_pid = seep_own_id(pid);
    int found = -1;
    for (size_t i = 0; !err && found < 0 && i < files.nr_items; i++) {
        struct seep_image_head head;
        int fd = open_image(pid, &files.items[i], O_RDONLY);
        if (seep_image_head_try(fd, &head) && head.header.pid == (own_pid ? own_pid : (unsigned long)pid))
            found = fd;
        else if (fd >= 0)
            close(fd);
    }
    seep_error_destroy(err);
    files_deinit(&files);
    return found;
}

// ---- writing a mark ---------------------------------------------------------------------------------

// Where image bytes lie in what was opened: in the file, or in the memory of the process.
struct place {
    int fd;
    const struct image_file *file; // NULL: fd is the file
};

static bool at_place(const struct place *place, uint64_t off, size_t nr_bytes, off_t *ret_at) {
    *ret_at = (off_t)off;
    for (size_t i = 0; place->file && i < place->file->nr_windows; i++) {
        const struct seep_image_window *window = &place->file->windows[i];
        if (off >= window->image_off && nr_bytes <= window->nr_bytes &&
            off - window->image_off <= window->nr_bytes - nr_bytes) {
            *ret_at = (off_t)(window->address + (off - window->image_off));
            return true;
        }
    }
    return !place->file;
}

static bool read_place(const struct place *place, uint64_t off, void *bytes, size_t nr_bytes) {
    off_t at;
    return at_place(place, off, nr_bytes, &at) && pread(place->fd, bytes, nr_bytes, at) == (ssize_t)nr_bytes;
}

static bool write_place(const struct place *place, uint64_t off, const void *bytes, size_t nr_bytes) {
    off_t at;
    return at_place(place, off, nr_bytes, &at) &&
           seep_write_memory_file(place->fd, (uint64_t)at, bytes, nr_bytes);
}

static struct seep_error *append_mark(const struct place *place, const struct seep_image_head *head,
                                      const char *name, const void *record, size_t nr_bytes) {
    const struct seep_image_area *area = &head->header.areas[SEEP_AREA_TOOL_MARKS];
    errno = 0;
    if (nr_bytes > area->size - area->used)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: no room for another mark", name),
                               "%llu bytes of marks are there; take snapshots from now on (seep snap)",
                               (unsigned long long)area->used);
    uint64_t used = area->used + nr_bytes;
    seep_image_swap_words(head, &used, 1);
    struct seep_image_mark mark;
    memcpy(&mark, record, sizeof(mark));
    seep_image_swap_mark(head, &mark);
    // First the record, then that it is there.
    uint64_t off = area->off + area->used;
    if (!write_place(place, off, &mark, sizeof(mark)) ||
        !write_place(place, off + sizeof(mark), (const char *)record + sizeof(mark),
                     nr_bytes - sizeof(mark)) ||
        !write_place(place, head->used_at[SEEP_AREA_TOOL_MARKS], &used, sizeof(used)))
        return seep_error_system(errno ? errno : EIO, "%s: cannot write the mark into its image", name);
    return NULL;
}

static struct seep_error *open_place(pid_t pid, const struct image_file *file, struct place *ret_place) {
    *ret_place = (struct place){.fd = open_image(pid, file, O_RDWR)};
    if (ret_place->fd < 0) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/mem", (int)seep_live_thread(pid));
        *ret_place = (struct place){.fd = open(path, O_RDWR | O_CLOEXEC), .file = file};
    }
    return ret_place->fd < 0 ? open_error(pid, errno) : NULL;
}

static struct seep_error *read_head(const struct place *place, const char *name,
                                    struct seep_image_head *ret_head) {
    unsigned char page[SEEP_IMAGE_PAGE];
    errno = 0;
    return read_place(place, 0, page, sizeof(page))
               ? seep_image_head_decode(page, sizeof(page), name, ret_head)
               : seep_error_system(errno ? errno : EIO, "%s: cannot read its image", name);
}

// The image that is the process's own: a child that has not used its heap yet maps its parent's, too.
static struct seep_error *write_own(pid_t pid,
                                    struct seep_error *(*write)(const struct place *place,
                                                                const struct seep_image_head *head,
                                                                const char *name, void *context),
                                    void *context) {
    struct image_files files = {NULL, 0, 0};
    bool any_mapping = false, found = false;
    struct seep_image_head head;
    struct seep_error *err = find_files(pid, &files, &any_mapping);
    if (!err && !files.nr_items)
        err = no_image(pid, any_mapping);
    unsigned long own_pid = seep_own_id(pid);
    for (size_t i = 0; !err && !found && i < files.nr_items; i++) {
        struct place place;
        char name[64];
        snprintf(name, sizeof(name), "process %d", (int)pid);
        err = open_place(pid, &files.items[i], &place);
        if (err)
            break;
        err = read_head(&place, name, &head);
        found = !err && head.header.pid == (own_pid ? own_pid : (unsigned long)pid);
        if (found)
            err = write(&place, &head, name, context);
        close(place.fd);
    }
    if (!err && !found)
        err = not_own(pid, head.header.pid);
    files_deinit(&files);
    return err;
}

struct bytes {
    const void *at;
    size_t nr;
};

static struct seep_error *write_mark(const struct place *place, const struct seep_image_head *head,
                                     const char *name, void *context) {
    const struct bytes *bytes = context;
    return append_mark(place, head, name, bytes->at, bytes->nr);
}

struct seep_error *seep_image_mark_pid(pid_t pid, const void *record, size_t nr_bytes) {
    struct bytes bytes = {record, nr_bytes};
    return write_own(pid, write_mark, &bytes);
}

// ---- what the library is to do ----------------------------------------------------------------------

#define CHUNK_BYTES (SEEP_CHUNK_SITES * sizeof(struct seep_image_counters))

// A program whose every operation goes the short way would not look. What the short way of a release asks is
// whether such a release is known to be right for the site: where that is forgotten it goes the long way
// once, and knows it again. The bits are cleared in one step; a count of the program's that comes between is
// not lost.
static void forget_releases(const struct place *place, uint64_t off) {
    struct seep_image_counters *there = malloc(CHUNK_BYTES);
    bool read = there && read_place(place, off, there, CHUNK_BYTES);
    unsigned char *map = MAP_FAILED;
    for (uint32_t i = 0; read && i < SEEP_CHUNK_SITES; i++) {
        if (SEEP_TEMPORARY(there[i].temporary) == there[i].temporary)
            continue;
        if (map == MAP_FAILED)
            map = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, place->fd, (off_t)off);
        if (map == MAP_FAILED)
            break;
        struct seep_image_counters *counters = (struct seep_image_counters *)(void *)map + i;
        __atomic_fetch_and(&counters->temporary, SEEP_TEMPORARY(UINT64_MAX), __ATOMIC_RELAXED);
    }
    if (map != MAP_FAILED)
        munmap(map, CHUNK_BYTES);
    free(there);
}

static void nudge(const struct place *place, const struct seep_image_head *head) {
    const struct seep_image_area *slots = &head->header.areas[SEEP_AREA_THREADS];
    const struct seep_image_area *area = &head->header.areas[SEEP_AREA_PAGES];
    uint32_t *pages = malloc(SEEP_CHUNKS_PER_THREAD * sizeof(*pages));
    uint64_t nr_chunks = head->header.areas[SEEP_AREA_SITES].used / SEEP_CHUNK_SITES + 1;
    // Only where the file itself is open, on a machine like this one.
    for (uint64_t i = 0; pages && !place->file && !head->is_swapped && i < slots->used; i++) {
        struct seep_image_thread slot;
        uint64_t at = slots->off + i * slots->element_bytes;
        if (slots->element_bytes < sizeof(slot) || !read_place(place, at, &slot, sizeof(slot)) ||
            !slot.chunk_dir_page || slot.chunk_dir_page >= area->size / SEEP_IMAGE_PAGE ||
            !read_place(place, area->off + slot.chunk_dir_page * SEEP_IMAGE_PAGE, pages,
                        SEEP_CHUNKS_PER_THREAD * sizeof(*pages)))
            continue;
        for (uint64_t c = 0; c < nr_chunks && c < SEEP_CHUNKS_PER_THREAD; c++)
            if (pages[c] && pages[c] < (area->size - CHUNK_BYTES) / SEEP_IMAGE_PAGE)
                forget_releases(place, area->off + (uint64_t)pages[c] * SEEP_IMAGE_PAGE);
    }
    free(pages);
}

static struct seep_error *write_control(const struct place *place, const struct seep_image_head *head,
                                        const char *name, void *context) {
    const struct seep_image_control *asked = context;
    const struct seep_image_header *header = &head->header;
    if (!head->control_at)
        return seep_error_create(SEEP_E_UNSUPPORTED,
                                 "%s: its libseep.so is of an older seep, and takes no such requests", name);
    if (header->flags & SEEP_FLAG_CALLS)
        return seep_error_create(SEEP_E_UNSUPPORTED, "%s: calls are counted only, which cannot be changed",
                                 name);
    bool stopped = asked->recording == SEEP_RECORDING_STOP ||
                   (asked->recording == SEEP_RECORDING_AS_IT_IS && header->control & SEEP_CONTROL_STOPPED);
    uint64_t word =
        SEEP_CONTROL_MAKE(stopped, asked->depth ? asked->depth : SEEP_CONTROL_DEPTH(header->control));
    seep_image_swap_words(head, &word, 1);
    return write_place(place, head->control_at, &word, sizeof(word))
               ? NULL
               : seep_error_system(errno ? errno : EIO, "%s: cannot write into its image", name);
}

struct seep_error *seep_image_control_pid(pid_t pid, const struct seep_image_control *asked) {
    struct seep_image_control copy = *asked;
    if (asked->depth > SEEP_CONTROL_DEPTH_MOST)
        return seep_error_create(SEEP_E_USAGE, "depth: 1 to %u frames", SEEP_CONTROL_DEPTH_MOST);
    return write_own(pid, write_control, &copy);
}

struct done {
    bool nudges;
    bool is_done;
};

static struct seep_error *ask_done(const struct place *place, const struct seep_image_head *head,
                                   const char *name, void *context) {
    struct done *done = context;
    uint64_t words[2]; // what is asked for, and what the library does
    done->is_done = !head->control_at || !read_place(place, head->control_at, words, sizeof(words)) ||
                    words[0] == words[1];
    if (!done->is_done && done->nudges)
        nudge(place, head);
    return NULL;
}

bool seep_image_control_is_done(pid_t pid, bool nudges) {
    struct done done = {nudges, true};
    seep_error_destroy(write_own(pid, ask_done, &done));
    return done.is_done;
}
