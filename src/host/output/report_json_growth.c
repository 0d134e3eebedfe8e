// SPDX-License-Identifier: BSD-2-Clause
//
// Growth in the JSON report: what was freed only at the end, ages, snapshots and verdicts.
#include <jansson.h>
#include <stdlib.h>

#include "growth/snapshots.h"
#include "output/json_build.h"
#include "output/report_json.h"
#include "view/view.h"

json_t *seep_json_of_exit(uint64_t blocks, uint64_t bytes, bool all) {
    json_t *object = json_object();
    set(&object, "blocks", integer(blocks));
    set(&object, "bytes", integer(bytes));
    set(&object, "all", json_boolean(all));
    return object;
}

json_t *seep_json_of_ages(const struct seep_ages *ages) {
    json_t *array = json_array();
    for (size_t i = 0; i < SEEP_AGE_SPANS; i++) {
        json_t *object = json_object();
        int64_t below_ns = seep_age_below_ns(i);
        set(&object, "below_s", below_ns < INT64_MAX ? json_real((double)below_ns / 1e9) : json_null());
        set(&object, "blocks", integer(ages->spans[i].blocks));
        set(&object, "bytes", integer(ages->spans[i].bytes));
        append(&array, object);
    }
    return array;
}

static json_t *seconds_json(double seconds) {
    return seconds >= 0 && seconds < 1e15 ? json_real(seconds) : json_null();
}

json_t *seep_json_of_growth(const struct seep_growth_of *growth, uint64_t limit, uint64_t left) {
    if (!growth->trend.verdict)
        return json_null();
    json_t *object = json_object();
    set(&object, "verdict", json_string(seep_trend_name(growth->trend.verdict)));
    set(&object, "confidence", json_real(growth->trend.confidence));
    set(&object, "bytes_per_s", json_real(growth->trend.slope));
    set(&object, "bytes_per_s_low", json_real(growth->trend.slope_low));
    set(&object, "bytes_per_s_high", json_real(growth->trend.slope_high));
    set(&object, "blocks_per_s", json_real(growth->blocks_per_s));
    set(&object, "first_bytes", integer(growth->first_bytes));
    set(&object, "last_bytes", integer(growth->last_bytes));
    set(&object, "until_limit_s", limit ? seconds_json(seep_growth_seconds(growth, left)) : json_null());
    return object;
}

json_t *seep_json_of_exit_sum(const struct seep_view_exit *all) {
    json_t *object = json_object();
    set(&object, "sites", integer(all->nr_sites));
    set(&object, "blocks", integer(all->blocks));
    set(&object, "bytes", integer(all->bytes));
    return object;
}

static json_t *snapshots_json(const struct seep_profile *profile) {
    struct seep_snapshot_live *totals = seep_snapshots_totals(profile);
    json_t *array = totals ? json_array() : NULL;
    for (uint32_t i = 0; totals && i < profile->nr_snapshots; i++) {
        const struct seep_snapshot *snapshot = &profile->snapshots[i];
        json_t *object = json_object();
        set(&object, "number", integer(i + 1));
        set(&object, "at_s", json_real((double)snapshot->at_ns / 1e9));
        set(&object, "rss_bytes", snapshot->rss_bytes ? integer(snapshot->rss_bytes) : json_null());
        set(&object, "used_bytes", snapshot->used_bytes ? integer(snapshot->used_bytes) : json_null());
        set(&object, "live_bytes", integer(totals[i].bytes));
        set(&object, "live_blocks", integer(totals[i].blocks));
        append(&array, object);
    }
    free(totals);
    return array;
}

static json_t *unknown_json(const struct seep_profile *profile) {
    static const char *const codes[] = {[SEEP_GROWTH_STOOD_STILL] = "stood_still",
                                        [SEEP_GROWTH_TOO_SHORT] = "too_short_a_time",
                                        [SEEP_GROWTH_TOO_FEW] = "too_few_snapshots"};
    enum seep_growth_unknown why = seep_growth_why_unknown(profile);
    return why ? json_string(codes[why]) : json_null();
}

json_t *seep_json_of_process_growth(const struct seep_view *view, uint32_t process) {
    const struct seep_profile *profile = view->session->profiles[process];
    uint64_t left, limit = seep_view_limit(view, process, &left);
    json_t *object = json_object();
    set(&object, "snapshots", snapshots_json(profile));
    set(&object, "live", seep_json_of_growth(&profile->growth->live, limit, left));
    set(&object, "rss", seep_json_of_growth(&profile->growth->rss, limit, left));
    set(&object, "unknown", unknown_json(profile));
    set(&object, "limit_bytes", limit ? integer(limit) : json_null());
    set(&object, "limit",
        limit ? string(view->options.limit_bytes ? "--limit" : profile->limit) : json_null());
    json_t *sites = json_object();
    for (int i = SEEP_TREND_STEADY; i < SEEP_TREND_NR; i++)
        set(&sites, seep_trend_name((enum seep_trend_verdict)i), integer(profile->growth->nr_verdicts[i]));
    set(&object, "sites", sites);
    return object;
}
