// SPDX-License-Identifier: BSD-2-Clause
//
// SEEP_MODE=log: one line for each call of an allocation function, in one write, so that lines of threads and
// processes stay whole:
//
//     function<TAB>arguments<TAB>result[<TAB>seconds][<TAB>thread][<TAB>caller]
//
// The lines come from what stands in for the real functions: so they have the arguments as the program gave
// them. What is freed is written before it is freed, and what is allocated after: in a file of one
// process a block is never handed out twice. A line that cannot be written is counted as lost, and the
// program notices nothing: no signal of a closed pipe or a full limit, no descriptor of its own written to.
#include <errno.h>
#include <sys/stat.h>

#include "preload/boot_allocator.h"
#include "preload/call_counts.h"
#include "preload/proc_maps.h"

enum { LINE_BYTES = 512, PAUSE_MOST = 1023 };

static struct {
    struct seep_real real; // without the lines
    int fd;
    bool own; // we opened it, and may again
    struct seep_file_id id;
    uint32_t pid;   // that opened it; 0: the file is the same in every process
    uint64_t frame; // where log_lock was taken
    // Where there is no room, lines are not tried one by one: a disk may take long to say no. Both relaxed.
    uint32_t pause; // lines to leave out after the next one that finds no room
    uint32_t left;  // of these lines
    bool torn;      // a line found room for its first part only
} log_g = {.fd = -1};

// ---- where it goes ----

// A regular file, in a folder where no other user can put another one in its place.
static int open_own(void) {
    enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK };
    const char *name;
    struct stat64 about;
    int folder = seep_folder_of(seep_dump_name(), &name);
    if (folder < 0)
        return folder;
    int fd = (int)sys6(SYS_openat, folder, (long)name, FLAGS, 0600, 0, 0);
    sys_close(folder);
    if (fd < 0 || (sys_stat_at(fd, "", &about, AT_EMPTY_PATH) && S_ISREG(about.st_mode)))
        return fd;
    sys_close(fd);
    return -1;
}

// A child whose file has another name opens that. It writes to the same file by its parent's descriptor,
// because it may have given up the right to open it.
static bool is_of_another(void) {
    return log_g.pid && log_g.pid != seep_confined.pid;
}

static bool has_pid(const char *pattern) {
    while (*pattern && (pattern[0] != '%' || pattern[1] != 'p'))
        pattern++;
    return *pattern != 0;
}

static void open_log(void) {
    int fd = seep_g.config.log_fd;
    log_g.own = *seep_g.config.out != 0 && fd < 0;
    if (log_g.own) {
        fd = open_own();
    } else if (fd < 0) {
        fd = 2;
    }
    log_g.pid = log_g.own && has_pid(seep_g.config.out) ? seep_confined.pid : 0;
    bool there = fd >= 0 && (log_g.own ? seep_file_keep(&fd, &log_g.id) : seep_file_identify(fd, &log_g.id));
    __atomic_store_n(&log_g.fd, there ? fd : -1, __ATOMIC_RELEASE);
}

// Lines are written outside of any guard. A handler that leaves by longjmp may have left the lock.
static bool take_lock(void) {
    uint32_t owner = atomic_load_explicit(&seep_g.log_lock.owner, memory_order_relaxed);
    if (owner && CPU_FRAME() >= log_g.frame && owner == sys_gettid() && !seep_is_on_alternate_stack())
        seep_lock_release(&seep_g.log_lock);
    if (!seep_lock_take(&seep_g.log_lock))
        return false;
    log_g.frame = CPU_FRAME();
    return true;
}

static int descriptor(void) {
    int fd = __atomic_load_n(&log_g.fd, __ATOMIC_ACQUIRE);
    if (SEEP_LIKELY(!is_of_another() && seep_file_is(fd, &log_g.id)))
        return fd;
    if (!log_g.own || !take_lock())
        return -1;
    bool good = seep_file_is(log_g.fd, &log_g.id);
    if (!good || is_of_another()) {
        if (good)
            sys_close(log_g.fd);
        open_log();
    }
    fd = log_g.fd;
    seep_lock_release(&seep_g.log_lock);
    return fd;
}

// ---- a line ----

struct line {
    char text[LINE_BYTES];
    size_t length;
};

static void put_text(struct line *line, const char *text) {
    while (*text && line->length < LINE_BYTES - 1)
        line->text[line->length++] = *text++;
}

