// SPDX-License-Identifier: BSD-2-Clause
// A session as JSON, see trace_json.h.
#include <stdio.h>
#include <string.h>

#include "names/symbols.h"
#include "trace_json.h"

static json_t *number(uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    return value > INT64_MAX ? json_string(digits) : json_integer((json_int_t)value);
}

static json_t *text(const char *bytes) {
    if (!bytes)
        return json_null();
    size_t length = strlen(bytes);
    char *utf8 = malloc(2 * length + 1);
    size_t used = 0;
    if (!utf8)
        abort();
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x80)
            utf8[used++] = (char)(0xc0 | byte >> 6);
        utf8[used++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    json_t *json = json_stringn(utf8, used);
    free(utf8);
    return json;
}

static json_t *numbers(const uint64_t *values, size_t nr) {
    json_t *array = json_array();
    for (size_t i = 0; i < nr; i++)
        json_array_append_new(array, number(values[i]));
    return array;
}

static json_t *texts(const char *const *values, size_t nr) {
    json_t *array = json_array();
    for (size_t i = 0; i < nr; i++)
        json_array_append_new(array, text(values[i]));
    return array;
}

static void set(json_t *object, const char *key, json_t *value) {
    json_object_set_new(object, key, value);
}

static json_t *process_json(const struct seep_profile *profile) {
    const struct seep_process *process = &profile->process;
    json_t *json = json_object();
    set(json, "pid", number(process->pid));
    set(json, "ppid", number(process->ppid));
    set(json, "forked_from", number(process->forked_from));
    set(json, "is_main", json_boolean(process->is_main));
    set(json, "exe", text(process->exe));
    set(json, "args", texts(process->args, process->nr_args));
    set(json, "nr_args_all", number(process->nr_args_all));
    set(json, "start_realtime_ns", json_integer(process->start_realtime_ns));
    set(json, "duration_ns", json_integer(process->duration_ns));
    set(json, "exit_kind", number(process->exit_kind));
    set(json, "exit_value", json_integer(process->exit_value));
    const struct seep_platform *platform = &process->platform;
    const struct seep_image_range *given = profile->hints.own;
    if (profile->hints.nr_own)
        set(json, "given", json_pack("[o,o]", number(given->start), number(given->bytes)));
    if (platform->word_bytes)
        set(json, "platform",
            json_pack("[i,i,b]", platform->machine, platform->word_bytes, platform->big_endian));
    return json;
}

