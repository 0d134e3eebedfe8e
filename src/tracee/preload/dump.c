// SPDX-License-Identifier: BSD-2-Clause
//
// The raw dump of the image (image/raw.h): how the library leaves a trace when it is alone. System
// calls only: it also runs in a signal handler. Written as a new file under a temporary name, then renamed,
// in a folder that is ours, root's or sticky: in another one its owner could put anything in our way. When
// anything fails (a full disk, no right), nothing is left and the program does not notice.
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "image/raw.h"
#include "preload/preload.h"
#include "preload/swap.h"
#include "preload/undo.h"
#include "preload/window.h"

enum { NAME_BYTES = 4096 };

struct dump {
    int fd;
    uint64_t written_bytes;
    uint64_t limit_bytes; // RLIMIT_FSIZE: beyond it the kernel would send SIGXFSZ
    uint64_t data_bytes;
};

static bool put(struct dump *dump, const void *bytes, uint64_t nr_bytes) {
    if (dump->written_bytes + nr_bytes > dump->limit_bytes)
        return false;
    const unsigned char *at = bytes;
    while (nr_bytes) {
        long written = sys3(SYS_write, dump->fd, at, nr_bytes);
        if (written == -4 /* EINTR */)
            continue;
        if (written <= 0)
            return false;
        at += written;
        nr_bytes -= (uint64_t)written;
        dump->written_bytes += (uint64_t)written;
    }
    return true;
}

static bool is_zero(const unsigned char *page) {
    const uint64_t *word = (const uint64_t *)page;
    for (size_t i = 0; i < SEEP_POOL_PAGE / sizeof(*word); i++)
        if (word[i])
            return false;
    return true;
}

static bool put_run(struct dump *dump, uint64_t off, uint64_t nr_bytes) {
    struct seep_raw_record record = {.image_offset = off, .nr_bytes = nr_bytes};
    if (!nr_bytes)
        return true;
    dump->data_bytes += nr_bytes;
    return put(dump, &record, sizeof(record)) && put(dump, seep_g.base + off, nr_bytes);
}

// The pages of [off, off + size) that have data. Pages that the file does not have are not touched.
static bool put_range(struct dump *dump, uint64_t off, uint64_t size) {
    unsigned char present[512];
    uint64_t run = off;
    uint64_t at = off;
    while (at < off + size) {
        uint64_t nr_pages = SEEP_MIN((off + size - at) / SEEP_POOL_PAGE, sizeof(present));
        if (nr_pages == 0)
            break;
        if (!seep_pages_present(seep_g.base + at, nr_pages, present))
            return false;
        for (uint64_t i = 0; i < nr_pages; i++, at += SEEP_POOL_PAGE) {
            if ((present[i] & 1) && !is_zero(seep_g.base + at))
                continue;
            if (!put_run(dump, run, at - run))
                return false;
            run = at + SEEP_POOL_PAGE;
        }
    }
    return put_run(dump, run, at - run);
}

static bool put_image(struct dump *dump) {
    struct seep_raw_header header = {.magic = SEEP_RAW_MAGIC, .version = SEEP_RAW_VERSION};
    if (!put(dump, &header, sizeof(header)) || !put_range(dump, 0, SEEP_POOL_PAGE))
        return false;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        // To ask for pages that nobody was given costs more than to write those that there are.
        uint64_t filled = seep_window_filled(seep_g.base, (enum seep_area_kind)i);
        if (!put_range(dump, seep_g.area_off[i], SEEP_MIN(seep_g.opened[i], filled)))
            return false;
    }
    struct seep_raw_record end = {.image_offset = SEEP_RAW_END, .nr_bytes = dump->data_bytes};
    return put(dump, &end, sizeof(end));
}

struct name {
    char text[NAME_BYTES];
    size_t length;
};

static void name_add(struct name *name, const char *text, size_t length) {
    for (size_t i = 0; i < length && name->length < NAME_BYTES - 8; i++)
        name->text[name->length++] = text[i];
    name->text[name->length] = 0;
}

static void name_add_number(struct name *name, uint32_t number) {
    char digits[10];
    size_t nr = 0;
    do
        digits[nr++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (nr)
        name_add(name, &digits[--nr], 1);
}

// The file name of the program, without its directory.
static const char *program_name(void) {
    const char *strings = (const char *)seep_g.base + seep_g.area_off[SEEP_AREA_STRINGS];
    const char *exe = strings + seep_g.header->exe_off;
    const char *name = exe;
    for (; *exe; exe++)
        if (*exe == '/')
            name = exe + 1;
    return name;
}

static void expand(struct name *name, const char *pattern) {
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'e')
            name_add(name, program_name(), __builtin_strlen(program_name())), pattern++;
        else if (pattern[0] == '%' && pattern[1] == 'p')
            name_add_number(name, seep_g.header->pid), pattern++;
        else
            name_add(name, pattern, 1);
    }
}

