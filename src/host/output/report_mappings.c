// SPDX-License-Identifier: BSD-2-Clause
// The parts of the text report beside the heap: mappings, and blocks freed in a wrong way.
#include <inttypes.h>

#include "base/sum.h"
#include "base/words.h"
#include "output/format.h"
#include "output/report_text.h"

static void put_who(FILE *out, const struct seep_view *view, uint32_t process) {
    if (view->nr_processes > 1)
        fprintf(out, " in pid %" PRIu32, view->session->profiles[process]->process.pid);
}

struct seep_error *seep_text_mappings(FILE *out, struct seep_view *view, const struct seep_style *style) {
    const struct seep_mapping_counts *t = &view->mapping_totals;
    if (!t->maps)
        return NULL;
    fprintf(out, "\n%smappings by the program%s: %s of address space in %s mapping%s", seep_style_bold(style),
            seep_style_off(style), seep_format_bytes(view->map_live_bytes).text,
            seep_format_count(view->nr_map_live).text, seep_plural(view->nr_map_live));
    fprintf(out, ", of %s mapped in %s call%s; not part of the figures above\n",
            seep_format_bytes(t->mapped_bytes).text, seep_format_count(t->maps).text, seep_plural(t->maps));
    size_t nr_idle = 0;
    for (size_t i = 0; i < view->nr_mappings; i++) {
        const struct seep_view_mapping *mapping = &view->mappings[i];
        if (!mapping->live_bytes) {
            nr_idle++;
            continue;
        }
        fprintf(out, "\n  %s in %s mapping%s", seep_format_bytes(mapping->live_bytes).text,
                seep_format_count(mapping->nr_live).text, seep_plural(mapping->nr_live));
        put_who(out, view, mapping->process);
        fprintf(out, "\n    %s: %s call%s, %s mapped, peak %s\n", seep_via_name(mapping->stack.via),
                seep_format_count(mapping->counts.maps).text, seep_plural(mapping->counts.maps),
                seep_format_bytes(mapping->counts.mapped_bytes).text,
                seep_format_bytes(mapping->counts.peak_bytes).text);
        struct seep_error *error = seep_text_stack(out, view, &mapping->stack, style);
        if (error)
            return error;
    }
    size_t nr_more = view->nr_mappings_all - view->nr_mappings;
    if (nr_idle)
        fprintf(out, "\n  %s place%s of which nothing is mapped any more\n", seep_format_count(nr_idle).text,
                seep_plural(nr_idle));
    if (nr_more)
        fprintf(out, "\n  %s more place%s: --top 0 shows all\n", seep_format_count(nr_more).text,
                seep_plural(nr_more));
    return NULL;
}

struct seep_error *seep_text_faults(FILE *out, struct seep_view *view, const struct seep_style *style) {
    if (!view->nr_page_faults)
        return NULL;
    fprintf(out,
            "\n%sresident growth%s: %s in memory now that came by %s page fault%s; not part of the figures "
            "above\n",
            seep_style_bold(style), seep_style_off(style), seep_format_bytes(view->fault_bytes).text,
            seep_format_count(view->nr_page_faults).text, seep_plural(view->nr_page_faults));
    for (size_t i = 0; i < view->nr_faults && view->faults[i].live_bytes; i++) {
        const struct seep_view_mapping *fault = &view->faults[i];
        fprintf(out, "\n  %s in memory", seep_format_bytes(fault->live_bytes).text);
        put_who(out, view, fault->process);
        fprintf(out, "\n    touched first here: %s page fault%s, %s brought in\n",
                seep_format_count(fault->counts.maps).text, seep_plural(fault->counts.maps),
                seep_format_bytes(fault->counts.mapped_bytes).text);
        struct seep_error *error = seep_text_stack(out, view, &fault->stack, style);
        if (error)
            return error;
    }
    if (view->nr_faults_all > view->nr_faults)
        fprintf(out, "\n  %s more place%s: --top 0 shows all\n",
                seep_format_count(view->nr_faults_all - view->nr_faults).text,
                seep_plural(view->nr_faults_all - view->nr_faults));
    return NULL;
}

static const char *const headings[SEEP_MISUSE_NR] = {
    [SEEP_MISUSE_MISMATCH] = "freed by the wrong function",
    [SEEP_MISUSE_DOUBLE_FREE] = "freed a second time",
    [SEEP_MISUSE_INSIDE] = "an address inside a live block was freed",
    [SEEP_MISUSE_STACK] = "an address on the thread's own stack was freed",
    [SEEP_MISUSE_STATIC] = "the address of a variable was freed",
    [SEEP_MISUSE_WILD] = "an address where there is no memory was freed",
};

struct seep_error *seep_text_wrong_releases(FILE *out, struct seep_view *view,
                                            const struct seep_style *style) {
    if (!view->nr_wrong_releases)
        return NULL;
    uint64_t all = 0, uncertain = 0;
    for (size_t i = 0; i < view->nr_wrong_releases; i++)
        seep_add_up(view->wrong_releases[i].is_uncertain ? &uncertain : &all,
                    view->wrong_releases[i].what.count);
    fprintf(out, "\n%smismatches: ", seep_style_warn(style));
    if (all)
        fprintf(out, "%s block%s freed in a wrong way", seep_format_count(all).text, seep_plural(all));
    if (uncertain)
        fprintf(out, "%s%s block%s freed in a way that may be right", all ? ", " : "",
                seep_format_count(uncertain).text, seep_plural(uncertain));
    fprintf(out, "%s\n", seep_style_off(style));
    for (size_t i = 0; i < view->nr_wrong_releases; i++) {
        const struct seep_view_wrong_release *wrong = &view->wrong_releases[i];
        const char *heading = wrong->what.kind < SEEP_MISUSE_NR ? headings[wrong->what.kind] : NULL;
        fprintf(out, "\n  %s × %s", seep_format_count(wrong->what.count).text,
                heading ? heading : "freed in a way that this seep does not know");
        if (wrong->is_uncertain)
            fputs(", or a block whose allocation seep did not see", out);
        put_who(out, view, wrong->process);
        fprintf(out, ": 0x%" PRIx64, wrong->what.address);
        if (wrong->what.size)
            fprintf(out, " of %s byte%s", seep_format_count(wrong->what.size).text,
                    seep_plural(wrong->what.size));
        fprintf(out, "\n    %s at\n", seep_via_name(wrong->at.via));
        struct seep_error *error = seep_text_stack(out, view, &wrong->at, style);
        if (error)
            return error;
        if (wrong->what.first_site) {
            fprintf(out, "    first freed by %s at\n", seep_via_name(wrong->first.via));
            error = seep_text_stack(out, view, &wrong->first, style);
            if (error)
                return error;
        } else if (wrong->what.kind == SEEP_MISUSE_DOUBLE_FREE) {
            fputs("    first freed: not known, 'seep run --free-stacks' keeps it\n", out);
        }
        if (!wrong->what.site)
            continue;
        fprintf(out, "    of a block from %s at\n", seep_via_name(wrong->from.via));
        error = seep_text_stack(out, view, &wrong->from, style);
        if (error)
            return error;
    }
    return NULL;
}
