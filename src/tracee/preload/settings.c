// SPDX-License-Identifier: BSD-2-Clause
//
// SEEP_* of the environment, see settings.h. Each is read once, and copied.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/preload.h"
#include "preload/settings.h"

extern void *__libc_stack_end
    __attribute__((weak)); // of the first thread, as the kernel began it; musl has none

// Whether the kernel gave this program rights that its user does not have: set-uid, set-gid, file
// capabilities. Its environment is then another user's, and so is whatever it names. Source: getauxval(3),
// AT_SECURE.
bool seep_gained_rights(void) {
    return getauxval(AT_SECURE) != 0;
}

// A setting of the environment; NULL: not set, or to be ignored. A program's .preinit_array, which calls
// AddressSanitizer's runtime, runs before libc knows the environment. Then the environment is read where the
// kernel put it, behind the arguments. Source: glibc, elf/rtld.c (__libc_stack_end) and csu/init-first.c.
const char *seep_setting(const char *name) {
    if (seep_gained_rights())
        return NULL;
    if (environ)
        return getenv(name);
    const long *stack = &__libc_stack_end ? __libc_stack_end : NULL;
    if (!stack)
        return NULL;
    size_t length = __builtin_strlen(name);
    char *const *at = (char *const *)(stack + 1) + *stack; // their number, and the arguments
    for (at++; *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

uint32_t seep_setting_number(const char *name, uint32_t fallback, uint32_t least, uint32_t most,
                             bool *ret_bad) {
    const char *text = seep_setting(name);
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

// Names as of kill -l, with or without SIG. Left out are signals for a program's own faults, and signals that
// no handler can catch.
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

// The only message of this library: a setting is invalid. It is not written into a full or closed pipe,
// because the program would wait or be killed.
void seep_setting_complain(const char *name, const char *expected) {
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
    const char *text = seep_setting(name);
    size_t length = text ? __builtin_strlen(text) : 0;
    if (length >= room)
        return false;
    __builtin_memcpy(ret_text, text ? text : "", length + 1);
    return true;
}

// What is wrong with the folder of that file; 0: nothing. A folder with a % in its name is checked only when
// it is needed.
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

// Makes the name absolute, because a program may change its folder before the file is written. The name stays
// relative if the folder's name is not known or contains a %.
static void make_absolute(char *file, size_t room) {
    char folder[1024];
    size_t length = __builtin_strlen(file);
    if (!length || *file == '/')
        return;
    long got = sys3(SYS_getcwd, folder, sizeof(folder), 0); // with the byte that ends it
    if (sys_failed(got) || *folder != '/' || (size_t)got + length + 1 > room)
        return;
    for (const char *at = folder; *at; at++)
        if (*at == '%')
            return;
    __builtin_memmove(file + got, file, length + 1);
    __builtin_memcpy(file, folder, (size_t)got);
    file[got - 1] = '/';
}

// "follow", "ignore", or "ignore:PID": only process PID is traced, whatever it executes.
static void read_children(struct seep_config *config) {
    static const char only[] = "ignore:";
    const char *text = seep_setting("SEEP_CHILDREN");
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
        seep_setting_complain("SEEP_CHILDREN", "follow, ignore or ignore:PID is wanted");
}

static bool yes_or_no(const char *name) {
    const char *text = seep_setting(name);
    bool yes = text && is_text(text, "1");
    if (text && *text && !yes && !is_text(text, "0"))
        seep_setting_complain(name, "0 or 1 is wanted");
    return yes;
}

// "time,thread,caller", each once or not at all.
static void read_log_columns(struct seep_config *config) {
    static const char *const names[] = {"time", "thread", "caller"};
    const char *text = seep_setting("SEEP_LOG_COLUMNS");
    while (text && *text) {
        size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < SEEP_ARRAY_SIZE(names) && (strncmp(text, names[i], length) != 0 || names[i][length]))
            i++;
        if (i == SEEP_ARRAY_SIZE(names)) {
            seep_setting_complain("SEEP_LOG_COLUMNS", "a list of time, thread and caller is wanted");
            config->log_columns = 0;
            return;
        }
        config->log_columns |= 1u << i;
        text += length + (text[length] == ',');
    }
}

static void read_mode(struct seep_config *config) {
    const char *mode = seep_setting("SEEP_MODE");
    bool live = !mode || !*mode || is_text(mode, "live");
    config->log_fd = -1;
    if (!SEEP_MODES) {
        if (!live)
            seep_setting_complain("SEEP_MODE",
                                  "other modes than live are in libseep-record.so: preload that");
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
        seep_setting_complain("SEEP_MODE", "count, log or record is wanted");
    config->sample_bytes = 0; // calls and events are never sampled
    config->age = config->free_stacks = config->wipe = false;
    config->scan &= config->mode == SEEP_MODE_RECORD;
    config->drop = yes_or_no("SEEP_DROP");
    if (config->mode != SEEP_MODE_LOG)
        return;
    const char *fd = seep_setting("SEEP_LOG_FD");
    if (fd && *fd)
        config->log_fd = (int)seep_setting_number("SEEP_LOG_FD", 2, 0, INT32_MAX, &bad);
    if (bad)
        seep_setting_complain("SEEP_LOG_FD", "the number of an open descriptor is wanted");
    read_log_columns(config);
}

static void read_out(struct seep_config *config) {
    if (!copy_setting("SEEP_OUT", config->out, sizeof(config->out)))
        seep_setting_complain("SEEP_OUT", "a file name of less than 1024 bytes is wanted");
    make_absolute(config->out, sizeof(config->out));
    int trouble = folder_of_out(config->out);
    if (trouble != -ENOENT && trouble != -ENOTDIR && trouble != -EACCES)
        return;
    config->out[0] = 0;
    // The tool names a file for a recording in case the tool is killed. A program that it starts may have
    // another root or another user.
    const char *mode = seep_setting("SEEP_MODE");
    if (config->socket[0] && mode && is_text(mode, "record"))
        return;
    seep_setting_complain("SEEP_OUT",
                          trouble == -EACCES
                              ? "a file in a folder of this user or of root, or in a sticky one, is wanted"
                              : "a file in an existing folder is wanted");
}

void seep_config_read(struct seep_config *config) {
    bool bad = false;
    if (!copy_setting("SEEP_SOCKET", config->socket, sizeof(config->socket)))
        seep_setting_complain("SEEP_SOCKET", "a path of less than 108 bytes is wanted");
    read_out(config);
    config->depth = seep_setting_number("SEEP_DEPTH", SEEP_MAX_DEPTH, 1, SEEP_MAX_DEPTH, &bad);
    if (bad)
        seep_setting_complain("SEEP_DEPTH", "a number of frames from 1 to 16384 is wanted");
    bad = false;
    const char *signal = seep_setting("SEEP_SIGNAL");
    config->dump_signal = signal ? signal_number(signal) : 0;
    if (!config->dump_signal)
        config->dump_signal = (int)seep_setting_number("SEEP_SIGNAL", 0, 1, 64, &bad);
    if (bad)
        seep_setting_complain("SEEP_SIGNAL", "a signal by name, as PROF, or by number is wanted");
    bad = false;
    config->age = yes_or_no("SEEP_AGE");
    config->free_stacks = yes_or_no("SEEP_FREE_STACKS");
    config->wipe = yes_or_no("SEEP_WIPE");
    config->sample_bytes = seep_setting_number("SEEP_SAMPLE", 0, 0, UINT32_MAX, &bad);
    if (bad)
        seep_setting_complain("SEEP_SAMPLE", "a number of bytes below 4 GiB is wanted, 0 records all");
    read_children(config);
    const char *scan = seep_setting("SEEP_SCAN");
    if (scan && *scan) {
        config->scan = is_text(scan, "yes");
        if (!config->scan && !is_text(scan, "no"))
            seep_setting_complain("SEEP_SCAN", "yes or no is wanted");
    }
    read_mode(config);
    const char *disable = seep_setting("SEEP_DISABLE");
    config->disabled = disable && *disable && !is_text(disable, "0");
}