static void put_number(struct line *line, uint64_t value, unsigned base, unsigned least) {
    char digits[20];
    unsigned nr = 0;
    do {
        digits[nr++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value || nr < least);
    while (nr && line->length < LINE_BYTES - 1)
        line->text[line->length++] = digits[--nr];
}

static void put_pointer(struct line *line, const void *pointer) {
    put_text(line, pointer ? "0x" : "(nil)");
    if (pointer)
        put_number(line, (uintptr_t)pointer, 16, 1);
}

static void put_caller(struct line *line, uint64_t pc) {
    struct seep_module_at at = {.module = 0};
    const char *name = NULL;
    if (seep_lock_take(&seep_g.rules_lock)) {
        if (seep_module_find(pc, &at) && at.module) {
            const struct seep_image_module *modules =
                (const struct seep_image_module *)(seep_g.base + seep_g.area_off[SEEP_AREA_MODULES]);
            name =
                (const char *)seep_g.base + seep_g.area_off[SEEP_AREA_STRINGS] + modules[at.module].path_off;
        }
        seep_lock_release(&seep_g.rules_lock);
    }
    const char *last = name;
    for (; name && *name; name++)
        if (*name == '/')
            last = name + 1;
    if (last) {
        // What would end a field or a line is no part of a name here.
        for (; *last && line->length < LINE_BYTES - 24; last++)
            line->text[line->length++] = (unsigned char)*last < ' ' ? '?' : *last;
        put_text(line, "+");
    }
    put_text(line, "0x");
    put_number(line, pc - at.bias_rt, 16, 1);
}

#ifdef CPU_HOOK_BP
#define FRAME() NULL // no record
#else
#define FRAME() ((const seep_stack_word *)__builtin_frame_address(0))
#endif

static uint64_t caller_of(const seep_stack_word *frame) {
#ifdef CPU_HOOK_BP
    (void)frame;
    return seep_stack_hook_caller();
#else
    return seep_arch_strip(seep_frame_of_hook(frame)[1]);
#endif
}

static void put_columns(struct line *line, const seep_stack_word *frame) {
    uint32_t columns = seep_g.config.log_columns;
    if (columns & SEEP_LOG_TIME) {
        uint64_t ns = seep_clock_ns(CLOCK_MONOTONIC) - seep_g.header->start_ns;
        put_text(line, "\t");
        put_number(line, ns / 1000000000, 10, 1);
        put_text(line, ".");
        put_number(line, ns % 1000000000, 10, 9);
    }
    if (columns & SEEP_LOG_THREAD) {
        put_text(line, "\t");
        put_number(line, sys_gettid(), 10, 1);
    }
    if (columns & SEEP_LOG_CALLER) {
        put_text(line, "\t");
        put_caller(line, caller_of(frame));
    }
}

// The signals that a write to a closed pipe or beyond a limit makes are ours alone: blocked
// meanwhile, and taken back, unless the same was waiting before.
// Returns the error, or 0.
static long write_line(int fd, const char *text, size_t length) {
    const uint64_t ours[SYS_SIGSET_WORDS] = {UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1)};
    uint64_t before[SYS_SIGSET_WORDS] = {0}, waiting[SYS_SIGSET_WORDS] = {0};
    sys6(SYS_rt_sigprocmask, SIG_BLOCK, (long)ours, (long)before, SYS_SIGSET_BYTES, 0, 0);
    sys6(SYS_rt_sigpending, (long)waiting, SYS_SIGSET_BYTES, 0, 0, 0, 0);
    long written = 0;
    while (length) {
        written = sys3(SYS_write, fd, text, length);
        if (written == -EINTR)
            continue;
        if (written <= 0)
            break;
        text += written;
        length -= (size_t)written;
        __atomic_store_n(&log_g.torn, length != 0, __ATOMIC_RELAXED);
    }
    const uint64_t fresh[SYS_SIGSET_WORDS] = {ours[0] & ~waiting[0]};
    if ((written == -EPIPE || written == -EFBIG) && fresh[0]) {
        struct timespec none = {0, 0};
        sys6(SYS_rt_sigtimedwait, (long)fresh, 0, (long)&none, SYS_SIGSET_BYTES, 0, 0);
    }
    sys6(SYS_rt_sigprocmask, SIG_SETMASK, (long)before, 0, SYS_SIGSET_BYTES, 0, 0);
    return length ? (written ? written : -EIO) : 0;
}

// A child may have a file of its own, and room in it.
static bool is_left_out(void) {
    uint32_t left = __atomic_load_n(&log_g.left, __ATOMIC_RELAXED);
    if (!left || is_of_another())
        return false;
    __atomic_store_n(&log_g.left, left - 1, __ATOMIC_RELAXED);
    return true;
}

static void keep_pace(bool found_room) {
    uint32_t pause = found_room ? 0 : __atomic_load_n(&log_g.pause, __ATOMIC_RELAXED);
    __atomic_store_n(&log_g.left, pause, __ATOMIC_RELAXED);
    pause = found_room ? 0 : SEEP_MIN(2 * pause + 1, PAUSE_MOST);
    __atomic_store_n(&log_g.pause, pause, __ATOMIC_RELAXED);
}

static bool is_at_work(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY;
}

// A child that has no image yet makes it first: else the loss, and the name of the file, would be its
// parent's.
static void finish(struct line *line, const seep_stack_word *frame) {
    bool is_made;
    if (atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1 &&
        !seep_fork_child(CPU_FRAME(), &is_made))
        return;
    put_columns(line, frame);
    line->text[line->length++] = '\n';
    // Each line needs calls that the program may have forbidden itself since the last one.
    long trouble = -EAGAIN;
    if (!is_left_out() && seep_calls_are_free()) {
        int fd = descriptor();
        trouble = fd < 0 ? -EBADF : write_line(fd, line->text, line->length);
        if (trouble != -EAGAIN) // a reader that is slow may be back for the next one
            keep_pace(trouble == 0);
    }
    if (trouble)
        seep_lost(SEEP_LOST_LOG);
}

