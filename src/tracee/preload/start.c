// SPDX-License-Identifier: BSD-2-Clause
//
// Start: finds the functions we stand in front of, reads SEEP_* once, makes the image, meets the
// tool. Runs at the first heap operation of the process or from the constructor, whichever is
// first; the only places where libc functions are called that may take locks or allocate (dlsym).
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/boot_allocator.h"
#include "preload/call_counts.h"
#include "preload/events.h"
#include "preload/loader_lists.h"
#include "preload/proc_maps.h"
#include "preload/preload.h"
#include "preload/quiet_calls.h"
#include "preload/sampling.h"
#include "preload/fork_undo.h"
#include "preload/wipe.h"

// glibc's name of it, and musl's: the library is built for one and runs with both.
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso)
    __attribute__((weak));
extern int plain_atfork(void (*prepare)(void), void (*parent)(void),
                        void (*child)(void)) __asm__("pthread_atfork") __attribute__((weak));

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

static void *next(const char *name) {
    return seep_loader_dlsym(RTLD_NEXT, name);
}

extern void *__libc_stack_end
    __attribute__((weak)); // of the first thread, as the kernel began it; musl has none

// Whether the kernel gave this program rights that its user does not have: set-uid, set-gid, file
// capabilities. Its environment is then another user's, and so is whatever it names. Source: getauxval(3),
// AT_SECURE.
static bool has_gained_rights(void) {
    return getauxval(AT_SECURE) != 0;
}

// A setting of the environment, NULL: not set, or not ours to heed. A program's .preinit_array
// (AddressSanitizer's runtime is called from there) comes before libc knows the environment; it lies where
// the kernel put it, behind the arguments. Source: glibc, elf/rtld.c (__libc_stack_end) and csu/init-first.c.
static const char *setting(const char *name) {
    if (has_gained_rights())
        return NULL;
    if (environ)
        return getenv(name);
    const long *stack = &__libc_stack_end ? __libc_stack_end : NULL;
    if (!stack)
        return NULL;
    size_t length = __builtin_strlen(name);
    char *const *at = (char *const *)(stack + 1) + *stack; // the arguments' number, and they
    for (at++; *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

static void complain(const char *name, const char *expected);

// Of LeakSanitizer itself, and none of ours: NULL, but in a program built with it.
extern void __lsan_do_leak_check(void) __attribute__((weak));

// SEEP_ALLOCATOR, for the library alone: `seep run --allocator` preloads the allocator instead, which is
// found by RTLD_NEXT. Not in a namespace of its own: an allocator shares libc's threads with the program.
static void *chosen_allocator(void) {
    static const char *const known[][2] = {
        {"glibc", "libc.so.6"},
        {"jemalloc", "libjemalloc.so.2"},
        {"mimalloc", "libmimalloc.so.3"},
        {"mimalloc", "libmimalloc.so.2"},
        {"mimalloc", "libmimalloc.so.2.0"},
        {"tcmalloc", "libtcmalloc_minimal.so.4"},
        {"tcmalloc", "libtcmalloc.so.4"},
    };
    const char *name = setting("SEEP_ALLOCATOR");
    if (!name || !*name || __builtin_strcmp(name, "next") == 0)
        return NULL;
    void *library = NULL;
    bool is_known = false;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(known) && !library; i++) {
        if (__builtin_strcmp(name, known[i][0]) != 0)
            continue;
        is_known = true;
        library = seep_g.real.dlopen(known[i][1], RTLD_NOW | RTLD_LOCAL);
    }
    if (!is_known)
        library = seep_g.real.dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library && seep_loader_dlsym(library, "malloc") && seep_loader_dlsym(library, "free"))
        return library;
    complain("SEEP_ALLOCATOR",
             "an allocator that can be loaded late is wanted; any other: LD_PRELOAD=libseep.so:ALLOCATOR");
    return NULL;
}

// The module that defines `function`; NULL: none. Valid until the mappings are read again.
static const char *module_name_of(const void *function) {
    struct seep_loader_object object;
    if (function && seep_g.find_object && seep_g.find_object((void *)(uintptr_t)function, &object) == 0 &&
        object.link_map && *object.link_map->l_name)
        return object.link_map->l_name;
    const struct seep_maps_module *module = function ? seep_maps_module((uintptr_t)function) : NULL;
    return module ? module->path : NULL;
}

