// SPDX-License-Identifier: BSD-2-Clause
//
// A heap snapshot of V8, as the memory panel of Chrome and its tools open them: each block a node, each
// pointer an edge, variables and threads above them; retained sizes are computed by who reads it. (Source:
// the fields that the file itself names in its "meta", and front_end/entrypoints/heap_snapshot_worker of
// github.com/ChromeDevTools/devtools-frontend.) The root is node 0; `to_node` is an index in `nodes`, so the
// number of a node times that of its fields; `strings` come last. What lost blocks point to, and others hold,
// is not theirs: such edges are weak.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "output/json_text.h"
#include "output/output.h"
#include "profile/pointers.h"
#include "view/stack_table.h"

enum { // by their places in the lists of meta
    NODE_OBJECT = 3,
    NODE_NATIVE = 8,
    NODE_SYNTHETIC = 9,
    EDGE_ELEMENT = 1,
    EDGE_WEAK = 6,
    NODE_FIELDS = 7,
};

static const char meta[] =
    "{\"snapshot\":{\"meta\":{"
    "\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\","
    "\"detachedness\"],"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\","
    "\"native\",\"synthetic\",\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object "
    "shape\"],"
    "\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],"
    "\"string_or_number\",\"node\"],"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\",\"line\","
    "\"column\"],"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]}";

struct strings {
    struct seep_map ids; // hash to the number + 1
    const char **texts;
    size_t nr;
    size_t capacity;
    struct seep_arena arena;
    bool failed;
};

struct snapshot {
    FILE *out;
    struct seep_view *view;
    const struct seep_profile *profile;
    uint32_t process;
    const struct seep_pointers *pointers;
    struct strings strings;
    uint32_t *names;  // by site: its string + 1
    uint32_t *traces; // by node of the view's stacks: node of the table + 1
    struct seep_stack_table table;
    uint32_t *nodes; // by row of the view
    uint32_t nr_lost;
    uint32_t lost_text;
};

static uint32_t string_of(struct strings *strings, const char *text) {
    uint64_t *slot = seep_map_at(&strings->ids, seep_hash_bytes(text, strlen(text)), NULL);
    if (slot && !*slot) {
        char *copy = seep_arena_strdup(&strings->arena, text);
        if (!copy ||
            !seep_grow(&strings->texts, &strings->capacity, strings->nr + 1, sizeof(*strings->texts)))
            slot = NULL;
        else
            strings->texts[strings->nr++] = copy;
        if (slot)
            *slot = strings->nr;
    }
    strings->failed |= !slot;
    return slot ? (uint32_t)(*slot - 1) : 0;
}

// Of the function that its blocks are attributed to: the panel puts those of one name together.
static struct seep_error *name_of(struct snapshot *s, uint32_t site, uint32_t *ret_string) {
    if (!s->names[site]) {
        struct seep_stacks *stacks = s->view->stacks;
        uint32_t node = s->view->nodes[s->process - s->view->first_process][s->profile->sites[site].node];
        uint32_t frame;
        unsigned inlined;
        const struct seep_symbol *symbol = NULL;
        struct seep_error *error = seep_stacks_self(stacks, node, true, &frame, &inlined);
        if (!error && frame != SEEP_NO_FRAME)
            error = seep_stacks_resolve(stacks, frame, &symbol);
        if (error)
            return error;
        char text[512] = "(no stack)";
        if (frame != SEEP_NO_FRAME) {
            struct seep_view_frame shown = seep_view_frame_of(s->view, frame, symbol, inlined);
            if (!shown.function)
                snprintf(text, sizeof(text), "%s+0x%" PRIx64, shown.module, shown.offset);
            else if (!shown.file)
                snprintf(text, sizeof(text), "%s", shown.function);
            else
                snprintf(text, sizeof(text), "%.400s (%.80s:%u)", shown.function, seep_file_name(shown.file),
                         shown.line);
        }
        s->names[site] = string_of(&s->strings, text) + 1;
    }
    *ret_string = s->names[site] - 1;
    return NULL;
}

