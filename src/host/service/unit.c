// SPDX-License-Identifier: BSD-2-Clause
// Asks systemctl for the properties of a unit, and takes them apart, see unit.h.
// Source: systemctl(1), "show"; systemd.exec(5).
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "service/systemctl.h"
#include "service/unit.h"

#define PROPERTIES                                                                                           \
    "Id,LoadState,ActiveState,ControlGroup,ExecStart,User,DynamicUser,Environment,EnvironmentFiles,"         \
    "RootDirectory,RootImage,ProtectSystem,ProtectHome,PrivateTmp,PrivateDevices,MemoryMax,MemoryHigh,"      \
    "SystemCallFilter,RestrictNamespaces,MemoryDenyWriteExecute,AppArmorProfile,SELinuxContext,MainPID,"     \
    "DropInPaths,StateChangeTimestamp"

enum { PROCESSES_MAX = 1 << 16 };

void seep_unit_destroy(struct seep_unit *unit) {
    if (!unit)
        return;
    free((char *)unit->preload);
    free(unit->added);
    free(unit->said);
    free(unit);
}

// ---- lists of variables ----

// One word of a list: quotes and backslashes as systemd writes them. Returns what follows it.
static const char *next_word(const char *at, char *ret_word) {
    char quote = 0, *to = ret_word;
    while (*at == ' ')
        at++;
    for (; *at && (quote || *at != ' '); at++) {
        if (!quote && *at == '$' && at[1] == '\'') {
            quote = *++at;
        } else if (!quote && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else if (quote && *at == quote) {
            quote = 0;
        } else {
            if (*at == '\\' && at[1])
                at++;
            *to++ = *at;
        }
    }
    *to = 0;
    return at;
}

char *seep_unit_variable(const char *list, const char *name) {
    size_t length = strlen(name);
    char *word = malloc(strlen(list) + 1), *found = NULL;
    while (word && *list) {
        list = next_word(list, word);
        if (strncmp(word, name, length) == 0 && word[length] == '=') { // the last one counts
            free(found);
            found = strdup(word + length + 1);
        }
    }
    free(word);
    return found;
}

static bool is_ours(const char *path, size_t length) {
    const char *slash = memrchr(path, '/', length);
    const char *base = slash ? slash + 1 : path;
    size_t left = length - (size_t)(base - path);
    return (left == 11 && memcmp(base, "libseep.so", 10) == 0) ||
           (left == 10 && memcmp(base, "libseep.so", 10) == 0) ||
           (left == 17 && memcmp(base, "libseep-record.so", 17) == 0);
}

// The libraries of a list that are not ours, in their order; malloc'ed.
static char *without_ours(const char *list) {
    char *rest = calloc(1, strlen(list) + 1);
    for (const char *at = list; rest && *at;) {
        size_t length = strcspn(at, ": ");
        if (length && !is_ours(at, length))
            sprintf(rest + strlen(rest), "%s%.*s", *rest ? ":" : "", (int)length, at);
        at += length + (at[length] != 0);
    }
    return rest;
}

// ---- properties ----

// The value of a property in what systemctl said, which is cut at its end; "" where it is not there.
static const char *property(char *said, const char *name) {
    size_t length = strlen(name);
    for (char *at = said; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return "";
}

// { path=/usr/sbin/nginx ; argv[]=... }
static const char *program_of(char *exec) {
    static const char key[] = "path=";
    char *at = strstr(exec, key);
    if (!at)
        return "";
    at += sizeof(key) - 1;
    char *end = strstr(at, " ; ");
    if (end)
        *end = 0;
    return at;
}

static uint64_t bound_of(const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return end == text || errno ? UINT64_MAX : value;
}

// All lines are found before any is cut.
struct seep_error *seep_unit_take(struct seep_unit *unit) {
    char *said = unit->said;
    const char *max = property(said, "MemoryMax"), *high = property(said, "MemoryHigh");
    const char *root = property(said, "RootDirectory"), *image = property(said, "RootImage");
    const char *filter = property(said, "SystemCallFilter");
    const char *namespaces = property(said, "RestrictNamespaces");
    const char *write_execute = property(said, "MemoryDenyWriteExecute");
    const char *environment = property(said, "Environment"), *drop_ins = property(said, "DropInPaths");
    const char *dynamic = property(said, "DynamicUser"), *devices = property(said, "PrivateDevices");
    const char *pid = property(said, "MainPID"), *exec = property(said, "ExecStart");
    unit->id = property(said, "Id");
    unit->load = property(said, "LoadState");
    unit->active = property(said, "ActiveState");
    unit->group = property(said, "ControlGroup");
    unit->run_as = property(said, "User");
    unit->variable_files = property(said, "EnvironmentFiles");
    unit->protect_system = property(said, "ProtectSystem");
    unit->protect_home = property(said, "ProtectHome");
    unit->private_tmp = property(said, "PrivateTmp");
    unit->apparmor = property(said, "AppArmorProfile");
    unit->selinux = property(said, "SELinuxContext");
    unit->state_time = property(said, "StateChangeTimestamp");
    for (char *at = said; (at = strchr(at, '\n')); at++)
        *at = 0;
    unit->calls = filter;
    unit->root = *root ? root : image;
    unit->filter = *filter                                        ? filter
                   : strcmp(namespaces, "no") != 0 && *namespaces ? "RestrictNamespaces"
                   : strcmp(write_execute, "yes") == 0            ? "MemoryDenyWriteExecute"
                                                                  : "";
    unit->memory_max = SEEP_MIN(bound_of(max), bound_of(high));
    unit->dynamic_user = strcmp(dynamic, "yes") == 0;
    unit->private_devices = strcmp(devices, "yes") == 0;
    unit->enabled = strstr(drop_ins, "/50-seep.conf") != NULL;
    unit->main_pid = (pid_t)strtol(pid, NULL, 10);
    unit->program = program_of((char *)exec);
    char *preload = seep_unit_variable(environment, "LD_PRELOAD");
    unit->preload = without_ours(preload ? preload : "");
    free(preload);
    return unit->preload ? NULL : seep_error_no_memory();
}

// ---- finding it ----

static bool has_suffix(const char *name, const char *suffix) {
    size_t length = strlen(name), nr = strlen(suffix);
    return length >= nr && strcmp(name + length - nr, suffix) == 0;
}

static struct seep_error *full_name(const char *name, char *ret_full, size_t room) {
    bool plain = *name && *name != '-' && !strchr(name, '/') && strlen(name) < NAME_MAX - 8;
    for (const char *at = name; plain && *at; at++)
        plain = (unsigned char)*at > ' ';
    if (!plain)
        return seep_error_create(SEEP_E_USAGE, "'%s' is no name of a unit", name);
    snprintf(ret_full, room, "%s%s", name, strrchr(name, '.') ? "" : ".service");
    if (!has_suffix(ret_full, ".service"))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "'%s' is no service", name),
                               "only units that end with .service run programs");
    if (has_suffix(ret_full, "@.service"))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "'%s' is a template", name),
                               "name one of its instances: %.*sNAME.service",
                               (int)(strlen(ret_full) - strlen(".service")), ret_full);
    return NULL;
}