bool seep_path_contains(const char *path, const char *word) {
    if (!path)
        return false;
    for (; *path; path++) {
        size_t i = 0;
        while (word[i] && path[i] == word[i])
            i++;
        if (!word[i])
            return true;
    }
    return false;
}

// A program with fixed addresses that takes the address of a function of a library gets that of its own
// jump to it, for all who ask: a symbol without a section. The library's lock is not needed yet.
static bool is_jump(const void *function) {
    const struct link_map *program = seep_loader_first();
    if (program) {
        const ElfW(Sym) *symbol = seep_loader_symbol(program, "malloc");
        return symbol && symbol->st_shndx == SHN_UNDEF &&
               program->l_addr + symbol->st_value == (uintptr_t)function;
    }
    const struct seep_maps_module *module = seep_maps_module((uintptr_t)function);
    return module && ((const ElfW(Ehdr) *)module->start)->e_type == ET_EXEC; // may be its own malloc, too
}

// The module whose malloc the program calls instead of ours; NULL: ours is the first. To take the address of
// ours would not tell: the loader fills in the address of that other one.
static const char *preempting_module(void) {
    static char kept[sizeof(((struct seep_maps_module *)0)->path)];
    const char *first = seep_loader_dlsym(RTLD_DEFAULT, "malloc");
    if (!first || (first >= __ehdr_start && first < _end) || is_jump(first))
        return NULL;
    const char *name = module_name_of(first);
    for (size_t i = 0; name && name[i] && i < sizeof(kept) - 1; i++)
        kept[i] = name[i];
    return kept;
}

// What only we have (reallocarray, operator new) must come to it as well, because the program gives its
// blocks back there: whether it is an allocator, or hands on to us.
static void find_front(void) {
    seep_g.preempted_by = preempting_module();
    if (!seep_g.preempted_by)
        return;
    void *functions[] = {seep_loader_dlsym(RTLD_DEFAULT, "realloc"), seep_loader_dlsym(RTLD_DEFAULT, "free")};
    if (!functions[0] || !functions[1])
        return;
    __builtin_memcpy(&seep_g.front_realloc, &functions[0], sizeof(functions[0]));
    __builtin_memcpy(&seep_g.front_free, &functions[1], sizeof(functions[1]));
}

// First: what is called to find the others opens libraries too.
static void find_loader(void) {
    void *functions[] = {next("dlopen"), next("dlmopen")};
    __builtin_memcpy(&seep_g.real.dlopen, &functions[0], sizeof(functions[0]));
    __builtin_memcpy(&seep_g.real.dlmopen, &functions[1], sizeof(functions[1]));
}

#ifdef SEEP_NARROW_LIBC
#define NARROW_FUNCTIONS(X)                                                                                  \
    X(mmap64, "mmap64")                                                                                      \
    X(setrlimit64, "setrlimit64")                                                                            \
    X(prlimit64, "prlimit64")
#else
#define NARROW_FUNCTIONS(X)
#endif

