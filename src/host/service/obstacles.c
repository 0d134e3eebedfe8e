// SPDX-License-Identifier: BSD-2-Clause
// Looks for what would keep a service from being traced, see obstacles.h.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text_file.h"
#include "process/proc_fields.h"
#include "service/obstacles.h"
#include "source/run/program.h"

#define MIB (UINT64_C(1) << 20)

static SEEP_PRINTF(3, 4) void add(struct seep_obstacles *obstacles, bool fatal, const char *format, ...) {
    if (obstacles->nr_items == SEEP_OBSTACLES_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(obstacles->items[obstacles->nr_items].text, sizeof(obstacles->items[0].text), format, args);
    va_end(args);
    obstacles->items[obstacles->nr_items++].fatal = fatal;
}

// A child of systemd on its way to the program still gets filters.
static bool is_still_systemd(pid_t pid) {
    char path[64], exe[64], *name;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    ssize_t nr = readlink(path, exe, sizeof(exe) - 1);
    if (nr < 0)
        return false;
    exe[nr] = 0;
    name = strrchr(exe, '/');
    return name && strncmp(name, "/systemd", 8) == 0;
}

uint32_t seep_process_filters(pid_t pid) {
    for (int i = 0; pid && i < 200 && is_still_systemd(pid); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    long nr = pid ? seep_status_number(pid, 0, "Seccomp_filters:") : 0;
    return nr > 0 ? (uint32_t)nr : 0;
}

// Whether everyone may read the file, folder by folder; else *ret_where is the one that may not be entered.
static bool is_for_all(const char *path, char *ret_where, size_t room) {
    char *copy = strdup(path);
    bool good = copy;
    for (char *at = copy ? copy + 1 : NULL; good && at; at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        char *slash = strchr(at, '/');
        struct stat status;
        if (slash)
            *slash = 0;
        good = stat(copy, &status) == 0 && status.st_mode & (slash ? S_IXOTH : S_IROTH);
        if (!good)
            snprintf(ret_where, room, "%s", copy);
        if (slash)
            *slash = '/';
    }
    free(copy);
    return good;
}

static bool is_within(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

// As whom the service runs its program. A name that is not known here, or is made at the start: no user of
// ours.
static void take_user(const struct seep_unit *unit, struct seep_program *program) {
    if (unit->user)
        return;
    *program = (struct seep_program){.path = program->path, .as_other = true};
    if (!*unit->run_as && !unit->dynamic_user)
        return;
    program->uid = program->gid = (uid_t)-2;
    char *end;
    unsigned long number = strtoul(unit->run_as, &end, 10);
    struct passwd *user = *unit->run_as == 0 ? NULL : *end ? getpwnam(unit->run_as) : getpwuid((uid_t)number);
    if (user) {
        program->uid = user->pw_uid;
        program->gid = user->pw_gid;
    } else if (*unit->run_as && !*end) {
        program->uid = (uid_t)number;
    }
}

// A set-uid or static program, or one that the library cannot be loaded into.
static void look_at_program(const struct seep_unit *unit, const char *library,
                            struct seep_obstacles *obstacles) {
    struct seep_program program = {.path = strdup(unit->program)};
    take_user(unit, &program);
    struct seep_error *error =
        program.path ? seep_program_inspect(&program, library) : seep_error_no_memory();
    if (error)
        add(obstacles, true, "%s: %s", unit->program, error->message);
    else if (program.why_untraced)
        add(obstacles, true, "%s: %s", unit->program, program.why_untraced);
    seep_error_destroy(error);
    seep_program_deinit(&program);
}

static void look_at_places(const struct seep_unit *unit, const struct seep_service_options *options,
                           struct seep_obstacles *obstacles) {
    char where[PATH_MAX];
    const char *folder = options->folder;
    bool other_user =
        !unit->user && (*unit->run_as || unit->dynamic_user) && strcmp(unit->run_as, "root") != 0;
    if (other_user && !is_for_all(options->library, where, sizeof(where)))
        add(obstacles, true, "%s cannot read %s, because of %s: 'make install' puts it where everyone can",
            *unit->run_as ? unit->run_as : "its user", options->library, where);
    if (*unit->root)
        add(obstacles, true,
            "it runs in another root, %s, where neither libseep.so nor the folder is: 'seep attach' traces "
            "it as "
            "it is",
            unit->root);
    bool hides_home = strcmp(unit->protect_home, "no") != 0 && *unit->protect_home;
    if (hides_home && (is_within(options->library, "/home") || is_within(options->library, "/root")))
        add(obstacles, true, "ProtectHome=%s hides %s: 'make install' puts the library where it can be seen",
            unit->protect_home, options->library);
    if (hides_home && (is_within(folder, "/home") || is_within(folder, "/root")))
        add(obstacles, true, "ProtectHome=%s hides the folder %s: --folder DIR says where else",
            unit->protect_home, folder);
    if (strcmp(unit->private_tmp, "no") != 0 && *unit->private_tmp &&
        (is_within(folder, "/tmp") || is_within(folder, "/var/tmp")))
        add(obstacles, true, "PrivateTmp=%s gives it a %s of its own: --folder DIR says where else",
            unit->private_tmp, is_within(folder, "/tmp") ? "/tmp" : "/var/tmp");
    if (unit->private_devices && is_within(folder, "/dev"))
        add(obstacles, true, "PrivateDevices=yes gives it a /dev of its own: --folder DIR says where else");
    bool full = strcmp(unit->protect_system, "full") == 0,
         on = full || strcmp(unit->protect_system, "yes") == 0;
    if (on &&
        (is_within(folder, "/usr") || is_within(folder, "/boot") || (full && is_within(folder, "/etc"))))
        add(obstacles, true, "ProtectSystem=%s lets nothing be written to %s: --folder DIR says where else",
            unit->protect_system, folder);
}

// Files with variables are read after our drop-in, and what they set counts.
static void look_at_variable_files(const struct seep_unit *unit, struct seep_obstacles *obstacles) {
    const char *at = unit->variable_files;
    while (*at) {
        char path[PATH_MAX];
        size_t length = strcspn(at, " ");
        snprintf(path, sizeof(path), "%.*s", (int)length, at);
        char *text = NULL;
        size_t nr_bytes = 0;
        struct seep_error *error =
            *path == '/' ? seep_text_file_read(path, "the variables", MIB, &text, &nr_bytes) : NULL;
        seep_error_destroy(error); // an optional one that is not there
        if (text && memmem(text, nr_bytes, "LD_PRELOAD=", 11))
            add(obstacles, true, "%s sets LD_PRELOAD, which counts more than a drop-in: add %s there", path,
                "libseep.so");
        free(text);
        at += length;
        at += strspn(at, " ");
        if (*at == '(') { // (ignore_errors=yes)
            at += strcspn(at, ")");
            at += strspn(at, ") ");
        }
    }
}

static bool has_call(const char *list, const char *call) {
    size_t length = strlen(call);
    bool found = false;
    for (const char *at = list; *at && !found; at += *at == ' ') {
        found = strcspn(at, " :") == length && memcmp(at, call, length) == 0; // name:errno
        at += strcspn(at, " ");
    }
    return found;
}

// Whether a list of system calls, as systemd prints it with all its sets resolved, lets a call pass; after a
// ~ it has those that are not allowed.
static bool allows(const char *filter, const char *call) {
    bool denies = *filter == '~';
    return has_call(filter + denies, call) != denies;
}

// What the library tries in a child before it does anything under a filter that was there before it
// (tracee/preload/confined.c), beside what every program calls.
static const char *const tried[] = {"memfd_create", "ftruncate",  "prlimit64",   "socket",        "connect",
                                    "sendmsg",      "sendto",     "getsockopt",  "ppoll",         "madvise",
                                    "mincore",      "mremap",     "prctl",       "sigaltstack",   "tgkill",
                                    "nanosleep",    "readlinkat", "sched_yield", "rt_sigprocmask"};

// The child itself.
static bool lets_try(const char *filter) {
    static const char *const needed[] = {"clone", "wait4", "exit_group", "openat", "read", "close", "mmap"};
    bool lets = true;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(needed); i++)
        lets &= allows(filter, needed[i]);
    return lets;
}

void seep_filter_missing(const struct seep_unit *unit, char *ret_calls, size_t room) {
    *ret_calls = 0;
    if (!*unit->calls || !lets_try(unit->calls))
        return;
    size_t used = 0;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(tried) && used < room; i++)
        if (!allows(unit->calls, tried[i]) || (unit->added && has_call(unit->added, tried[i])))
            used += (size_t)snprintf(ret_calls + used, room - used, "%s%s", used ? " " : "", tried[i]);
}

void seep_obstacles_find(const struct seep_unit *unit, const struct seep_service_options *options,
                         struct seep_obstacles *ret_obstacles) {
    ret_obstacles->nr_items = 0;
    look_at_program(unit, options->library, ret_obstacles);
    look_at_places(unit, options, ret_obstacles);
    look_at_variable_files(unit, ret_obstacles);
    if (*unit->calls && !lets_try(unit->calls))
        add(ret_obstacles, true,
            "SystemCallFilter does not allow clone and wait4, without which it cannot be tried what else it "
            "allows: "
            "'seep attach' traces it as it is");
    else if (*unit->filter && options->nr_filters)
        add(ret_obstacles, false,
            "it runs under %u filters of system calls; a child tries first whether they allow what tracing "
            "needs, "
            "and where they do not, the service runs untraced",
            options->nr_filters);
    else if (*unit->filter)
        add(ret_obstacles, false,
            "its filters of system calls (%s) can be counted only while it runs: start it, then enable seep "
            "once "
            "more, or it runs untraced",
            strchr(unit->filter, ' ') ? "SystemCallFilter" : unit->filter);
    char calls[512];
    seep_filter_missing(unit, calls, sizeof(calls));
    if (*calls)
        add(ret_obstacles, false,
            "the drop-in lets it make the system calls that tracing needs and its filter "
            "forbids: %s",
            calls);
    if (unit->memory_max < 64 * MIB)
        add(ret_obstacles, false,
            "its memory is bounded to %" PRIu64
            " MiB, and tracing takes some MiB and about a quarter of a heap of "
            "small blocks: watch it, or raise the bound",
            unit->memory_max / MIB);
    if (*unit->apparmor)
        add(ret_obstacles, false, "the AppArmor profile '%s' has to let it read %s and write %s/exit",
            unit->apparmor, options->library, options->folder);
    if (*unit->selinux)
        add(ret_obstacles, false, "SELinux (%s) has to let it read %s and write %s/exit", unit->selinux,
            options->library, options->folder);
}