static struct seep_error *judge(const struct seep_unit *unit, const char *name) {
    const char *manager = unit->user ? " of this user" : "";
    if (strcmp(unit->load, "not-found") == 0)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "there is no service '%s'%s", name, manager),
            "'systemctl%s list-units --type=service' lists those that there are%s",
            unit->user ? " --user" : "", unit->user ? "" : "; --user takes those of your own manager");
    if (strcmp(unit->load, "masked") == 0)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "'%s' is masked", unit->id),
                               "'systemctl%s unmask %s' lets it start again", unit->user ? " --user" : "",
                               unit->id);
    if (strcmp(unit->load, "loaded") != 0)
        return seep_error_create(SEEP_E_UNSUPPORTED, "systemd could not load '%s' (%s)", unit->id,
                                 unit->load);
    if (!*unit->program)
        return seep_error_create(SEEP_E_UNSUPPORTED, "'%s' has no ExecStart=: there is nothing to trace",
                                 unit->id);
    return NULL;
}

struct seep_error *seep_unit_find(bool user, const char *name, struct seep_unit **ret_unit) {
    char full[NAME_MAX + 1];
    struct seep_error *error = full_name(name, full, sizeof(full));
    if (error)
        return error;
    struct seep_unit *unit = calloc(1, sizeof(*unit));
    if (!unit)
        return seep_error_no_memory();
    unit->user = user;
    error =
        seep_systemctl(user, (const char *const[]){"show", "-p", PROPERTIES, "--", full, NULL}, &unit->said);
    if (!error)
        error = seep_unit_take(unit);
    if (!error)
        error = judge(unit, full);
    if (error)
        seep_unit_destroy(unit);
    else
        *ret_unit = unit;
    return error;
}

// ---- its processes ----

static FILE *open_processes(const char *group) {
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"};
    char path[PATH_MAX];
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(roots); i++) {
        snprintf(path, sizeof(path), "%s%s/cgroup.procs", roots[i], group);
        FILE *file = fopen(path, "re");
        if (file)
            return file;
    }
    return NULL;
}

struct seep_error *seep_unit_processes(const char *group, pid_t **ret_pids, size_t *ret_nr) {
    FILE *file = *group ? open_processes(group) : NULL;
    pid_t *pids = NULL;
    size_t nr = 0, capacity = 0;
    bool good = true;
    long pid;
    while (file && good && nr < PROCESSES_MAX && fscanf(file, "%ld", &pid) == 1) {
        good = seep_grow(&pids, &capacity, nr + 1, sizeof(*pids));
        if (good && pid > 0) // 0: of another pid namespace
            pids[nr++] = (pid_t)pid;
    }
    if (file)
        fclose(file);
    if (!good) {
        free(pids);
        return seep_error_no_memory();
    }
    *ret_pids = pids;
    *ret_nr = nr;
    return NULL;
}