static json_t *notes_json(const struct seep_note *notes, size_t nr) {
    json_t *array = json_array();
    for (size_t i = 0; i < nr; i++) {
        json_t *json = json_object();
        set(json, "code", number(notes[i].code));
        set(json, "flags", number(notes[i].flags));
        set(json, "text", text(notes[i].text));
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *health_json(const struct seep_health *health) {
    json_t *json = json_object();
    set(json, "events", number(health->events));
    set(json, "lost", numbers(health->lost, SEEP_LOST_NR));
    set(json, "cut", numbers(health->cut, SEEP_CUT_NR));
    set(json, "stacks_cut", number(health->stacks_cut));
    set(json, "state", number(health->state));
    set(json, "passive_reason", number(health->passive_reason));
    set(json, "flags", number(health->flags));
    set(json, "preempted_by", text(health->preempted_by));
    set(json, "depth_limit", number(health->depth_limit));
    set(json, "sample_bytes", number(health->sample_bytes));
    set(json, "notes", notes_json(health->notes, health->nr_notes));
    return json;
}

static json_t *totals_json(const struct seep_totals *totals) {
    json_t *json = json_object();
    set(json, "allocations", number(totals->allocations));
    set(json, "allocated_bytes", number(totals->allocated_bytes));
    set(json, "frees", number(totals->frees));
    set(json, "freed_bytes", number(totals->freed_bytes));
    set(json, "live_blocks", number(totals->live_blocks));
    set(json, "live_bytes", number(totals->live_bytes));
    set(json, "peak_bytes", number(totals->peak_bytes));
    set(json, "peak_exact", json_boolean(totals->peak_exact));
    set(json, "peak_error_bytes", number(totals->peak_error_bytes));
    set(json, "temporary", number(totals->temporary));
    set(json, "failed", number(totals->failed));
    set(json, "unknown_frees", number(totals->unknown_frees));
    set(json, "inherited", numbers((const uint64_t[]){totals->inherited_blocks, totals->inherited_bytes}, 2));
    set(json, "by_function", numbers(totals->by_function, SEEP_VIA_HEAP_NR));
    set(json, "releases", numbers(totals->releases, SEEP_RELEASE_NR));
    set(json, "size_class", numbers(totals->size_class, SEEP_IMAGE_SIZE_CLASSES));
    return json;
}

static json_t *module_json(const struct seep_module *module) {
    json_t *json = json_object();
    char hex[2 * sizeof(module->build_id) + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
    set(json, "path", text(module->path));
    set(json, "bias_rt", number(module->bias_rt));
    set(json, "start_rt", number(module->start_rt));
    set(json, "end_rt", number(module->end_rt));
    set(json, "first_seen_ns", json_integer(module->first_seen_ns));
    set(json, "unloaded_ns", json_integer(module->unloaded_ns));
    set(json, "build_id", json_string(hex));
    json_t *names = json_array();
    for (uint32_t i = 0; i < module->nr_names; i++) {
        json_t *row = json_array();
        json_array_append_new(row, number(module->names[i].offset));
        json_array_append_new(row, number(module->names[i].bytes));
        json_array_append_new(row, text(module->names[i].name));
        json_array_append_new(names, row);
    }
    if (module->nr_names)
        set(json, "names", names);
    else
        json_decref(names);
    json_t *places = json_array();
    for (uint32_t i = 0; i < module->nr_places; i++) {
        json_t *row = json_array(), *frames = json_array();
        for (uint32_t k = 0; k < module->places[i].nr_frames; k++) {
            const struct seep_symbol_frame *frame = &module->places[i].frames[k];
            json_t *of = json_array();
            json_array_append_new(of, frame->function ? text(frame->function) : json_null());
            json_array_append_new(of, frame->file ? text(frame->file) : json_null());
            json_array_append_new(of, number(frame->line));
            json_array_append_new(frames, of);
        }
        json_array_append_new(row, number(module->places[i].offset));
        json_array_append_new(row, frames);
        json_array_append_new(places, row);
    }
    if (module->nr_places)
        set(json, "lines", places);
    else
        json_decref(places);
    return json;
}

static json_t *counters_json(const struct seep_counters *counters) {
    const uint64_t values[] = {counters->allocations, counters->allocated_bytes, counters->frees,
                               counters->freed_bytes, counters->temporary,       counters->peak_bytes,
                               counters->size_min,    counters->size_max};
    return numbers(values, SEEP_ARRAY_SIZE(values));
}

static json_t *steps_json(const struct seep_link *link) {
    json_t *array = json_array();
    for (uint8_t i = 0; i < link->nr_steps; i++) {
        const struct seep_link_step *step = &link->steps[i];
        const uint64_t values[] = {step->nr,      step->bytes,         step->off,
                                   step->arrival, step->vtable_module, step->vtable};
        json_array_append_new(array, numbers(values, SEEP_ARRAY_SIZE(values)));
    }
    return array;
}

// The fields that a link of each kind has: seep_reader.py has the same table.
static json_t *link_json(const struct seep_link *link) {
    static const char *const fields[SEEP_LINK_NR] = {"t",  "ia",   "i", "i", "i", "i",  "",  "",  "ao",
                                                     "ao", "iaov", "",  "a", "a", "ia", "i", "ia"};
    const char *has = fields[link->kind];
    json_t *json = json_object(), *frames = json_array();
    set(json, "kind", number(link->kind));
    set(json, "lost", number(link->lost));
    set(json, "whole", number(link->whole));
    if (strchr(has, 't'))
        set(json, "text", text(link->text));
    if (strchr(has, 'i'))
        set(json, "i", number(link->id));
    if (strchr(has, 'a'))
        set(json, "a", number(link->at));
    if (strchr(has, 'o'))
        set(json, "o", number(link->off));
    if (strchr(has, 'v')) {
        set(json, "vtable_module", number(link->vtable_module));
        set(json, "vtable", number(link->vtable));
    }
    if (link->arrival)
        set(json, "arrival", number(link->arrival));
    if (link->nr_steps)
        set(json, "steps", steps_json(link));
    for (uint8_t i = 0; i < link->nr_frames; i++) {
        const struct seep_link_frame *frame = &link->frames[i];
        json_t *row = json_object();
        set(row, "module", number(frame->module));
        set(row, "address", number(frame->address));
        set(row, "cfa", number(frame->cfa));
        set(row, "sp", number(frame->sp));
        set(row, "bp", number(frame->bp));
        set(row, "reg", number(frame->reg));
        json_array_append_new(frames, row);
    }
    if (link->nr_frames) {
        set(json, "at", number(link->at));
        set(json, "frames", json_incref(frames));
    }
    json_decref(frames);
    return json;
}

static json_t *chain_json(const struct seep_chain *chain) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < chain->nr_links; i++)
        json_array_append_new(array, link_json(&chain->links[i]));
    return array;
}

// Only where a scan was made.
static void set_leaks(json_t *json, const struct seep_profile *profile) {
    const struct seep_leaks *leaks = &profile->leaks;
    if (!leaks->known)
        return;
    json_t *object = json_object(), *kinds = json_array(), *holders = json_array(), *chains = json_object(),
           *held = json_object(), *of_holders = json_array();
    for (size_t i = 0; i < profile->nr_blocks; i++)
        json_array_append_new(kinds, number(profile->block_kinds[i]));
    set(object, "pause_ns", json_integer(leaks->pause_ns));
    set(object, "read_bytes", number(leaks->read_bytes));
    set(object, "unread_bytes", number(leaks->unread_bytes));
    set(object, "nr_threads", number(leaks->nr_threads));
    set(object, "kinds", kinds);
    set(object, "held_by", json_object());
    for (uint32_t i = 0; i < leaks->nr_holders; i++) {
        json_t *row = json_object();
        set(row, "what", json_null());
        set(row, "blocks", number(leaks->holders[i].blocks));
        set(row, "bytes", number(leaks->holders[i].bytes));
        json_array_append_new(holders, row);
        json_array_append_new(of_holders, chain_json(leaks->holders[i].chain));
    }
    json_t *several = json_array();
    for (uint32_t i = 0; i < leaks->nr_held; i++) {
        const struct seep_held *one = &leaks->held[i];
        bool own = one->chain != profile->sites[one->site].held;
        json_array_append_new(several, json_pack("[I,I,o,o,o]", (json_int_t)one->site, (json_int_t)one->kind,
                                                 number(one->blocks), number(one->bytes),
                                                 own ? chain_json(one->chain) : json_null()));
    }
    if (leaks->nr_held)
        set(json, "held", several);
    else
        json_decref(several);
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%u", i);
        set(json_array_get(json_object_get(json, "sites"), i), "retained_bytes",
            number(profile->sites[i].retained_bytes));
        if (profile->sites[i].held)
            set(held, id, chain_json(profile->sites[i].held));
    }
    set(chains, "sites", held);
    set(chains, "holders", of_holders);
    set(json, "leaks", object);
    set(json, "holders", holders);
    set(json, "chains", chains);
}

