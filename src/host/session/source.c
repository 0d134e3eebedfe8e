// SPDX-License-Identifier: BSD-2-Clause
// The table of sources, see source.h.
#include <string.h>

#include "analysis/account.h"
#include "scan/scan.h"
#include "session/source.h"

#define DECLARE(name) extern const struct seep_source_ops seep_source_##name;
SEEP_SOURCES(DECLARE)
#undef DECLARE
#define SOURCE(name) &seep_source_##name,
static const struct seep_source_ops *const sources[] = {SEEP_SOURCES(SOURCE)};
#undef SOURCE

struct seep_error *seep_source_open(const char *spec, const struct seep_source_options *options,
                                    struct seep_source *ret_source) {
    struct seep_source source = {.spec = spec};
    if (options)
        source.options = *options;
    size_t i = 0;
    while (i + 1 < SEEP_ARRAY_SIZE(sources) && !sources[i]->takes(spec))
        i++;
    source.ops = sources[i]; // the last takes everything
    struct seep_error *err = source.ops->open ? source.ops->open(&source) : NULL;
    if (!err)
        *ret_source = source;
    return err;
}

void seep_source_close(struct seep_source *source) {
    if (source->ops && source->ops->close)
        source->ops->close(source);
    *source = (struct seep_source){NULL};
}

struct seep_error *seep_source_snapshot(struct seep_source *source, struct seep_session **ret_session) {
    return source->ops->snapshot(source, ret_session);
}

static struct seep_error *check_options(const struct seep_source *source,
                                        const struct seep_scan_options *options) {
    const struct seep_source_ops *ops = source->ops;
    if (options->cow && !ops->is_live)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--cow goes with a PID, not with a core file"),
                               "leave it out: a core file changes no more");
    if (source->options.trace && ops->is_live)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--trace goes with a core file, not with a PID"),
            "leave it out: the process has its image");
    return NULL;
}

static struct seep_error *scan(struct seep_source *source, const struct seep_scan_options *options,
                               struct seep_session **ret_session) {
    struct seep_error *err = check_options(source, options);
    if (err)
        return err;
    if (source->ops->scan)
        return source->ops->scan(source, options, ret_session);
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "%s: its memory is not there to be looked at", source->spec),
        "scan the process while it runs, or its core file");
}

struct seep_error *seep_session_scan(const char *spec, const struct seep_source_options *source_options,
                                     const struct seep_scan_options *options,
                                     struct seep_session **ret_session) {
    struct seep_source source;
    struct seep_error *err = seep_source_open(spec, source_options, &source);
    if (err)
        return err;
    err = scan(&source, options, ret_session);
    seep_source_close(&source);
    return err;
}

struct seep_error *seep_session_take_account(const char *spec, struct seep_session *session) {
    struct seep_source source;
    struct seep_error *err = seep_source_open(spec, NULL, &source);
    if (err)
        return err;
    if (source.ops->is_live && session->nr_profiles)
        err = seep_account_take(session->profiles[0], source.pid);
    seep_source_close(&source);
    return err;
}