// The real functions: those of the allocator first, those of LeakSanitizer last.
#define REAL_FUNCTIONS(X)                                                                                    \
    X(malloc, "malloc")                                                                                      \
    X(free, "free")                                                                                          \
    X(calloc, "calloc")                                                                                      \
    X(realloc, "realloc")                                                                                    \
    X(posix_memalign, "posix_memalign")                                                                      \
    X(aligned_alloc, "aligned_alloc")                                                                        \
    X(memalign, "memalign")                                                                                  \
    X(valloc, "valloc")                                                                                      \
    X(pvalloc, "pvalloc")                                                                                    \
    X(usable_size, "malloc_usable_size")                                                                     \
    X(dlclose, "dlclose")                                                                                    \
    X(exit_now, "_exit")                                                                                     \
    X(exit, "exit")                                                                                          \
    X(quick_exit, "quick_exit")                                                                              \
    X(abort, "abort")                                                                                        \
    X(execv, "execv")                                                                                        \
    X(execve, "execve")                                                                                      \
    X(execvp, "execvp")                                                                                      \
    X(execvpe, "execvpe")                                                                                    \
    X(fexecve, "fexecve")                                                                                    \
    X(execveat, "execveat")                                                                                  \
    X(posix_spawn, "posix_spawn")                                                                            \
    X(posix_spawnp, "posix_spawnp")                                                                          \
    X(mmap, "mmap")                                                                                          \
    NARROW_FUNCTIONS(X)                                                                                      \
    X(munmap, "munmap")                                                                                      \
    X(mprotect, "mprotect")                                                                                  \
    X(mremap, "mremap")                                                                                      \
    X(brk, "brk")                                                                                            \
    X(sbrk, "sbrk")                                                                                          \
    X(setrlimit, "setrlimit")                                                                                \
    X(prlimit, "prlimit")                                                                                    \
    X(mlockall, "mlockall")                                                                                  \
    X(prctl, "prctl")                                                                                        \
    X(syscall, "syscall")                                                                                    \
    X(lsan.disable, "__lsan_disable")                                                                        \
    X(lsan.enable, "__lsan_enable")                                                                          \
    X(lsan.ignore_object, "__lsan_ignore_object")                                                            \
    X(lsan.root_add, "__lsan_register_root_region")                                                          \
    X(lsan.root_remove, "__lsan_unregister_root_region")
#define OFFSET_OF(member, name) offsetof(struct seep_real, member) / sizeof(void *),
#define NAME_OF(member, name)   name "\0"
enum { NR_OF_ALLOCATOR = 10, NR_OF_LSAN = 5 };

static void find_all(struct seep_real *real, void *chosen) {
    static const uint8_t offsets[] = {REAL_FUNCTIONS(OFFSET_OF)};
    const char *name = REAL_FUNCTIONS(NAME_OF);
    // No look-up that can fail: the loader would allocate a message, by a malloc that may be in front of ours
    // and in the middle of its own start. Nor a later one: LeakSanitizer calls these from within dlsym.
    size_t nr = SEEP_ARRAY_SIZE(offsets) - (__lsan_do_leak_check ? 0 : NR_OF_LSAN);
    for (size_t i = 0; i < nr; i++, name += __builtin_strlen(name) + 1) {
        void *function = chosen && i < NR_OF_ALLOCATOR ? seep_loader_dlsym(chosen, name) : next(name);
        if (function)
            __builtin_memcpy((void **)real + offsets[i], &function, sizeof(function));
    }
}

static void resolve(void) {
    struct seep_real *real = &seep_g.real;
    // malloc last: while any of these look-ups allocates, malloc must still be the boot allocator's,
    // and free must cope with both.
    void *find_object = seep_loader_find("_dl_find_object");
    __builtin_memcpy(&seep_g.find_object, &find_object, sizeof(find_object));
    find_loader();
    struct seep_real found = *real;
    void *chosen = chosen_allocator();
    find_front();
    find_all(&found, chosen);
    void *real_malloc;
    __builtin_memcpy(&real_malloc, &found.malloc, sizeof(real_malloc));
    const char *allocator = module_name_of(real_malloc);
    // glibc's blocks are at least 32 bytes apart (MINSIZE on 64-bit); of others we know 8.
    seep_g.granule_shift =
        seep_path_contains(allocator, "/libc.so.6") || seep_path_contains(allocator, "/libc-2.")
            ? SEEP_SUB_GRANULE_SHIFT
            : SEEP_SUB_GRANULE_SHIFT - 1;
    seep_g.sub_mask = seep_g.granule_shift == SEEP_SUB_GRANULE_SHIFT;
    void *operator_new = next(SEEP_CXX_NEW);
    void *operator_delete = next("_ZdlPv");
    const char *of_new = module_name_of(operator_new);
    const char *of_delete = module_name_of(operator_delete);
    seep_g.new_is_malloc =
        !operator_new || seep_path_contains(of_new, "libstdc++") || seep_path_contains(of_new, "libc++");
    seep_g.delete_is_free = !operator_delete || seep_path_contains(of_delete, "libstdc++") ||
                            seep_path_contains(of_delete, "libc++");
    if (seep_g.front_free) // theirs are called, and call the malloc and free that the program calls
        seep_g.new_is_malloc = seep_g.delete_is_free = false;
    seep_g.operators_replaced = seep_operators_replaced && seep_operators_replaced(allocator);
    if (seep_g.operators_replaced)
        seep_g.new_is_malloc = seep_g.delete_is_free = false;
    seep_g.found_malloc = real_malloc;
    if (found.malloc != seep_boot_malloc)
        seep_quiet_calls(&found);
    // What failed above must not be what the program's first dlerror() says. A look-up that succeeds
    // clears it; dlerror() itself would translate the message, under the lock of the locale, which our
    // caller may hold: newlocale() calls malloc with it, and would find it freed.
    // Source: glibc, dlfcn/dlerror.c (_dlerror_run) and locale/newlocale.c.
    next("malloc");
    *real = found;
}

