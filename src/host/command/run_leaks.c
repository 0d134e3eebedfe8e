// SPDX-License-Identifier: BSD-2-Clause
// See run_leaks.h.
#include "command/command.h"
#include "command/run_leaks.h"
#include "profile/verdict.h"

// Without a scan, all that remains. Processes that went on with exec or were killed had no chance to
// free anything.
static uint64_t nr_leaks(const struct seep_profile *profile, uint32_t kinds) {
    uint64_t nr = 0;
    if (!profile->leaks.known)
        return profile->process.exit_kind == SEEP_EXIT_CODE && !seep_profile_why_not_looked(profile)
                   ? seep_profile_leaked(profile).blocks
                   : 0;
    for (uint32_t kind = SEEP_KIND_LOST; kind < SEEP_KIND_NR; kind++)
        nr += kinds >> kind & 1 ? profile->leaks.blocks[kind] : 0;
    return nr;
}

// Those of them that --ignore-last lets go.
static uint64_t nr_late(const struct seep_profile *profile, uint32_t kinds, unsigned percent) {
    uint64_t nr = 0;
    for (size_t i = 0; percent && i < profile->nr_blocks; i++) {
        uint32_t kind = profile->block_kinds ? profile->block_kinds[i] : SEEP_KIND_UNKNOWN;
        if (profile->block_kinds && !(kinds >> kind & 1))
            continue;
        nr += !seep_profile_block_suppressed(profile, i) &&
              seep_profile_is_late(profile, &profile->blocks[i], percent);
    }
    return nr;
}

// A check must not pass because there was no look.
static bool fails_unseen(const struct seep_profile *profile) {
    if (profile->process.exit_kind != SEEP_EXIT_CODE ||
        seep_profile_verdict(profile) != SEEP_VERDICT_NOT_TRACED)
        return false;
    seep_command_fail(seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "--error-exitcode: the program was not traced, its leaks are not known"),
        "the report says why"));
    return true;
}

// Nor while somebody who has blocks is still at work, and may yet lose them, or where one ended unseen.
static bool fails_unknown(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        bool running = profile->process.exit_kind == SEEP_EXIT_RUNNING;
        bool unseen = profile->process.exit_kind == SEEP_EXIT_UNKNOWN || seep_profile_why_not_looked(profile);
        if (!(running || unseen) || profile->leaks.known || !profile->totals.live_blocks)
            continue;
        seep_command_fail(seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--error-exitcode: process %u %s, its leaks are not known",
                              (unsigned)profile->process.pid,
                              running ? "was still running when the program had ended"
                                      : "ended before it could be looked at"),
            running ? "let the program wait for it, or leave such processes out: "
                      "--children ignore"
                    : "the report says why; children may be left out: --children ignore"));
        return true;
    }
    return false;
}

bool seep_run_has_leaks(const struct seep_session *session, const struct seep_view_options *view) {
    uint32_t kinds = view->kinds ? view->kinds : SEEP_KINDS_LEAKED;
    unsigned percent = view->ignore_last;
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (nr_leaks(session->profiles[i], kinds) > nr_late(session->profiles[i], kinds, percent))
            return true;
    return fails_unseen(session->profiles[0]) || fails_unknown(session);
}