// ---- nodes ----

static void put_node(struct snapshot *s, unsigned type, uint32_t name, uint32_t number, uint64_t size,
                     uint64_t nr_edges, uint64_t trace) {
    // The panel has numbers of 32 bits there.
    fprintf(s->out, "%s%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",0", number ? ",\n" : "\n", type, name,
            2 * number + 1, SEEP_MIN(size, (uint64_t)UINT32_MAX), nr_edges, trace);
}

static bool is_lost(const struct snapshot *s, size_t block) {
    return s->profile->block_kinds[block] == SEEP_KIND_LOST;
}

static uint32_t first_block(const struct snapshot *s) {
    return 1 + s->pointers->nr_holders + (s->nr_lost != 0);
}

static struct seep_error *put_holder_nodes(struct snapshot *s) {
    const struct seep_pointers *pointers = s->pointers;
    struct seep_error *error = NULL;
    put_node(s, NODE_SYNTHETIC, string_of(&s->strings, ""), 0, 0,
             (uint64_t)pointers->nr_holders + (s->nr_lost != 0), 0);
    for (uint32_t i = 0; !error && i < pointers->nr_holders; i++) {
        const struct seep_chain chain = {.links = &pointers->holders[i].link, .nr_links = 1};
        const char *text = NULL;
        error = seep_view_chain(s->view, s->process, &chain, &text, NULL);
        if (!error)
            put_node(s, NODE_NATIVE, string_of(&s->strings, text ? text : ""), 1 + i, 0,
                     pointers->holders[i].nr, 0);
    }
    if (s->nr_lost)
        put_node(s, NODE_SYNTHETIC, string_of(&s->strings, "(lost: no pointer to these)"),
                 1 + pointers->nr_holders, 0, s->nr_lost, 0);
    return error;
}

static struct seep_error *put_block_nodes(struct snapshot *s) {
    const struct seep_profile *profile = s->profile;
    const struct seep_pointers *pointers = s->pointers;
    const uint32_t *nodes = s->view->nodes[s->process - s->view->first_process];
    size_t object = 0;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        uint32_t name = 0;
        const char *class = NULL;
        while (object < pointers->nr_objects && pointers->objects[object].block < i)
            object++;
        if (object < pointers->nr_objects && pointers->objects[object].block == i)
            error = seep_view_class(s->view, s->process, pointers->objects[object].module,
                                    pointers->objects[object].vtable, &class);
        if (!error && class)
            name = string_of(&s->strings, class);
        else if (!error)
            error = name_of(s, block->site, &name);
        uint32_t trace = s->traces[nodes[profile->sites[block->site].node]];
        put_node(s, NODE_OBJECT, name, first_block(s) + (uint32_t)i, block->size,
                 pointers->first[i + 1] - pointers->first[i], trace ? trace + 1 : 0);
    }
    return error;
}

// ---- edges ----

static void put_edge(struct snapshot *s, bool *is_first, unsigned type, uint64_t name, uint32_t node) {
    fprintf(s->out, "%s%u,%" PRIu64 ",%" PRIu64, *is_first ? "\n" : ",\n", type, name,
            (uint64_t)node * NODE_FIELDS);
    *is_first = false;
}