static json_t *site_json(const struct seep_site *site) {
    json_t *json = json_object();
    set(json, "node", number(site->node));
    set(json, "via", number(site->via));
    set(json, "counters", counters_json(&site->counters));
    set(json, "live_blocks", number(site->live_blocks));
    set(json, "live_bytes", number(site->live_bytes));
    return json;
}

static json_t *thread_json(const struct seep_thread *thread) {
    json_t *json = json_object();
    set(json, "tid", number(thread->tid));
    set(json, "nr_owners", number(thread->nr_owners));
    set(json, "name", text(thread->name));
    set(json, "allocations", number(thread->allocations));
    set(json, "allocated_bytes", number(thread->allocated_bytes));
    set(json, "frees", number(thread->frees));
    set(json, "freed_bytes", number(thread->freed_bytes));
    return json;
}

static json_t *map_counts_json(const struct seep_mapping_counts *counts) {
    const uint64_t values[] = {counts->maps, counts->mapped_bytes, counts->unmaps, counts->unmapped_bytes,
                               counts->peak_bytes};
    return numbers(values, SEEP_ARRAY_SIZE(values));
}

static void set_annotations(json_t *json, const struct seep_profile *profile) {
    const struct seep_pool_totals *totals = &profile->pool_totals;
    const uint64_t figures[] = {totals->pools_created, totals->pools_destroyed, totals->unknown_frees};
    json_t *pools = json_array(), *pieces = json_array(), *marks = json_array(), *snapshots = json_array();
    for (uint32_t i = 0; i < profile->nr_pools; i++) {
        json_t *row = json_array();
        json_array_append_new(row, number(profile->pools[i].handle));
        json_array_append_new(row, text(profile->pools[i].name));
        json_array_append_new(row, number(profile->pools[i].site));
        json_array_append_new(row, json_integer(profile->pools[i].age_ns));
        json_array_append_new(pools, row);
    }
    for (uint32_t i = 0; i < profile->nr_pieces; i++) {
        const struct seep_piece *piece = &profile->pieces[i];
        const uint64_t row[] = {piece->address, piece->bytes, piece->site,
                                piece->pool == UINT32_MAX ? 0 : (uint64_t)piece->pool + 1};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(piece->age_ns));
        json_array_append_new(pieces, array);
    }
    for (uint32_t i = 0; i < profile->nr_marks; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        json_t *rows = json_array();
        for (uint32_t j = 0; j < mark->nr_sites; j++) {
            const struct seep_mark_site *site = &mark->sites[j];
            const uint64_t row[] = {site->site,  site->allocations, site->allocated_bytes,
                                    site->frees, site->freed_bytes, site->temporary};
            json_array_append_new(rows, numbers(row, 6));
        }
        json_t *array = json_array();
        json_array_append_new(array, text(mark->name));
        json_array_append_new(array, json_integer(mark->at_ns));
        json_array_append_new(array, number(mark->tid));
        json_array_append_new(array, json_boolean(mark->counted));
        json_array_append_new(array, rows);
        json_array_append_new(marks, array);
    }
    for (uint32_t i = 0; i < profile->nr_snapshots; i++) {
        const struct seep_snapshot *snapshot = &profile->snapshots[i];
        json_t *rows = json_array(), *array = json_array();
        for (uint32_t j = 0; j < snapshot->nr_sites; j++) {
            const struct seep_snapshot_site *site = &snapshot->sites[j];
            const uint64_t row[] = {site->site, site->live_blocks, site->live_bytes};
            json_array_append_new(rows, numbers(row, 3));
        }
        json_array_append_new(array, json_integer(snapshot->at_ns));
        json_array_append_new(array, number(snapshot->rss_bytes));
        json_array_append_new(array, number(snapshot->used_bytes));
        json_array_append_new(array, rows);
        json_array_append_new(snapshots, array);
    }
    json_t *limit = json_array();
    json_array_append_new(limit, number(profile->limit_bytes));
    json_array_append_new(limit, text(profile->limit));
    set(json, "snapshots", snapshots);
    set(json, "limit", limit);
    set(json, "pool_totals", numbers(figures, 3));
    set(json, "pools", pools);
    set(json, "pieces", pieces);
    set(json, "marks", marks);
}

