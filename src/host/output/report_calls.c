// SPDX-License-Identifier: BSD-2-Clause
// Prints calls one by one, see report_calls.h.
#include <inttypes.h>

#include "base/file_name.h"
#include "image/bpf_events.h"
#include "profile/profile.h"
#include "output/format.h"
#include "output/report_calls.h"

static void put_caller(FILE *out, const struct seep_symbol_frame *frame, uint64_t offset, const char *path) {
    fputs(" from ", out);
    if (frame->function) {
        seep_put_escaped(out, frame->function);
        fprintf(out, "+0x%" PRIx64, frame->function_offset);
    } else {
        fprintf(out, "0x%" PRIx64, offset);
    }
    seep_put_module(out, seep_file_name(path));
    if (frame->file) {
        fputc(' ', out);
        seep_put_source(out, seep_file_name(frame->file), frame->line);
    }
}

// Who called: the innermost frame of a stack that was sent before the call.
static struct seep_error *find_caller(FILE *out, struct seep_symbols *symbols, const struct seep_heap *heap,
                                      uint32_t node) {
    const struct seep_node *frame = &heap->nodes[node];
    if (!node || frame->kind == SEEP_NODE_CUT)
        return NULL;
    const struct seep_module *module = &heap->modules[frame->module].module;
    const struct seep_symbol *symbol;
    unsigned id;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    if (!err)
        err = seep_symbols_resolve(symbols, id, frame->offset, frame->exact, &symbol);
    if (!err)
        put_caller(out, &symbol->frames[0], frame->offset, module->path);
    return err;
}

static void put_what(FILE *out, const char *function, const struct seep_heap_event *call) {
    switch (call->kind) {
    case SEEP_HEAP_ALLOC:
        fprintf(out, "%s %" PRIu64 " bytes", function, call->size);
        if (call->weight)
            fprintf(out, " for %" PRIu64, call->weight);
        fprintf(out, " = 0x%" PRIx64, call->address);
        break;
    case SEEP_HEAP_FREE:
        fprintf(out, "%s 0x%" PRIx64, function, call->address);
        break;
    case SEEP_HEAP_RESIZE:
        fprintf(out, "%s of 0x%" PRIx64, function, call->address);
        break;
    case SEEP_HEAP_RESIZED:
        if (call->address)
            fprintf(out, "%s %" PRIu64 " bytes = 0x%" PRIx64, function, call->size, call->address);
        else
            fprintf(out, "%s %s", function,
                    call->size                           ? "failed"
                    : call->detail == SEEP_BPF_NOT_TAKEN ? "gave a block that is not in the sample"
                                                         : "0 bytes: freed");
        break;
    default:
        fprintf(out, "%s failed", function);
        break;
    }
}

struct seep_error *seep_put_call(FILE *out, struct seep_symbols *symbols,
                                 const struct seep_traced_process *process,
                                 const struct seep_heap_event *call) {
    uint32_t node, via = call->via;
    seep_heap_find_stack(&process->heap, call->stack, &node, &via);
    fprintf(out, "%" PRId64 ".%06" PRId64 " %d/%" PRIu32 " ", call->call_ns / 1000000000,
            call->call_ns % 1000000000 / 1000, (int)process->heap.pid, call->tid);
    put_what(out, call->kind == SEEP_HEAP_FREE ? seep_release_name(via) : seep_via_name(via), call);
    struct seep_error *err = find_caller(out, symbols, &process->heap, node);
    fputc('\n', out);
    return err;
}
