// SPDX-License-Identifier: BSD-2-Clause
//
// Start: finds the real functions (real_functions.c), reads SEEP_* once (settings.c), makes the image, meets
// the tool. Runs at the first heap operation of the process or from the constructor, whichever is
// first; the only places where libc functions are called that may take locks or allocate (dlsym).
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "preload/boot_allocator.h"
#include "preload/call_counts.h"
#include "preload/events.h"
#include "preload/loader_lists.h"
#include "preload/proc_maps.h"
#include "preload/preload.h"
#include "preload/sampling.h"
#include "preload/settings.h"
#include "preload/fork_undo.h"
#include "preload/wipe.h"

// glibc's name of it, and musl's: the library is built for one and runs with both.
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso)
    __attribute__((weak));
extern int plain_atfork(void (*prepare)(void), void (*parent)(void),
                        void (*child)(void)) __asm__("pthread_atfork") __attribute__((weak));

#ifdef __aarch64__
// libgcc's atomic functions ask glibc's function of this name which instructions the CPU has. musl has none:
// its loader would end the program.
unsigned long __getauxval(unsigned long type) __attribute__((visibility("hidden")));
unsigned long __getauxval(unsigned long type) {
    return getauxval(type);
}
#endif

struct seep_global seep_g = {
    .mode = {.modules_epoch = SEEP_FIRST_EPOCH},
    .real =
        {
            .malloc = seep_boot_malloc,
            .free = seep_boot_free,
            .calloc = seep_boot_calloc,
            .realloc = seep_boot_realloc,
            .posix_memalign = seep_boot_posix_memalign,
            .aligned_alloc = seep_boot_aligned_alloc,
            .memalign = seep_boot_memalign,
            .valloc = seep_boot_valloc,
            .pvalloc = seep_boot_pvalloc,
            .exit_now = NULL,
        },
    .fd = -1,
};

// Of a program that was given to the loader as an argument the kernel says that it runs the loader. 0: it was
// not.
static uint64_t name_of_argument(void) {
    const struct link_map *program = getauxval(AT_BASE) ? NULL : seep_loader_first();
    uint64_t name = 0;
    struct seep_maps *maps = program && program->l_ld ? seep_maps_open_with_paths() : NULL;
    if (!maps)
        return 0;
    for (const struct seep_maps_area *area; !name && (area = seep_maps_next(maps));)
        if ((uintptr_t)program->l_ld - area->start < area->end - area->start && area->path[0] == '/')
            name = seep_string(area->path, __builtin_strlen(area->path));
    seep_maps_close(maps);
    return name;
}

// Where seep_string() puts the next one: what is read to there needs no room on the stack, which may be
// small. The strings of the start leave room in what is open.
enum { TEXT_BYTES = 16384 };
static char *next_string(void) {
    return (char *)seep_g.base + seep_g.area_off[SEEP_AREA_STRINGS] +
           seep_g.header->areas[SEEP_AREA_STRINGS].used;
}

// exe and arguments, as the kernel has them. Strings too long for one read are cut.
static void describe_process(void) {
    struct seep_image_header *header = seep_g.header;
    char *text = next_string();
    long length = sys6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)text, TEXT_BYTES - 1, 0, 0);
    if (length > 0)
        header->exe_off = seep_string(text, (size_t)length);
    uint64_t name = name_of_argument();
    if (name)
        header->exe_off = name;
    int fd = sys_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    text = next_string();
    length = sys3(SYS_read, fd, text, TEXT_BYTES - 1);
    sys_close(fd);
    if (length <= 0)
        return;
    uint32_t nr_args = 0;
    for (long at = 0; at < length; at++) {
        if (text[at] == 0 || at == length - 1)
            nr_args++;
    }
    header->args_off = seep_string(text, (size_t)length);
    header->nr_args = header->args_off ? nr_args : 0;
    header->nr_args_all = nr_args + (length == TEXT_BYTES - 1);
}

static void note_preemption(void) {
    const char *name = seep_g.preempted_by;
    if (!name)
        return;
    seep_g.header->flags |= SEEP_FLAG_PREEMPTED;
    seep_g.header->preempted_by_off = seep_string(name, __builtin_strlen(name));
}

static void handle_dump_signal(int signal) {
    (void)signal;
    seep_dump();
}