static json_t *profile_json(const struct seep_profile *profile) {
    json_t *json = json_object();
    set(json, "process", process_json(profile));
    set(json, "health", health_json(&profile->health));
    set(json, "totals", totals_json(&profile->totals));
    json_t *modules = json_array(), *nodes = json_array(), *sites = json_array(), *threads = json_array(),
           *thread_sites = json_array(), *blocks = json_array();
    for (uint32_t i = 0; i < profile->nr_modules; i++)
        json_array_append_new(modules, module_json(&profile->modules[i]));
    for (uint32_t i = 0; i < profile->nr_nodes; i++) {
        const struct seep_node *node = &profile->nodes[i];
        const uint64_t row[] = {node->parent, node->module, node->offset, node->exact, node->kind};
        json_array_append_new(nodes, numbers(row, 5));
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        json_array_append_new(sites, site_json(&profile->sites[i]));
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        json_array_append_new(threads, thread_json(&profile->threads[i]));
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *row = &profile->thread_sites[i];
        json_t *pair = json_array();
        json_array_append_new(pair, number(row->site));
        json_array_append_new(pair, number(row->thread));
        json_array_append_new(pair, counters_json(&row->counters));
        if (row->slab_bytes)
            json_array_append_new(pair, number(row->slab_bytes));
        json_array_append_new(thread_sites, pair);
    }
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        const uint64_t row[] = {block->address, block->size, block->site, block->thread};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(block->age_ns));
        json_array_append_new(blocks, array);
    }
    set(json, "modules", modules);
    set(json, "nodes", nodes);
    set(json, "sites", sites);
    set(json, "threads", threads);
    set(json, "thread_sites", thread_sites);
    set(json, "blocks", blocks);
    set_leaks(json, profile);
    json_t *mapping_sites = json_array(), *mappings = json_array(), *wrong_releases = json_array();
    for (uint32_t i = 0; i < profile->nr_mapping_sites; i++) {
        json_t *row = map_counts_json(&profile->mapping_sites[i].counts);
        json_array_insert_new(row, 0, number(profile->mapping_sites[i].site));
        json_array_append_new(mapping_sites, row);
    }
    for (uint32_t i = 0; i < profile->nr_mappings; i++) {
        const struct seep_mapping *mapping = &profile->mappings[i];
        const uint64_t row[] = {mapping->start, mapping->bytes, mapping->site, mapping->kind};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(mapping->age_ns));
        json_array_append_new(mappings, array);
    }
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++) {
        const struct seep_wrong_release *wrong = &profile->wrong_releases[i];
        const uint64_t row[] = {wrong->kind,    wrong->site, wrong->release_site, wrong->count,
                                wrong->address, wrong->size, wrong->first_site};
        json_array_append_new(wrong_releases, numbers(row, 7));
    }
    if (profile->account.known) {
        const struct seep_account *a = &profile->account;
        const uint64_t figures[] = {a->rss_bytes, a->pss_bytes, a->swap_bytes, a->untouched_bytes};
        json_t *account = numbers(figures, 4);
        json_array_insert_new(account, 0, json_boolean(a->by_page));
        for (size_t i = 0; i < SEEP_ACCOUNT_NR; i++)
            json_array_append_new(account, number(a->bytes[i]));
        set(json, "account", account);
    }
    set(json, "mapping_totals", map_counts_json(&profile->mapping_totals));
    set(json, "mapping_sites", mapping_sites);
    set(json, "mappings", mappings);
    set(json, "wrong_releases", wrong_releases);
    set_annotations(json, profile);
    return json;
}

json_t *session_json(const struct seep_session *session) {
    json_t *array = json_array();
    for (size_t i = 0; i < session->nr_profiles; i++)
        json_array_append_new(array, profile_json(session->profiles[i]));
    return array;
}