// In the order of the nodes that have them.
static void put_edges(struct snapshot *s) {
    const struct seep_pointers *pointers = s->pointers;
    const uint8_t *kinds = s->profile->block_kinds;
    uint32_t blocks = first_block(s), nr = 0;
    bool is_first = true;
    for (uint32_t node = 1; node < blocks; node++)
        put_edge(s, &is_first, EDGE_ELEMENT, node, node);
    const struct seep_pointer *held = pointers->held;
    for (uint32_t i = 0; i < pointers->nr_holders; i++)
        for (uint32_t k = 0; k < pointers->holders[i].nr; k++, held++)
            put_edge(s, &is_first, EDGE_ELEMENT, k, blocks + held->target);
    for (size_t i = 0; i < s->profile->nr_blocks; i++)
        if (is_lost(s, i))
            put_edge(s, &is_first, EDGE_ELEMENT, nr++, blocks + (uint32_t)i);
    for (size_t i = 0; i < s->profile->nr_blocks; i++) {
        bool from_lost = kinds[i] == SEEP_KIND_LOST || kinds[i] == SEEP_KIND_INDIRECT;
        for (uint64_t e = pointers->first[i]; e < pointers->first[i + 1]; e++) {
            const struct seep_pointer *pointer = &pointers->items[e];
            uint8_t kind = kinds[pointer->target];
            bool is_weak = from_lost && kind != SEEP_KIND_LOST && kind != SEEP_KIND_INDIRECT;
            put_edge(s, &is_first, is_weak ? EDGE_WEAK : EDGE_ELEMENT, is_weak ? s->lost_text : pointer->off,
                     blocks + pointer->target);
        }
    }
}

// ---- where blocks were allocated ----

static void put_functions(struct snapshot *s) {
    fprintf(s->out, "],\n\"trace_function_infos\":[0,%u,%u,0,0,0", string_of(&s->strings, "(root)"),
            string_of(&s->strings, ""));
    for (size_t i = 0; i < s->table.nr_frames; i++) {
        const struct seep_table_frame *frame = &s->table.frames[i];
        const char *file = frame->frame.file ? frame->frame.file : frame->frame.module;
        fprintf(s->out, ",\n%zu,%u,%u,%u,%u,0", i + 1, string_of(&s->strings, frame->label),
                string_of(&s->strings, file), string_of(&s->strings, file), frame->frame.line);
    }
}

struct trace {
    uint32_t first; // of its children; SEEP_NO_STACK: none
    uint32_t next;  // of its caller's children
    uint64_t blocks;
    uint64_t bytes;
};

