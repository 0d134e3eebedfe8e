// SPDX-License-Identifier: BSD-2-Clause
// Makes the environment of a traced program, see environment.h.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "process/proc_fields.h"
#include "source/run/environment.h"

void seep_environment_deinit(struct seep_environment *environment) {
    for (size_t i = 0; i < environment->nr_made; i++)
        free(environment->made[i]);
    free(environment->made);
    free(environment->items);
    *environment = (struct seep_environment){NULL};
}

static bool add(struct seep_environment *environment, char *item) {
    if (!seep_grow(&environment->items, &environment->capacity, environment->nr_items + 1,
                   sizeof(*environment->items)))
        return false;
    environment->items[environment->nr_items++] = item;
    return true;
}

static SEEP_PRINTF(2, 3) bool make(struct seep_environment *environment, const char *format, ...) {
    if (!seep_grow(&environment->made, &environment->made_capacity, environment->nr_made + 1,
                   sizeof(*environment->made)))
        return false;
    va_list args;
    va_start(args, format);
    char *item;
    bool made = vasprintf(&item, format, args) >= 0;
    va_end(args);
    if (!made)
        return false;
    environment->made[environment->nr_made++] = item;
    return add(environment, item);
}

static bool is_named(const char *item, const char *name) {
    size_t length = strlen(name);
    return strncmp(item, name, length) == 0 && item[length] == '=';
}

// What we set ourselves must not come twice; what is not set by an option stays the user's.
static bool is_ours(const struct seep_run_options *options, const char *item) {
    return is_named(item, "LD_PRELOAD") || is_named(item, "SEEP_SOCKET") || is_named(item, "SEEP_MODE") ||
           is_named(item, "SEEP_FILTERS") ||
           (options->mode && (is_named(item, "SEEP_OUT") || is_named(item, "SEEP_LOG_FD"))) ||
           (options->drop && is_named(item, "SEEP_DROP")) ||
           (options->log_columns && is_named(item, "SEEP_LOG_COLUMNS")) ||
           (options->depth && is_named(item, "SEEP_DEPTH")) ||
           (options->sample_bytes && is_named(item, "SEEP_SAMPLE")) ||
           (options->age && is_named(item, "SEEP_AGE")) ||
           (options->free_stacks && is_named(item, "SEEP_FREE_STACKS")) || is_named(item, "SEEP_WIPE") ||
           (options->allocator && is_named(item, "SEEP_ALLOCATOR")) || is_named(item, "SEEP_SCAN") ||
           (options->ignore_children && is_named(item, "SEEP_CHILDREN"));
}

// How many filters of system calls we are under: the library knows by that that one it finds is not its
// program's own, see tracee/preload/confined.c. 0 also where it cannot be read.
static unsigned long nr_filters(void) {
    long nr = seep_status_number(0, 0, "Seccomp_filters:");
    return nr > 0 ? (unsigned long)nr : 0;
}

static bool fill(struct seep_environment *environment, const struct seep_run_options *options,
                 const char *library, bool emulated, const char *socket) {
    bool fits = true;
    for (char **item = environ; fits && item && *item; item++)
        if (!library || !is_ours(options, *item) || (emulated && is_named(*item, "LD_PRELOAD")))
            fits = add(environment, *item);
    if (library) {
        const char *before = getenv("LD_PRELOAD");
        bool some = before && *before && !emulated; // an emulator has that itself
        // The allocator last: what the user preloads may stand in front of it as of any other.
        const char *allocator = options->allocator;
        fits = fits &&
               make(environment, "%sLD_PRELOAD=%s%s%s%s%s", emulated ? "QEMU_SET_ENV=" : "", library,
                    some ? ":" : "", some ? before : "", allocator ? ":" : "", allocator ? allocator : "");
        fits = fits && make(environment, "SEEP_SOCKET=%s", socket);
        unsigned long filters = nr_filters();
        fits = fits && (!filters || make(environment, "SEEP_FILTERS=%lu", filters));
        fits = fits && (!options->mode || make(environment, "SEEP_MODE=%s", options->mode));
        fits = fits && (!options->drop || make(environment, "SEEP_DROP=1"));
        fits = fits && (!options->log || make(environment, "SEEP_OUT=%s", options->log));
        fits = fits &&
               (!options->mode || options->log || make(environment, "SEEP_LOG_FD=%" PRIu64, options->log_fd));
        fits =
            fits && (!options->log_columns || make(environment, "SEEP_LOG_COLUMNS=%s", options->log_columns));
        fits = fits && (!options->depth || make(environment, "SEEP_DEPTH=%" PRIu64, options->depth));
        fits = fits &&
               (!options->sample_bytes || make(environment, "SEEP_SAMPLE=%" PRIu64, options->sample_bytes));
        fits = fits && (!options->scan || make(environment, "SEEP_SCAN=yes"));
        fits = fits && (!options->age || make(environment, "SEEP_AGE=1"));
        fits = fits && (!options->wipe_freed || make(environment, "SEEP_WIPE=1"));
        fits = fits && (!options->free_stacks || make(environment, "SEEP_FREE_STACKS=1"));
        fits = fits && (!options->ignore_children || make(environment, SEEP_ENVIRONMENT_IGNORE "%010d", 0));
    }
    return fits && add(environment, NULL);
}

struct seep_error *seep_environment_init(const struct seep_run_options *options, const char *library,
                                         bool emulated, const char *socket,
                                         struct seep_environment *ret_environment) {
    struct seep_environment environment = {NULL};
    if (!fill(&environment, options, library, emulated, socket)) {
        seep_environment_deinit(&environment);
        return seep_error_no_memory();
    }
    *ret_environment = environment;
    return NULL;
}