static void listen_for_signal(void) {
    struct sigaction action = {.sa_handler = handle_dump_signal, .sa_flags = SA_RESTART};
    sigaction(seep_g.config.dump_signal, &action, NULL);
}

// An advice that does not exist is refused, unless somebody stands in for the kernel and heeds none.
static bool heeds_advice(void *page) {
    return sys3(SYS_madvise, page, 4096, 0x5ee9) != 0;
}

static bool at_fork(void (*prepare)(void), void (*child)(void)) {
    if (__register_atfork)
        return __register_atfork(prepare, NULL, child, &seep_g) == 0;
    return plain_atfork && plain_atfork(prepare, NULL, child) == 0;
}

static void learn_musl(void) {
    const struct seep_maps_module *libc = seep_maps_module((uintptr_t)seep_g.real.exit_now);
    seep_g.stack_start = seep_maps_stack_start();
    if (!libc)
        return;
    seep_g.musl_rt = libc->start;
    seep_g.musl_bytes = libc->end - libc->start;
    seep_g.program_entry = getauxval(AT_ENTRY);
}

#define THREAD_TABLE_BYTES (65536 * sizeof(struct seep_thread *))

static bool make_alive_page(void) {
    seep_g.alive = sys_private_wiped(4096);
    if (!seep_g.alive)
        return false;
    seep_g.emulated = !heeds_advice(seep_g.alive);
    if (!at_fork(seep_fork_prepare, seep_fork_in_child) && seep_g.emulated)
        return false;
    seep_g.thread_of_slot = sys_private(THREAD_TABLE_BYTES);
    return seep_g.thread_of_slot != NULL;
}

// It allocates: not from the program's heap, and unseen, as long as nothing has started.
static void watch_for_exit(void) {
    // What C++ registers destructors of thread-local objects with. Where there is none, exit() tells alone.
    void *found = seep_exit_begins ? seep_loader_find("__cxa_thread_atexit_impl") : NULL;
    if (!found || sys3(SYS_gettid, 0, 0, 0) != sys3(SYS_getpid, 0, 0, 0))
        return;
    int (*at_exit)(void (*function)(void *), void *object, void *dso);
    __builtin_memcpy(&at_exit, &found, sizeof(found));
    void *(*kept)(size_t, size_t) = seep_g.real.calloc;
    seep_g.real.calloc = seep_boot_calloc;
    at_exit(seep_exit_begins, NULL, &seep_g);
    seep_g.real.calloc = kept;
}

// What libseep-record.so does besides, see call_counts.h and events.h.
static void start_mode(void) {
    if (!SEEP_MODES)
        return;
    if (calls_only())
        seep_calls_start();
    else if (!seep_events_start())
        return; // it stays a live image
    seep_g.header->flags |= calls_only() ? SEEP_FLAG_CALLS : SEEP_FLAG_EVENTS;
    atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_MODE, memory_order_relaxed);
    seep_g.apart = true;
    if (seep_g.config.mode == SEEP_MODE_LOG)
        seep_calls_log_start();
}

// ThreadSanitizer and MemorySanitizer end the program where memory is mapped outside their ranges, and
// AddressSanitizer where its runtime is a library that is not the first, unless it is told to bear with
// another: by a function that it calls, for what has not started, or by the user, who wants the program
// traced. Unit tests that are built so (SEEP_UNDER_SANITIZER) map when their runtime has begun. The library
// for 32-bit ARM has no room for the function.
#ifdef SEEP_UNDER_SANITIZER
#define KNOWS_SANITIZERS 0
#else
#define KNOWS_SANITIZERS (SEEP_ARCH_WORD == 8)
#endif

#if KNOWS_SANITIZERS
#define BEARS_WITH_OTHERS "verify_asan_link_order=0"

extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

extern const char *__asan_default_options(void);
SEEP_EXPORT const char *__asan_default_options(void) {
    return BEARS_WITH_OTHERS;
}

static bool is_kept_out(void) {
    return __tsan_init || __msan_init ||
           (__asan_init && !seep_path_contains(seep_setting("ASAN_OPTIONS"), BEARS_WITH_OTHERS));
}
#else
static bool is_kept_out(void) {
    return false;
}
#endif

// The program that executed this one may have forbidden it to read the processor's counter.
static void ask_for_counter(void) {
    int allowed = 1; // PR_TSC_ENABLE
    seep_confined.no_counter =
        sys6(SYS_prctl, 25 /* PR_GET_TSC */, (long)&allowed, 0, 0, 0, 0) == 0 && allowed != 1;
}