// A node and what is below it, without recursion: stacks are as deep as programs make them.
static void put_trace_nodes(struct snapshot *s, const struct trace *traces) {
    uint32_t root = (uint32_t)s->table.nr_nodes;
    fputs("],\n\"trace_tree\":[1,0,0,0,[", s->out);
    bool is_first = true;
    uint32_t at = traces[root].first;
    while (at != SEEP_NO_STACK) {
        fprintf(s->out, "%s%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",[", is_first ? "" : ",", at + 2,
                s->table.nodes[at].frame + UINT64_C(1), traces[at].blocks, traces[at].bytes);
        is_first = true;
        if (traces[at].first != SEEP_NO_STACK) {
            at = traces[at].first;
            continue;
        }
        is_first = false;
        fputc(']', s->out);
        while (at != SEEP_NO_STACK && traces[at].next == SEEP_NO_STACK) {
            at = s->table.nodes[at].caller;
            fputs(at != SEEP_NO_STACK ? "]" : "", s->out);
        }
        at = at != SEEP_NO_STACK ? traces[at].next : at;
    }
    fputs("]", s->out);
}

static struct seep_error *put_traces(struct snapshot *s) {
    size_t nr = s->table.nr_nodes;
    struct trace *traces = calloc(nr + 1, sizeof(*traces));
    if (!traces)
        return seep_error_no_memory();
    for (size_t i = 0; i <= nr; i++)
        traces[i].first = traces[i].next = SEEP_NO_STACK;
    for (size_t i = nr; i-- > 0;) { // so that the children of a node are in order
        uint32_t caller = s->table.nodes[i].caller;
        struct trace *above = &traces[caller == SEEP_NO_STACK ? nr : caller];
        traces[i].next = above->first;
        above->first = (uint32_t)i;
    }
    for (size_t i = 0; i < s->view->nr_rows; i++) {
        if (s->nodes[i] == SEEP_NO_STACK)
            continue;
        traces[s->nodes[i]].blocks += (uint64_t)SEEP_MAX(s->view->rows[i].live_blocks, (int64_t)0);
        traces[s->nodes[i]].bytes += (uint64_t)SEEP_MAX(s->view->rows[i].live_bytes, (int64_t)0);
    }
    put_functions(s);
    put_trace_nodes(s, traces);
    free(traces);
    return NULL;
}

// ---- all of it ----

static struct seep_error *put_all(struct snapshot *s) {
    const struct seep_pointers *pointers = s->pointers;
    uint64_t nr_edges = (uint64_t)first_block(s) - 1 + s->nr_lost + pointers->first[s->profile->nr_blocks];
    for (uint32_t i = 0; i < pointers->nr_holders; i++)
        nr_edges += pointers->holders[i].nr;
    fputs(meta, s->out);
    fprintf(s->out,
            ",\"node_count\":%" PRIu64 ",\"edge_count\":%" PRIu64
            ",\"trace_function_count\":%zu},\n\"nodes\":[",
            (uint64_t)first_block(s) + s->profile->nr_blocks, nr_edges, s->table.nr_frames + 1);
    struct seep_error *error = put_holder_nodes(s);
    if (!error)
        error = put_block_nodes(s);
    if (error)
        return error;
    fputs("],\n\"edges\":[", s->out);
    put_edges(s);
    error = put_traces(s);
    if (error)
        return error;
    fputs("],\n\"samples\":[],\"locations\":[],\n\"strings\":[", s->out);
    for (size_t i = 0; i < s->strings.nr; i++) {
        fputs(i ? ",\n" : "\n", s->out);
        seep_put_json_text(s->out, s->strings.texts[i]);
    }
    fputs("]}\n", s->out);
    return s->strings.failed ? seep_error_no_memory() : NULL;
}

static struct seep_error *prepare(struct snapshot *s) {
    s->names = calloc((size_t)s->profile->nr_sites + 1, sizeof(*s->names));
    s->traces = calloc(s->view->stacks->nr_nodes + 1, sizeof(*s->traces));
    if (!s->names || !s->traces)
        return seep_error_no_memory();
    struct seep_error *error = seep_stack_table_of(&s->table, s->view, &s->nodes);
    for (size_t i = 0; !error && i < s->view->nr_rows; i++)
        if (s->nodes[i] != SEEP_NO_STACK)
            s->traces[s->view->rows[i].node] = s->nodes[i] + 1;
    for (size_t i = 0; i < s->profile->nr_blocks; i++)
        s->nr_lost += is_lost(s, i);
    string_of(&s->strings, "");
    s->lost_text = string_of(&s->strings, "of a lost block");
    return error;
}

static struct seep_error *write_heapsnapshot(FILE *out, struct seep_view *view,
                                             const struct seep_summary *summary) {
    struct snapshot s = {
        .out = out, .view = view, .table = SEEP_STACK_TABLE_INIT, .strings = {.ids = SEEP_MAP_INIT}};
    for (size_t p = 0; p < view->nr_processes && !s.pointers; p++) {
        s.process = (uint32_t)(view->first_process + p);
        s.profile = view->session->profiles[s.process];
        s.pointers = s.profile->pointers;
    }
    if (!s.pointers)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "heapsnapshot: a trace does not keep who points to whom"),
            "of a traced process that runs: seep export PID --format heapsnapshot; or of its core file");
    if (view->filtered)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE,
                              "heapsnapshot: has all blocks, for without one others would be lost"),
            "leave the filters out");
    struct seep_error *error = prepare(&s);
    if (!error)
        error = put_all(&s);
    seep_stack_table_deinit(&s.table);
    seep_map_deinit(&s.strings.ids);
    seep_arena_deinit(&s.strings.arena);
    free(s.strings.texts);
    free(s.names);
    free(s.traces);
    free(s.nodes);
    return error;
}

const struct seep_output seep_output_heapsnapshot = {
    .name = "heapsnapshot",
    .suffix = ".heapsnapshot",
    .what = "blocks and who holds them, for the memory panel of Chrome",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_POINTERS,
    .write = write_heapsnapshot,
};
