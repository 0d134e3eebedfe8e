// SPDX-License-Identifier: BSD-2-Clause
// See proc_fields.h.
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc_fields.h"

static FILE *open_of(pid_t pid, pid_t tid, const char *name) {
    char path[64];
    if (!pid)
        snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
    else if (tid)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    else
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

bool seep_proc_is_ours(void) {
    static atomic_bool is_ours; // false: also before the first call, and before /proc is mounted
    char link[16] = "";
    if (!is_ours)
        is_ours = readlink("/proc/self", link, sizeof(link) - 1) > 0 && strtol(link, NULL, 10) == getpid();
    return is_ours;
}

bool seep_stat_read(pid_t pid, pid_t tid, struct seep_stat *ret_stat) {
    FILE *file = open_of(pid, tid, "stat");
    size_t nr = file ? fread(ret_stat->text, 1, sizeof(ret_stat->text) - 1, file) : 0;
    if (file)
        fclose(file);
    ret_stat->text[nr] = 0;
    return strrchr(ret_stat->text, ')') != NULL;
}

static const char *field_at(const struct seep_stat *stat, unsigned which) {
    const char *at = strrchr(stat->text, ')');
    for (unsigned field = 2; at && field < which; field++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : "";
}

char seep_stat_state(const struct seep_stat *stat) {
    return *field_at(stat, SEEP_STAT_STATE);
}

uint64_t seep_stat_number(const struct seep_stat *stat, enum seep_stat_field field) {
    return strtoull(field_at(stat, field), NULL, 10);
}

long seep_status_number(pid_t pid, pid_t tid, const char *key) {
    FILE *file = open_of(pid, tid, "status");
    char line[256];
    long value = -1;
    while (file && value < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

unsigned long seep_own_id(pid_t id) {
    static const char key[] = "NSpid:";
    FILE *file = open_of(id, 0, "status");
    char line[512];
    unsigned long value = 0;
    while (file && !value && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *last = line + strcspn(line, "\n");
        while (last > line && !isdigit((unsigned char)last[-1]))
            last--;
        while (last > line && isdigit((unsigned char)last[-1]))
            last--;
        value = strtoul(last, NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}