static bool start_once(void) {
    seep_real_find();
    bool bad = false;
    if (is_kept_out() || seep_gained_rights() ||
        seep_sandbox_kills(seep_setting_number("SEEP_FILTERS", 0, 1, UINT32_MAX, &bad)))
        return false;
    ask_for_counter();
    seep_config_read(&seep_g.config);
    if (seep_g.config.disabled || seep_g.config.is_ignored)
        return false;
    if (seep_path_contains(seep_setting("LD_PRELOAD"), "/vgpreload_"))
        seep_readable_under_valgrind();
    seep_place_of_tid_learn();
    seep_g.depth = seep_g.config.depth;
    seep_g.sample_bytes = seep_g.config.sample_bytes;
    if (seep_g.sample_bytes && !seep_sample_prepare())
        return false;
    if (seep_g.config.age) {
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_AGE, memory_order_relaxed);
        watch_for_exit();
    }
    if (seep_g.config.free_stacks)
        atomic_fetch_or_explicit(&seep_g.mode.special, SEEP_SPECIAL_FREED, memory_order_relaxed);
    if (!make_alive_page() || !seep_image_create())
        return false;
    if (!__register_atfork)
        learn_musl();
    seep_own_note(seep_g.filter, UINT64_C(1) << SEEP_FILTER_SHIFT);
    seep_own_note(seep_g.thread_of_slot, THREAD_TABLE_BYTES);
    seep_own_note(seep_boot_memory, sizeof(seep_boot_memory));
    seep_news_begin();
    describe_process();
    note_preemption();
    seep_modules_at_start();
    start_mode();
    if (!SEEP_MODES && seep_g.config.wipe) // libseep-record.so is not for live mode
        seep_wipe_start();
    seep_handshake_tool(seep_g.header, NULL);
    if (seep_g.config.dump_signal)
        listen_for_signal();
    atomic_store_explicit(seep_g.alive, 1, memory_order_release);
    return true;
}

bool seep_start(void) {
    uint32_t fresh = SEEP_ENTRY_FRESH;
    if (!atomic_compare_exchange_strong_explicit(&seep_g.entry, &fresh, SEEP_ENTRY_STARTING,
                                                 memory_order_acquire, memory_order_acquire))
        return fresh == SEEP_ENTRY_READY;
    int kept = errno;
    seep_clock_start();
    bool started = start_once();
    atomic_store_explicit(&seep_g.entry, started ? SEEP_ENTRY_READY : SEEP_ENTRY_PASSIVE,
                          memory_order_release);
    errno = kept;
    return started;
}

// glibc's; tells the exit status. Registered before all others, so it runs after all others, and after libc
// has freed its room for those that did not fit beside the first ones.
extern int on_exit(void (*function)(int, void *), void *argument) __attribute__((weak));

static void at_exit_with_status(int status, void *unused) {
    (void)unused;
    seep_calls_looked(seep_calls_seem_free()); // once for both calls below
    seep_at_exit(status);
    seep_park_at_exit();
    seep_calls_looked(false);
}

// at_quick_exit, of which there is no other form in libc.so. Registered first, so it runs last.
extern int __cxa_at_quick_exit(void (*function)(void *), void *dso) __attribute__((weak));

static bool has_quick_handler;
static int quick_status = SEEP_STATUS_UNKNOWN;

bool seep_quick_exit_begins(int status) {
    quick_status = status;
    return has_quick_handler && seep_g.real.quick_exit;
}

static void at_quick_exit_last(void *unused) {
    (void)unused;
    seep_at_exit(quick_status);
    seep_park();
}

void seep_exit_register(void) {
    static bool done;
    if (done)
        return;
    done = true;
    if (on_exit)
        on_exit(at_exit_with_status, NULL);
    if (__cxa_at_quick_exit)
        has_quick_handler = __cxa_at_quick_exit(at_quick_exit_last, NULL) == 0;
}

__attribute__((constructor)) static void on_load(void) {
    seep_start();
    seep_exit_register();
}

// Where there is no on_exit (musl) the status stays unknown to the image; the tool has it from the kernel.
__attribute__((destructor)) static void on_unload(void) {
    if (!on_exit) {
        seep_at_exit(SEEP_STATUS_UNKNOWN);
        seep_park();
    }
}
