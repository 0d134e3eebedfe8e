// SPDX-License-Identifier: BSD-2-Clause
// Finding a mark by its name, see marks.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/marks.h"

// "name#2" as name and which; 0: the last.
struct wanted {
    const char *name;
    size_t length;
    unsigned long which;
};

static struct wanted parse(const char *text) {
    struct wanted wanted = {.name = text, .length = strlen(text)};
    const char *hash = strrchr(text, '#');
    if (hash && hash[1] && strlen(hash + 1) < 10 && hash[1 + strspn(hash + 1, "0123456789")] == 0) {
        wanted.which = strtoul(hash + 1, NULL, 10);
        wanted.length = wanted.which ? (size_t)(hash - text) : wanted.length;
    }
    return wanted;
}

const struct seep_mark *seep_marks_find(const struct seep_profile *profile, const char *name) {
    struct wanted wanted = parse(name);
    const struct seep_mark *found = NULL;
    unsigned long nr = 0;
    for (uint32_t i = 0; i < profile->nr_marks; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        if (strlen(mark->name) != wanted.length || memcmp(mark->name, wanted.name, wanted.length) != 0)
            continue;
        nr++;
        if (!wanted.which || nr == wanted.which)
            found = mark;
    }
    bool is_peak = wanted.length == 4 && memcmp(wanted.name, "peak", 4) == 0;
    return !found && is_peak && profile->at_peak.counted ? &profile->at_peak : found;
}

struct seep_error *seep_marks_missing(const struct seep_session *session, const char *name) {
    if (strcmp(name, "peak") == 0)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "what was live at the peak was not kept in it"),
            "a recording knows it: seep run --mode record");
    char list[512] = "";
    size_t used = 0;
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t i = 0; i < session->profiles[p]->nr_marks && used < sizeof(list); i++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     session->profiles[p]->marks[i].name);
    struct seep_error *error = seep_error_create(SEEP_E_NOT_FOUND, "there is no mark '%s' in it", name);
    if (*name && name[strspn(name, "0123456789.")] == 0)
        return seep_error_hint(error, "a time needs a unit: %ss, or %sms", name, name);
    if (!used)
        return seep_error_hint(
            error, "it has no marks: make them with 'seep mark PID NAME', or seep_mark() of seep.h");
    return seep_error_hint(error, "its marks are %s%s", list, used >= sizeof(list) ? "..." : "");
}

struct seep_error *seep_marks_time(const struct seep_session *session, const char *name, size_t process,
                                   int64_t *ret_ns) {
    const struct seep_profile *profile = session->profiles[process];
    const struct seep_mark *mark = seep_marks_find(profile, name);
    if (mark) {
        *ret_ns = mark->at_ns;
        return NULL;
    }
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *other = session->profiles[p];
        mark = seep_marks_find(other, name);
        // In this order nothing is out of range where the starts are times of a clock.
        if (mark &&
            !__builtin_sub_overflow(other->process.start_realtime_ns, profile->process.start_realtime_ns,
                                    ret_ns) &&
            !__builtin_add_overflow(*ret_ns, mark->at_ns, ret_ns))
            return NULL;
    }
    return seep_marks_missing(session, name);
}
