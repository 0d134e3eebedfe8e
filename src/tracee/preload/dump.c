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
#include "preload/areas.h"
#include "preload/events.h"
#include "preload/preload.h"
#include "preload/image_swap.h"
#include "preload/fork_undo.h"
#include "preload/image_window.h"

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
    for (size_t i = 0; i < SEEP_IMAGE_PAGE / sizeof(*word); i++)
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
        uint64_t nr_pages = SEEP_MIN((off + size - at) / SEEP_IMAGE_PAGE, sizeof(present));
        if (nr_pages == 0)
            break;
        if (!seep_pages_present(seep_g.base + at, nr_pages, present))
            return false;
        for (uint64_t i = 0; i < nr_pages; i++, at += SEEP_IMAGE_PAGE) {
            if ((present[i] & 1) && !is_zero(seep_g.base + at))
                continue;
            if (!put_run(dump, run, at - run))
                return false;
            run = at + SEEP_IMAGE_PAGE;
        }
    }
    return put_run(dump, run, at - run);
}

static bool put_header(struct dump *dump) {
    struct seep_raw_header header = {.magic = SEEP_RAW_MAGIC, .version = SEEP_RAW_VERSION};
    return put(dump, &header, sizeof(header));
}

static bool put_areas(struct dump *dump, int from, int end) {
    for (int i = from; i < end; i++) {
        // To ask for pages that were not handed out costs more than to write those that there are.
        uint64_t filled = seep_window_filled(seep_g.base, (enum seep_area_kind)i);
        if (!put_range(dump, seep_g.area_off[i], SEEP_MIN(seep_g.opened[i], filled)))
            return false;
    }
    return true;
}

// Other threads go on meanwhile. Blocks and counters are written before the sites, so that each refers to a
// site in the dump. The header is the first record, because readers of a cut dump need it. Its counts are
// written between the two.
static bool put_image(struct dump *dump) {
    uint64_t header_off = dump->written_bytes + sizeof(struct seep_raw_record);
    if (!put_range(dump, 0, SEEP_IMAGE_PAGE) || !put_areas(dump, SEEP_AREA_ODD, SEEP_AREA_PAGED_NR) ||
        sys_write_at(dump->fd, seep_g.base, SEEP_IMAGE_PAGE, header_off) != SEEP_IMAGE_PAGE ||
        !put_areas(dump, SEEP_AREA_STRINGS, SEEP_AREA_ODD))
        return false;
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

static void name_add_program(struct name *name) {
    const char *text = program_name();
    size_t from = name->length;
    name_add(name, text, __builtin_strlen(text));
    for (; from < name->length; from++) // escape sequences are for no listing of files
        if ((unsigned char)name->text[from] < ' ' || name->text[from] == 127)
            name->text[from] = '_';
}

static void expand(struct name *name, const char *pattern) {
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'e')
            name_add_program(name), pattern++;
        else if (pattern[0] == '%' && pattern[1] == 'p')
            name_add_number(name, seep_g.header->pid), pattern++;
        else
            name_add(name, pattern, 1);
    }
}

char *seep_dump_name(void) {
    static struct name name; // too large for a signal stack
    seep_news_take();
    name.length = 0;
    expand(&name, *seep_g.config.out ? seep_g.config.out : "seep.%e.%p.seep");
    return name.text;
}