static uint32_t number(const char *name, uint32_t fallback, uint32_t least, uint32_t most, bool *ret_bad) {
    const char *text = setting(name);
    if (!text || !*text)
        return fallback;
    uint64_t value = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || value > most) {
            *ret_bad = true;
            return fallback;
        }
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value < least || value > most) {
        *ret_bad = true;
        return fallback;
    }
    return (uint32_t)value;
}

static bool is_text(const char *value, const char *text) {
    size_t i = 0;
    while (value[i] && value[i] == text[i])
        i++;
    return value[i] == text[i];
}

struct signal_name {
    char name[8];
    int number;
};

// As kill -l has them, with SIG before it or not. Not those that end a process for its own fault, nor those
// that no handler can catch.
static int signal_number(const char *text) {
    static const struct signal_name names[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},   {"USR2", SIGUSR2},
        {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},     {"TERM", SIGTERM}, {"CHLD", SIGCHLD},   {"CONT", SIGCONT},
        {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},     {"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU},
        {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
        {"PWR", SIGPWR}};
    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        if (is_text(text, names[i].name))
            return names[i].number;
    return 0;
}

// The one thing this library ever prints: a setting that the user made and that means nothing. Not into a
// pipe that takes nothing: the program would wait, or be killed.
static void complain(const char *name, const char *expected) {
    struct pollfd errors = {.fd = 2, .events = POLLOUT};
    struct timespec none = {0, 0};
    if (sys6(SYS_ppoll, (long)&errors, 1, (long)&none, 0, 0, 0) != 1 || errors.revents != POLLOUT)
        return;
    const char *parts[] = {"libseep: ", name, ": ", expected, "; using the default\n"};
    char line[256];
    size_t length = 0;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(parts); i++)
        for (const char *at = parts[i]; *at && length < sizeof(line); at++)
            line[length++] = *at;
    sys3(SYS_write, 2, line, length);
}

static bool copy_setting(const char *name, char *ret_text, size_t room) {
    const char *text = setting(name);
    size_t length = text ? __builtin_strlen(text) : 0;
    if (length >= room)
        return false;
    __builtin_memcpy(ret_text, text ? text : "", length + 1);
    return true;
}

// What is wrong with the folder of that file; 0: nothing. One with a % in its name is known only when it is
// needed.
static int folder_of_out(char *file) {
    const char *name;
    bool has_folder = false, has_percent = false, is_known = true;
    for (const char *at = file; *at; at++) {
        has_percent |= *at == '%';
        has_folder |= *at == '/';
        is_known &= *at != '/' || !has_percent;
    }
    if (!has_folder || !is_known)
        return 0;
    int fd = seep_folder_of(file, &name);
    if (fd < 0)
        return fd;
    sys_close(fd);
    return 0;
}

