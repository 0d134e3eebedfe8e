// SPDX-License-Identifier: BSD-2-Clause
// See warn.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "command/command.h"
#include "command/warn.h"
#include "output/format.h"
#include "profile/verdict.h"

#define WARNED_MAX 3u

void seep_warn_incomplete(const struct seep_session *session) {
    struct seep_arena arena = SEEP_ARENA_INIT;
    size_t nr = 0;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        enum seep_verdict verdict = seep_profile_verdict(profile);
        if (verdict == SEEP_VERDICT_COMPLETE || ++nr > WARNED_MAX)
            continue;
        fputs("seep: process ", stderr);
        seep_put_escaped(stderr, profile->process.name);
        const char *why = seep_profile_why_incomplete(profile, &arena);
        fprintf(stderr, " (%d) is %s: ", (int)profile->process.pid, seep_verdict_name(verdict));
        seep_put_escaped(stderr, why ? why : "out of memory");
        fputc('\n', stderr);
    }
    seep_arena_deinit(&arena);
    if (nr > WARNED_MAX)
        fprintf(stderr, "seep: %zu more incomplete or not traced; 'seep report' lists all\n",
                nr - WARNED_MAX);
}

void seep_warn_debug_dir(void) {
    const char *named = getenv("SEEP_DEBUG_DIR");
    struct stat status;
    if (!named || !*named)
        return;
    bool there = stat(named, &status) == 0;
    struct seep_error *error =
        named[0] != '/'
            ? seep_error_create(SEEP_E_USAGE, "SEEP_DEBUG_DIR is ignored: '%s' is no absolute path", named)
        : !there                   ? seep_error_system(errno, "SEEP_DEBUG_DIR: %s", named)
        : !S_ISDIR(status.st_mode) ? seep_error_system(ENOTDIR, "SEEP_DEBUG_DIR: %s", named)
                                   : NULL;
    if (error)
        seep_command_fail(seep_error_hint(error, "name a folder of debug files, or unset it"));
}