static uint64_t file_limit(void) {
    struct rlimit64 limit;
    if (!sys_limit(RLIMIT_FSIZE, NULL, &limit) || limit.rlim_cur == RLIM64_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

static bool is_there(const char *path) {
    struct stat64 about;
    return sys_stat_at(AT_FDCWD, path, &about, AT_SYMLINK_NOFOLLOW);
}

// Who writes there wants nothing. Other files that are none, a device or a pipe, are neither written nor
// replaced.
static bool is_special_file(const char *path) {
    struct stat64 about;
    return sys_stat_at(AT_FDCWD, path, &about, 0) && !S_ISREG(about.st_mode);
}

int seep_folder_of(char *path, const char **ret_name) {
    size_t length = 0;
    for (size_t i = 0; path[i]; i++)
        if (path[i] == '/')
            length = i + 1;
    *ret_name = path + length;
    char first = path[length];
    path[length] = 0;
    int fd = sys_open(length ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    path[length] = first;
    struct stat64 about;
    if (fd < 0)
        return fd;
    bool known = sys_stat_at(fd, "", &about, AT_EMPTY_PATH);
    if (known &&
        (about.st_uid == 0 || about.st_mode & S_ISVTX || about.st_uid == (uid_t)sys3(SYS_geteuid, 0, 0, 0)))
        return fd;
    sys_close(fd);
    return known ? -EACCES : -EIO;
}

bool seep_file_identify(int fd, struct seep_file_id *ret_id) {
    struct stat64 about;
    if (!sys_stat_at(fd, "", &about, AT_EMPTY_PATH))
        return false;
    ret_id->device = about.st_dev;
    ret_id->inode = about.st_ino;
    return true;
}

bool seep_file_keep(int *fd, struct seep_file_id *ret_id) {
    enum { FIRST_FD = 512 };
    long high = sys3(SYS_fcntl, *fd, F_DUPFD_CLOEXEC, FIRST_FD);
    if (!sys_failed(high)) {
        sys_close(*fd);
        *fd = (int)high;
    }
    return seep_file_identify(*fd, ret_id);
}

bool seep_file_is(int fd, const struct seep_file_id *id) {
    struct seep_file_id now;
    return fd >= 0 && seep_file_identify(fd, &now) && now.device == id->device && now.inode == id->inode;
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

// ---- the file ----------------------------------------------------------------------------------------

// Nothing to do after OVER: the events are in the file, and an image behind them. EARLY: the file was begun
// for events, and is of the thread that ends it.
enum { IDLE, OVER, EARLY };

// A word that only this thread has: a thread waits for others, not for itself in a signal handler.
static uintptr_t self(void) {
    return (uintptr_t)&errno;
}

static struct {
    _Atomic uintptr_t at_work; // IDLE, OVER, EARLY, or self() of a thread
    _Atomic bool has_left;     // a file was written because the process leaves
    struct name final;         // too large for a signal stack; at_work guards all of it
    struct name temporary;
    int folder;
    struct dump dump;
    struct seep_file_id id; // of one that stays open, and of its folder
    struct seep_file_id folder_id;
} file;

static const char *name_in_folder(const struct name *name) {
    const char *base = name->text;
    for (const char *at = name->text; *at; at++)
        if (*at == '/')
            base = at + 1;
    return base;
}

static int open_temporary(void) {
    return (int)sys6(SYS_openat, file.folder, (long)name_in_folder(&file.temporary),
                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600, 0, 0);
}

static bool open_file(void) {
    seep_news_take();
    const char *pattern = *seep_g.config.out ? seep_g.config.out : "seep.%e.%p.seep";
    file.final.length = file.temporary.length = 0;
    expand(&file.final, pattern);
    name_add(&file.temporary, file.final.text, file.final.length);
    name_add(&file.temporary, ".", 1);
    name_add_number(&file.temporary, seep_g.header->pid);
    find_name(&file.final);
    const char *name;
    file.folder = is_special_file(file.final.text) ? -1 : seep_folder_of(file.final.text, &name);
    if (file.folder < 0)
        return false;
    file.dump = (struct dump){.fd = open_temporary(), .limit_bytes = file_limit()};
    // A process that has this number may have begun one before it executed this program.
    for (char digit = '2'; file.dump.fd == -EEXIST && digit <= '9'; digit++) {
        file.temporary.length -= digit == '2' ? 0 : 2;
        name_add(&file.temporary, ".", 1);
        name_add(&file.temporary, &digit, 1);
        file.dump.fd = open_temporary();
    }
    if (file.dump.fd >= 0)
        return true;
    sys_close(file.folder);
    return false;
}

static void close_file(bool whole) {
    sys_close(file.dump.fd);
    const char *temporary = name_in_folder(&file.temporary);
    whole = whole && sys6(SYS_renameat2, file.folder, (long)temporary, file.folder,
                          (long)name_in_folder(&file.final), 0, 0) == 0;
    if (!whole)
        sys3(SYS_unlinkat, file.folder, temporary, 0);
    sys_close(file.folder);
}

static void bring_up_to_date(void) {
    seep_g.header->copied_ns = seep_clock_ns(CLOCK_MONOTONIC);
    seep_g.header->copied_stamp = seep_g.header->flags & SEEP_FLAG_EVENTS ? event_clock() : 0;
    if (!seep_swap_in(seep_g.base))
        seep_lost(SEEP_LOST_SWAPPED);
}

// ---- what is appended before the image ---------------------------------------------------------------

enum { NOT_BEGUN, BEGINNING, BEGUN, FAILED, ENDED };

static struct {
    _Atomic uint32_t state;
    _Atomic uint32_t nr_writers;
    _Atomic uint32_t showing;
    _Atomic uint64_t end;      // of the file: where the next record goes
    _Atomic uint64_t good_end; // where the first one stands that could not be written
    _Atomic uint64_t nr_events;
    uint64_t shown_bytes[SEEP_AREA_NR]; // of an area; `showing` guards it
} early;

// A handler that interrupted the thread that begins the file does not wait for it.
static void wait_for_beginner(void) {
    for (int turn = 0; turn < 10000; turn++) {
        if (atomic_load(&early.state) != BEGINNING || atomic_load(&file.at_work) == self())
            return;
        sys_nap_us(100);
    }
}

// A child of vfork has our memory and descriptors of its own: what it opened, others would take for theirs.
static bool begin_early(void) {
    uint32_t state = NOT_BEGUN;
    if (sys_getpid() != seep_g.header->pid)
        return false;
    if (atomic_compare_exchange_strong(&early.state, &state, BEGINNING)) {
        uintptr_t idle = IDLE;
        bool mine = atomic_compare_exchange_strong(&file.at_work, &idle, self());
        bool good = mine && open_file();
        if (good && (!seep_file_keep(&file.dump.fd, &file.id) ||
                     !seep_file_keep(&file.folder, &file.folder_id) || !put_header(&file.dump))) {
            close_file(false);
            good = false;
        }
        if (mine)
            atomic_store(&file.at_work, good ? EARLY : IDLE);
        atomic_store(&early.good_end, UINT64_MAX);
        atomic_store(&early.end, file.dump.written_bytes);
        atomic_store(&early.state, good ? BEGUN : ENDED);
        return good;
    }
    wait_for_beginner();
    return atomic_load(&early.state) == BEGUN;
}

// Each record has a place of its own, so that threads need not wait for one another. Since the last one the
// program may have lowered the limit, or closed the descriptor and opened a file of its own there.
static bool put_at(uint64_t off, const void *bytes, uint64_t nr_bytes) {
    const unsigned char *at = bytes;
    if (off + nr_bytes > file_limit() || !seep_file_is(file.dump.fd, &file.id))
        return false;
    while (nr_bytes) {
        long written = sys_write_at(file.dump.fd, at, nr_bytes, off);
        if (written == -4 /* EINTR */)
            continue;
        if (written <= 0)
            return false;
        at += written;
        off += (uint64_t)written;
        nr_bytes -= (uint64_t)written;
    }
    return true;
}

static void fail_early(uint64_t off) {
    uint64_t good = atomic_load(&early.good_end);
    while (off < good && !atomic_compare_exchange_weak(&early.good_end, &good, off))
        ;
    uint32_t state = BEGUN;
    atomic_compare_exchange_strong(&early.state, &state, FAILED);
}

static bool show_pages(uint64_t from, uint64_t to) {
    struct seep_raw_record record = {.image_offset = from, .nr_bytes = to - from};
    uint64_t off = atomic_fetch_add(&early.end, sizeof(record) + record.nr_bytes);
    bool good = put_at(off, &record, sizeof(record)) &&
                put_at(off + sizeof(record), seep_g.base + from, record.nr_bytes);
    if (!good)
        fail_early(off);
    return good;
}

// What events refer to, as far as the file does not have it.
static void show_stacks(void) {
    static const enum seep_area_kind areas[] = {SEEP_AREA_STRINGS, SEEP_AREA_MODULES, SEEP_AREA_NODES,
                                                SEEP_AREA_SITES, SEEP_AREA_THREADS};
    if (atomic_exchange(&early.showing, 1))
        return;
    bool grew = false, good = true;
    for (size_t i = 0; good && i < SEEP_ARRAY_SIZE(areas); i++) {
        enum seep_area_kind kind = areas[i];
        uint64_t *shown = &early.shown_bytes[kind];
        uint64_t used =
            seep_area_filled_bytes(kind, __atomic_load_n(&seep_g.header->areas[kind].used, __ATOMIC_ACQUIRE));
        used = SEEP_MIN(used, seep_g.opened[kind]); // what others may write is not trusted
        if (used <= *shown)
            continue;
        uint64_t first = *shown & ~(uint64_t)(SEEP_IMAGE_PAGE - 1);
        uint64_t end = (used + SEEP_IMAGE_PAGE - 1) & ~(uint64_t)(SEEP_IMAGE_PAGE - 1);
        good = show_pages(seep_g.area_off[kind] + first, seep_g.area_off[kind] + end);
        *shown = used;
        grew = true;
    }
    if (grew && good)
        show_pages(0, SEEP_IMAGE_PAGE);
    atomic_store(&early.showing, 0);
}

bool seep_dump_events(const void *record, uint64_t nr_bytes, uint64_t nr_events) {
    if (!seep_calls_seem_free() || (atomic_load(&early.state) != BEGUN && !begin_early()))
        return false;
    atomic_fetch_add(&early.nr_writers, 1);
    bool good = atomic_load(&early.state) == BEGUN;
    if (good) {
        show_stacks();
        uint64_t off = atomic_fetch_add(&early.end, nr_bytes);
        good = put_at(off, record, nr_bytes);
        if (good)
            atomic_fetch_add(&early.nr_events, nr_events);
        else
            fail_early(off);
    }
    atomic_fetch_sub(&early.nr_writers, 1);
    return good;
}

// Only what is still ours.
static void let_go(void) {
    if (seep_file_is(file.dump.fd, &file.id))
        sys_close(file.dump.fd);
    if (seep_file_is(file.folder, &file.folder_id))
        sys_close(file.folder);
}

// The file is the parent's.
void seep_dump_in_child(void) {
    if (SEEP_MODES)
        seep_events_in_child();
    uint32_t state = atomic_exchange(&early.state, NOT_BEGUN);
    if ((state == BEGUN || state == FAILED) && !seep_confined.filtered)
        let_go();
    atomic_store(&file.at_work, IDLE);
    atomic_store(&file.has_left, false);
    atomic_store(&early.nr_writers, 0);
    atomic_store(&early.showing, 0);
    atomic_store(&early.nr_events, 0);
    __builtin_memset(early.shown_bytes, 0, sizeof(early.shown_bytes));
}

// ---- the whole ---------------------------------------------------------------------------------------

static bool is_ours(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY &&
           atomic_load_explicit(seep_g.alive, memory_order_acquire) == 1 && seep_calls_seem_free();
}

static void write_file(void) {
    if (open_file()) {
        bring_up_to_date();
        close_file(put_header(&file.dump) && put_image(&file.dump));
    }
}

void seep_dump(void) {
    uintptr_t idle = IDLE;
    if (!is_ours() || !atomic_compare_exchange_strong(&file.at_work, &idle, self()))
        return;
    write_file();
    atomic_store(&file.at_work, IDLE);
}

static bool go_to(uint64_t off) {
    file.dump.written_bytes = off;
    file.dump.data_bytes = 0;
    file.dump.limit_bytes = file_limit();
    return sys3(SYS_ftruncate, file.dump.fd, off, 0) == 0 && sys3(SYS_lseek, file.dump.fd, off, 0) >= 0;
}

static void lose_events(void) {
    __atomic_fetch_add(seep_lost_place(SEEP_LOST_EVENT), atomic_load(&early.nr_events), __ATOMIC_RELAXED);
}

// The image behind the events; where that does not fit, without them. A file that the program has closed
// stays as it is, and the image gets one of its own.
static void end_early(void) {
    for (int turn = 0; atomic_load(&early.nr_writers) && turn < 10000; turn++)
        sys_nap_us(100);
    if (!seep_file_is(file.dump.fd, &file.id) || !seep_file_is(file.folder, &file.folder_id)) {
        let_go();
        lose_events();
        write_file();
        return;
    }
    struct seep_raw_record begin = {.image_offset = SEEP_RAW_WHOLE};
    bring_up_to_date();
    bool whole = go_to(SEEP_MIN(atomic_load(&early.end), atomic_load(&early.good_end))) &&
                 put(&file.dump, &begin, sizeof(begin)) && put_image(&file.dump);
    if (!whole) {
        lose_events();
        whole = go_to(0) && put_header(&file.dump) && put_image(&file.dump);
    }
    close_file(whole);
}

// Whether the file is this thread's now. It waits for another one, ten seconds at most.
static bool take_file(void) {
    for (int turn = 0; turn < 10000; turn++) {
        uintptr_t owner = IDLE;
        if (atomic_compare_exchange_strong(&file.at_work, &owner, self()))
            return !turn || !atomic_load(&file.has_left);
        if (owner == OVER || owner == self())
            return false;
        sys_nap_us(1000);
    }
    return false;
}

// Several threads may leave at once, and the first to end the process ends the others: it waits for the one
// that writes the file. A file that a signal asked for is written again, because it is not the last file.
static void dump_at_exit(void) {
    if (!is_ours())
        return;
    wait_for_beginner();
    uint32_t state = atomic_exchange(&early.state, ENDED);
    if (state == BEGUN || state == FAILED) {
        atomic_store(&file.at_work, self());
        end_early();
        atomic_store(&file.at_work, OVER);
    } else if (take_file()) {
        write_file();
        atomic_store(&file.has_left, true);
        atomic_store(&file.at_work, IDLE);
    }
}

// A child of vfork shares our memory, and is not us.
static bool has_image(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY &&
           atomic_load_explicit(seep_g.alive, memory_order_acquire) == 1 && !seep_filter_is_of_child() &&
           (!seep_calls_seem_free() || sys_getpid() == seep_g.header->pid);
}

void seep_at_exit_after_all(void) {
    if (has_image())
        seep_g.header->state = SEEP_STATE_LIVE;
}

// The process is leaving in an orderly way. With a tool there is nothing to do but to say so.
void seep_at_exit(int status) {
    seep_undo_leave();
    if (!has_image())
        return;
    seep_news_take();
    seep_g.header->end_ns = seep_clock_ns(CLOCK_MONOTONIC);
    seep_g.header->exit_code = status == SEEP_STATUS_UNKNOWN ? status : status & 0xff;
    seep_g.header->state = SEEP_STATE_EXITED;
    if ((SEEP_MODES && seep_events_leave()) ||
        (!seep_g.handed_over && !*seep_g.config.socket && seep_g.config.mode != SEEP_MODE_LOG))
        dump_at_exit();
}