// "follow", "ignore", or "ignore:PID": then no process is traced but that one, whatever it executes.
static void read_children(struct seep_config *config) {
    static const char only[] = "ignore:";
    const char *text = setting("SEEP_CHILDREN");
    if (!text || !*text || is_text(text, "follow"))
        return;
    config->ignore_children = true;
    if (is_text(text, "ignore"))
        return;
    uint64_t pid = 0;
    const char *digit = text + sizeof(only) - 1;
    bool good = strncmp(text, only, sizeof(only) - 1) == 0 && *digit;
    for (; good && *digit; digit++) {
        good = *digit >= '0' && *digit <= '9' && pid <= INT32_MAX;
        pid = pid * 10 + (uint64_t)(*digit - '0');
    }
    config->is_ignored = good && pid != sys_getpid();
    config->ignore_children = good;
    if (!good)
        complain("SEEP_CHILDREN", "follow, ignore or ignore:PID is wanted");
}

static bool yes_or_no(const char *name) {
    const char *text = setting(name);
    bool yes = text && is_text(text, "1");
    if (text && *text && !yes && !is_text(text, "0"))
        complain(name, "0 or 1 is wanted");
    return yes;
}

// "time,thread,caller", each once or not at all.
static void read_log_columns(struct seep_config *config) {
    static const char *const names[] = {"time", "thread", "caller"};
    const char *text = setting("SEEP_LOG_COLUMNS");
    while (text && *text) {
        size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < SEEP_ARRAY_SIZE(names) && (strncmp(text, names[i], length) != 0 || names[i][length]))
            i++;
        if (i == SEEP_ARRAY_SIZE(names)) {
            complain("SEEP_LOG_COLUMNS", "a list of time, thread and caller is wanted");
            config->log_columns = 0;
            return;
        }
        config->log_columns |= 1u << i;
        text += length + (text[length] == ',');
    }
}

static void read_mode(struct seep_config *config) {
    const char *mode = setting("SEEP_MODE");
    bool live = !mode || !*mode || is_text(mode, "live");
    config->log_fd = -1;
    if (!SEEP_MODES) {
        if (!live)
            complain("SEEP_MODE", "other modes than live are in libseep-record.so: preload that");
        return;
    }
    bool bad = false;
    static const char *const names[] = {"live", "count", "log", "record"};
    config->mode = SEEP_MODE_RECORD;
    bool known = live;
    for (unsigned i = SEEP_MODE_COUNT; !live && i < SEEP_ARRAY_SIZE(names); i++) {
        if (!is_text(mode, names[i]))
            continue;
        config->mode = (enum seep_mode_of)i;
        known = true;
    }
    if (!known)
        complain("SEEP_MODE", "count, log or record is wanted");
    config->sample_bytes = 0; // neither calls nor events go with these
    config->age = config->free_stacks = config->wipe = false;
    config->scan &= config->mode == SEEP_MODE_RECORD;
    config->drop = yes_or_no("SEEP_DROP");
    if (config->mode != SEEP_MODE_LOG)
        return;
    const char *fd = setting("SEEP_LOG_FD");
    if (fd && *fd)
        config->log_fd = (int)number("SEEP_LOG_FD", 2, 0, INT32_MAX, &bad);
    if (bad)
        complain("SEEP_LOG_FD", "the number of an open descriptor is wanted");
    read_log_columns(config);
}