void seep_dump_name(char *ret_path, size_t room) {
    seep_news_take();
    const char *pattern = *seep_g.config.out ? seep_g.config.out : "seep.%e.%p.seep";
    struct name name;
    name.length = 0;
    expand(&name, pattern);
    size_t length = SEEP_MIN(name.length, room - 1);
    __builtin_memcpy(ret_path, name.text, length);
    ret_path[length] = 0;
}

static uint64_t file_limit(void) {
    struct rlimit limit;
    if (sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

static bool is_there(const char *path) {
    struct stat about;
    return sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&about, AT_SYMLINK_NOFOLLOW, 0, 0) == 0;
}

// Who writes there wants nothing. Other files that are none, a device or a pipe, are neither written nor
// replaced.
static bool is_special_file(const char *path) {
    struct stat about;
    return sys6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&about, 0, 0, 0) == 0 && !S_ISREG(about.st_mode);
}

int seep_folder_of(const char *path, const char **ret_name) {
    char folder[NAME_BYTES];
    size_t length = 0;
    for (size_t i = 0; path[i] && i < sizeof(folder) - 1; i++) {
        folder[i] = path[i];
        if (path[i] == '/')
            length = i + 1;
    }
    *ret_name = path + length;
    folder[length] = 0;
    int fd = sys_open(length ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    struct stat about;
    if (fd < 0)
        return fd;
    bool known = sys6(SYS_newfstatat, fd, (long)"", (long)&about, AT_EMPTY_PATH, 0, 0) == 0;
    if (known &&
        (about.st_uid == 0 || about.st_mode & S_ISVTX || about.st_uid == (uid_t)sys3(SYS_geteuid, 0, 0, 0)))
        return fd;
    sys_close(fd);
    return known ? -EACCES : -EIO;
}

// What SEEP_OUT names is replaced. The usual name of another trace is not: then it is "seep.app.123.2.seep",
// and so on to 9.
static void find_name(struct name *final) {
    for (char digit = '2'; digit <= '9' && !*seep_g.config.out && is_there(final->text); digit++) {
        final->length -= digit == '2' ? 4 : 6;
        name_add(final, &digit, 1);
        name_add(final, ".seep", 6); // with its end
        final->length--;
    }
}

static void write_and_rename(struct dump *dump, int folder, const char *temporary, const char *name) {
    seep_g.header->copied_ns = seep_clock_ns(CLOCK_MONOTONIC);
    if (!seep_swap_in(seep_g.base))
        seep_lost(SEEP_LOST_SWAPPED);
    bool whole = put_image(dump);
    sys_close(dump->fd);
    whole = whole && sys6(SYS_renameat2, folder, (long)temporary, folder, (long)name, 0, 0) == 0;
    if (!whole)
        sys3(SYS_unlinkat, folder, temporary, 0);
}

void seep_dump(void) {
    static _Atomic uint32_t at_work;
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY ||
        atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1 || !seep_calls_seem_free() ||
        atomic_exchange(&at_work, 1))
        return;
    seep_news_take();
    const char *pattern = *seep_g.config.out ? seep_g.config.out : "seep.%e.%p.seep";
    static struct name final; // too large for a signal stack; at_work guards it
    static struct name temporary;
    final.length = temporary.length = 0;
    expand(&final, pattern);
    name_add(&temporary, final.text, final.length);
    name_add(&temporary, ".", 1);
    name_add_number(&temporary, seep_g.header->pid);
    find_name(&final);
    const char *name, *temporary_name;
    int folder = is_special_file(final.text) ? -1 : seep_folder_of(final.text, &name);
    if (folder >= 0) {
        temporary_name = temporary.text + (name - final.text);
        struct dump dump = {
            .fd = (int)sys6(SYS_openat, folder, (long)temporary_name,
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600, 0, 0),
            .limit_bytes = file_limit(),
        };
        if (dump.fd >= 0)
            write_and_rename(&dump, folder, temporary_name, name);
        sys_close(folder);
    }
    atomic_store(&at_work, 0);
}

// The process is leaving in an orderly way. With a tool there is nothing to do but to say so.
void seep_at_exit(int status) {
    seep_undo_leave();
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY ||
        atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1)
        return;
    if (seep_calls_seem_free() && sys_getpid() != seep_g.header->pid)
        return; // a child of vfork: it shares our memory, and is not us
    seep_news_take();
    seep_g.header->end_ns = seep_clock_ns(CLOCK_MONOTONIC);
    seep_g.header->exit_code = status == SEEP_STATUS_UNKNOWN ? status : status & 0xff;
    seep_g.header->state = SEEP_STATE_EXITED;
    if (!seep_g.handed_over && !*seep_g.config.socket && seep_g.config.mode != SEEP_MODE_LOG)
        seep_dump();
}