// ---- what stands in for the real functions ----

struct call {
    const char *function;
    const void *block; // the first argument, where there is one
    bool has_block;
    unsigned nr_numbers;
    uint64_t numbers[2]; // the other arguments
    bool returns;
    const void *result;
};

static SEEP_NOINLINE void tell(const struct call *call, const seep_stack_word *frame) {
    if (!is_at_work())
        return;
    struct line line;
    line.length = 0;
    if (__atomic_load_n(&log_g.torn, __ATOMIC_RELAXED))
        put_text(&line, "\n");
    put_text(&line, call->function);
    put_text(&line, "\t");
    if (call->has_block)
        put_pointer(&line, call->block);
    for (unsigned i = 0; i < call->nr_numbers; i++) {
        put_text(&line, i || call->has_block ? " " : "");
        put_number(&line, call->numbers[i], 10, 1);
    }
    put_text(&line, "\t");
    if (call->returns)
        put_pointer(&line, call->result);
    else
        put_text(&line, "-");
    finish(&line, frame);
}

static void *tell_allocation(const char *function, uint64_t first, uint64_t second, unsigned nr, void *result,
                             const seep_stack_word *frame) {
    struct call call = {.function = function,
                        .nr_numbers = nr,
                        .numbers = {first, second},
                        .returns = true,
                        .result = result};
    tell(&call, frame);
    return result;
}

static void tell_release(const char *function, const void *block, const seep_stack_word *frame) {
    struct call call = {.function = function, .has_block = true, .block = block};
    tell(&call, frame);
}

static void *logged_malloc(size_t size) {
    return tell_allocation("malloc", size, 0, 1, log_g.real.malloc(size), FRAME());
}

static void logged_free(void *block) {
    tell_release("free", block, FRAME());
    log_g.real.free(block);
}

static void *logged_calloc(size_t count, size_t size) {
    return tell_allocation("calloc", count, size, 2, log_g.real.calloc(count, size), FRAME());
}

static void *logged_realloc(void *block, size_t size) {
    void *fresh = log_g.real.realloc(block, size);
    struct call call = {.function = "realloc",
                        .has_block = true,
                        .block = block,
                        .nr_numbers = 1,
                        .numbers = {size},
                        .returns = true,
                        .result = fresh};
    tell(&call, FRAME());
    return fresh;
}

static int logged_posix_memalign(void **ret_block, size_t alignment, size_t size) {
    int result = log_g.real.posix_memalign(ret_block, alignment, size);
    tell_allocation("posix_memalign", alignment, size, 2, result == 0 ? *ret_block : NULL, FRAME());
    return result;
}

static void *logged_aligned_alloc(size_t alignment, size_t size) {
    return tell_allocation("aligned_alloc", alignment, size, 2, log_g.real.aligned_alloc(alignment, size),
                           FRAME());
}

static void *logged_memalign(size_t alignment, size_t size) {
    return tell_allocation("memalign", alignment, size, 2, log_g.real.memalign(alignment, size), FRAME());
}

static void *logged_valloc(size_t size) {
    return tell_allocation("valloc", size, 0, 1, log_g.real.valloc(size), FRAME());
}

static void *logged_pvalloc(size_t size) {
    return tell_allocation("pvalloc", size, 0, 1, log_g.real.pvalloc(size), FRAME());
}

void *seep_calls_log_new(size_t size, enum seep_via via) {
    void *block = log_g.real.malloc(size ? size : 1);
    if (!block)
        return NULL; // the real operator follows, which says what becomes of it
    return tell_allocation(via == SEEP_VIA_NEW ? "operator new" : "operator new[]", size, 0, 1, block,
                           FRAME());
}

void seep_calls_log_delete(void *block, uint32_t form) {
    tell_release(form % 2 ? "operator delete[]" : "operator delete", block, FRAME());
    log_g.real.free(block);
}

void seep_calls_log_start(void) {
    log_g.real = seep_g.real;
    open_log();
    SEEP_EXCHANGE_REAL(malloc, logged_malloc);
    SEEP_EXCHANGE_REAL(free, logged_free);
    SEEP_EXCHANGE_REAL(calloc, logged_calloc);
    SEEP_EXCHANGE_REAL(realloc, logged_realloc);
    SEEP_EXCHANGE_REAL(posix_memalign, logged_posix_memalign);
    SEEP_EXCHANGE_REAL(aligned_alloc, logged_aligned_alloc);
    SEEP_EXCHANGE_REAL(memalign, logged_memalign);
    SEEP_EXCHANGE_REAL(valloc, logged_valloc);
    SEEP_EXCHANGE_REAL(pvalloc, logged_pvalloc);
}