void seep_config_read(struct seep_config *ret_config) {
    struct seep_config config = {.depth = SEEP_MAX_DEPTH};
    bool bad = false;
    if (!copy_setting("SEEP_OUT", config.out, sizeof(config.out)))
        complain("SEEP_OUT", "a file name of less than 1024 bytes is wanted");
    int trouble = folder_of_out(config.out);
    if (trouble == -ENOENT || trouble == -ENOTDIR)
        complain("SEEP_OUT", "a file in a folder that is there is wanted");
    else if (trouble == -EACCES)
        complain("SEEP_OUT", "a file in a folder of this user's or root's, or a sticky one, is wanted");
    if (trouble == -ENOENT || trouble == -ENOTDIR || trouble == -EACCES)
        config.out[0] = 0;
    if (!copy_setting("SEEP_SOCKET", config.socket, sizeof(config.socket)))
        complain("SEEP_SOCKET", "a path of less than 108 bytes is wanted");
    config.depth = number("SEEP_DEPTH", SEEP_MAX_DEPTH, 1, SEEP_MAX_DEPTH, &bad);
    if (bad)
        complain("SEEP_DEPTH", "a number of frames from 1 to 16384 is wanted");
    bad = false;
    const char *signal = setting("SEEP_SIGNAL");
    config.dump_signal = signal ? signal_number(signal) : 0;
    if (!config.dump_signal)
        config.dump_signal = (int)number("SEEP_SIGNAL", 0, 1, 64, &bad);
    if (bad)
        complain("SEEP_SIGNAL", "a signal by name, as PROF, or by number is wanted");
    bad = false;
    config.age = yes_or_no("SEEP_AGE");
    config.free_stacks = yes_or_no("SEEP_FREE_STACKS");
    config.wipe = yes_or_no("SEEP_WIPE");
    config.sample_bytes = number("SEEP_SAMPLE", 0, 0, UINT32_MAX, &bad);
    if (bad)
        complain("SEEP_SAMPLE", "a number of bytes below 4 GiB is wanted, 0 records all");
    read_children(&config);
    const char *scan = setting("SEEP_SCAN");
    if (scan && *scan) {
        config.scan = is_text(scan, "yes");
        if (!config.scan && !is_text(scan, "no"))
            complain("SEEP_SCAN", "yes or no is wanted");
    }
    read_mode(&config);
    const char *disable = setting("SEEP_DISABLE");
    config.disabled = disable && *disable && !is_text(disable, "0");
    *ret_config = config;
}

// Of a program that was given to the loader as an argument the kernel says that it runs the loader. 0: it was
// not.
static uint64_t name_of_argument(void) {
    const struct link_map *program = getauxval(AT_BASE) ? NULL : seep_loader_first();
    struct seep_maps maps;
    struct seep_maps_area area;
    uint64_t name = 0;
    if (!program || !program->l_ld || !seep_maps_open(&maps))
        return 0;
    while (!name && seep_maps_next(&maps, &area))
        if ((uintptr_t)program->l_ld - area.start < area.end - area.start && area.path[0] == '/')
            name = seep_string(area.path, __builtin_strlen(area.path));
    seep_maps_close(&maps);
    return name;
}

// exe and arguments, as the kernel has them. Strings too long for one read are cut.
static void describe_process(void) {
    struct seep_image_header *header = seep_g.header;
    char text[16384];
    long length = sys6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)text, sizeof(text) - 1, 0, 0);
    if (length > 0)
        header->exe_off = seep_string(text, (size_t)length);
    uint64_t name = name_of_argument();
    if (name)
        header->exe_off = name;
    int fd = sys_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    length = sys3(SYS_read, fd, text, sizeof(text) - 1);
    bool more = length == (long)sizeof(text) - 1;
    sys_close(fd);
    if (length <= 0)
        return;
    text[length] = 0;
    uint32_t nr_args = 0;
    for (long at = 0; at < length; at++) {
        if (text[at] == 0 || at == length - 1)
            nr_args++;
    }
    header->args_off = seep_string(text, (size_t)length);
    header->nr_args = header->args_off ? nr_args : 0;
    header->nr_args_all = nr_args + (more ? 1 : 0);
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

extern void *__dso_handle __attribute__((visibility("hidden")));

static bool at_fork(void (*prepare)(void), void (*child)(void)) {
    if (__register_atfork)
        return __register_atfork(prepare, NULL, child, &__dso_handle) == 0;
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
    at_exit(seep_exit_begins, NULL, &__dso_handle);
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

// The program that executed this one may have forbidden it to read the processor's counter.
static void ask_for_counter(void) {
    int allowed = 1; // PR_TSC_ENABLE
    seep_confined.no_counter =
        sys6(SYS_prctl, 25 /* PR_GET_TSC */, (long)&allowed, 0, 0, 0, 0) == 0 && allowed != 1;
}

static bool start_once(void) {
    resolve();
    bool bad = false;
    if (has_gained_rights() || seep_sandbox_kills(number("SEEP_FILTERS", 0, 1, UINT32_MAX, &bad)))
        return false;
    ask_for_counter();
    seep_config_read(&seep_g.config);
    if (seep_g.config.disabled || seep_g.config.is_ignored)
        return false;
    if (seep_path_contains(setting("LD_PRELOAD"), "/vgpreload_"))
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
    seep_handshake_tool(seep_g.header);
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
