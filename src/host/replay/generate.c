// SPDX-License-Identifier: BSD-2-Clause
// Writes a C program, see generate.h. What is written here, the end of src/tracee/replayer/replayer.c reads.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "replay/generate.h"
#include "replay/replayer_source.h"
#include "replay/replayer_stream.h"

enum { LINE_CHARS = 108, LINES_OF_PART = 600 };

// Bytes as base64, in string literals that no compiler refuses.
struct text {
    FILE *out;
    uint32_t bits;
    unsigned nr_bits;
    unsigned nr_chars; // of this line
    unsigned nr_lines; // of this part
};

static void put_char(struct text *text, unsigned value) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text->nr_chars == 0)
        fputs("    \"", text->out);
    fputc(digits[value & 63], text->out);
    if (++text->nr_chars < LINE_CHARS)
        return;
    text->nr_chars = 0;
    bool ends = ++text->nr_lines == LINES_OF_PART;
    fputs(ends ? "\",\n" : "\"\n", text->out);
    text->nr_lines = ends ? 0 : text->nr_lines;
}

static void put_byte(struct text *text, unsigned char byte) {
    text->bits = text->bits << 8 | byte;
    for (text->nr_bits += 8; text->nr_bits >= 6; text->nr_bits -= 6)
        put_char(text, text->bits >> (text->nr_bits - 6));
}

static void put_number(struct text *text, uint64_t value) {
    for (; value > 127; value >>= 7)
        put_byte(text, (unsigned char)(value | 128));
    put_byte(text, (unsigned char)value);
}

static void end_text(struct text *text) {
    if (text->nr_bits)
        put_char(text, text->bits << (6 - text->nr_bits));
    if (text->nr_chars)
        fputs("\"\n", text->out);
}

static void put_ops(FILE *out, const struct seep_replay_head *head) {
    const char *base = (const char *)head;
    const struct seep_replay_thread *threads = (const void *)(base + head->threads_off);
    const struct seep_replay_op *ops = (const void *)(base + head->ops_off);
    struct text text = {.out = out};
    for (uint32_t i = 0; i < head->nr_threads; i++) {
        uint32_t slot = 0;
        put_number(&text, threads[i].nr_ops);
        for (uint64_t k = 0; k < threads[i].nr_ops; k++) {
            const struct seep_replay_op *op = &ops[threads[i].first_op + k];
            int64_t step = (int64_t)op->slot - slot;
            put_byte(&text, (unsigned char)(op->kind | op->flags << 5));
            put_number(&text, (uint64_t)step << 1 ^ (step < 0 ? UINT64_MAX : 0));
            if (op->kind != SEEP_REPLAY_FREE)
                put_number(&text, op->value);
            if (op->kind == SEEP_REPLAY_ALIGNED)
                put_byte(&text, op->align_shift);
            slot = op->slot;
        }
    }
    end_text(&text);
}

// The source includes the other text, which stands before it here.
static void put_source(FILE *out) {
    static const char include[] = "#include \"plan/stream.h\"\n";
    const char *at = strstr(seep_replayer_source, include);
    const char *end = at ? at + strlen(include) : seep_replayer_source;
    fwrite(seep_replayer_source, 1, (size_t)((at ? at : end) - seep_replayer_source), out);
    fputs(end, out);
}

static void put_all(FILE *out, const struct seep_plan *plan, const struct seep_replay_head *head,
                    enum seep_replay_touch touch) {
    fprintf(out,
            "// A workload for an allocator: %" PRIu64 " calls on %" PRIu32 " thread%s, at most %" PRIu64
            " bytes live in %" PRIu64 " blocks.\n"
            "//\n"
            "//     gcc -O2 -fno-builtin -pthread THIS.c -o workload && ./workload\n"
            "//\n"
            "// It makes the calls that a program was recorded to make, and prints how long that took and "
            "how much\n"
            "// anonymous memory it had at most. Made by seep replay --generate.\n",
            plan->nr_calls, head->nr_threads, head->nr_threads == 1 ? "" : "s", plan->peak_bytes,
            plan->peak_blocks);
    fputs("#define _GNU_SOURCE\n#define SEEP_GENERATED\n", out);
    fputs(seep_replayer_stream, out);
    fprintf(out,
            "\nenum { GENERATED_THREADS = %" PRIu32
            ", GENERATED_TOUCH = %d };\n#define GENERATED_OPS %" PRIu64
            "ull\n#define GENERATED_SLOTS %" PRIu64 "ull\n#define GENERATED_GATES %" PRIu64
            "ull\n#define GENERATED_CALLS %" PRIu64 "ull\nstatic const char *const generated[] = {\n",
            head->nr_threads, (int)touch, head->nr_ops, head->nr_slots, head->nr_gates, plan->nr_calls);
    put_ops(out, head);
    fputs("};\n\n", out);
    put_source(out);
}

struct seep_error *seep_generate(FILE *out, const struct seep_plan *plan, enum seep_replay_touch touch) {
    struct stat status;
    if (fstat(plan->fd, &status) != 0)
        return seep_error_system(errno, "cannot read the plan");
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, plan->fd, 0);
    if (bytes == MAP_FAILED)
        return seep_error_system(errno, "cannot map the plan");
    const struct seep_replay_head *head = bytes;
    struct seep_error *error = NULL;
    if (head->nr_ops > SEEP_GENERATE_OPS_MAX)
        error = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                  "%" PRIu64 " operations are more than a compiler takes",
                                                  head->nr_ops),
                                "record a part of the run, or with --keep-last");
    else
        put_all(out, plan, head, touch);
    munmap(bytes, (size_t)status.st_size);
    return error;
}
