// SPDX-License-Identifier: BSD-2-Clause
//
// The container of a saved trace: a header, sections with type, version and checksums, and an end
// section with the length of the whole. It knows nothing of profiles; what the sections hold is in
// file/trace_save.c and trace_load.c. The document is docs/trace-format.md.
#ifndef SEEP_FILE_TRACE_H
#define SEEP_FILE_TRACE_H

#include <sys/types.h>

#include "base/error.h"
#include "base/records.h"

// CRC-32 as of zlib, gzip and PNG (reflected 0xEDB88320); `crc` is 0 at first, then the last result.
uint32_t seep_trace_crc32(uint32_t crc, const void *bytes, size_t nr_bytes);

// "NODES"; "section" for a type that is not known.
const char *seep_trace_type_name(uint32_t type);
bool seep_trace_type_is_known(uint32_t type);

// ---- Writing. A regular file is written under a temporary name beside it, mode 0600, and takes
// its name at commit: until then, and on any failure, what stood there before is untouched. "-" and
// anything that is not a regular file (pipe, device) is written in place.
struct seep_trace_writer;

// `path` "-" is standard output. A file gets its name by _commit or _show.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_create(const char *path,
                                                            struct seep_trace_writer **ret_writer);
// A file that a writer made, wherever it is by now.
struct seep_trace_file {
    dev_t device;
    ino_t inode; // 0: none
};
// Where the user has not named the file: no link is followed, and nothing is written in place, as others may
// have put it there. No file is replaced but `own`, which may be NULL: where there is another one when the
// trace gets its name, the trace is named "app.2.seep", and so on.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_create_entry(const char *path,
                                                                  const struct seep_trace_file *own,
                                                                  struct seep_trace_writer **ret_writer);
struct seep_trace_file seep_trace_writer_file(const struct seep_trace_writer *writer);
// To a descriptor, which is borrowed; `name` is for messages.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_create_fd(int fd, const char *name,
                                                               struct seep_trace_writer **ret_writer);
// Nothing over SEEP_TRACE_RAW_MAX.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_section(struct seep_trace_writer *writer, uint32_t type,
                                                             uint16_t version, const void *raw,
                                                             size_t raw_bytes);
// The same of many numbers in columns: quickly, each part (where it begins in `raw`) by statistics of its
// own.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_parts(struct seep_trace_writer *writer, uint32_t type,
                                                           uint16_t version, const void *raw,
                                                           size_t raw_bytes, const size_t *parts,
                                                           size_t nr_parts);
// Writes the end section and gives the file its name. `lasting`: it is made to last first (fsync), which the
// disk takes its time for. Nothing but destroy may follow, whether it failed or not.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_commit(struct seep_trace_writer *writer, bool lasting);
// The name that commit gave it; NULL: it is no regular file. The writer's.
const char *seep_trace_writer_path(const struct seep_trace_writer *writer);
void seep_trace_writer_destroy(struct seep_trace_writer *writer); // takes NULL; without commit: no file
// Gives the file its name already now, for a trace that is read while it is written, and is kept as far as it
// came.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_show(struct seep_trace_writer *writer);

// The same, never compressed: for what is looked for by its place.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_plain(struct seep_trace_writer *writer, uint32_t type,
                                                           uint16_t version, const void *raw,
                                                           size_t raw_bytes);

// A part of what a writer has written: whole sections, from seep_trace_span_begin() to _end().
struct seep_trace_span {
    uint64_t off;
    uint64_t bytes;
    uint64_t nr_sections;
};

// Where a profile that was put away waits: the writer is the store's.
struct seep_stored {
    const struct seep_trace_writer *spool;
    struct seep_trace_span span;
};

// The sections that are written between the two calls.
void seep_trace_span_begin(const struct seep_trace_writer *writer, struct seep_trace_span *ret_span);
void seep_trace_span_end(const struct seep_trace_writer *writer, struct seep_trace_span *span);

// A section that was written, and its place is free again: readers skip what is left of it. Only of a regular
// file.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_forget(struct seep_trace_writer *writer,
                                                            const struct seep_trace_span *span);
// Makes the file anew without what was forgotten; what is there under its name is replaced at once.
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_compact(struct seep_trace_writer *writer);

// A spool: sections that wait for a trace to be made of them. A nameless file in $TMPDIR or /tmp,
// without header and end. What was written can be taken back, read again, and copied into a trace.
SEEP_MUST_CHECK struct seep_error *seep_trace_spool_create(struct seep_trace_writer **ret_spool);
// The span that was begun is written to the file as a whole. Until then it may be in memory.
SEEP_MUST_CHECK struct seep_error *seep_trace_spool_end(struct seep_trace_writer *spool,
                                                        struct seep_trace_span *span);
// To where a span begins that was not ended: after a failure, so that the spool can go on being used.
void seep_trace_spool_back(struct seep_trace_writer *spool, const struct seep_trace_span *begun);
// *ret_bytes is malloc'ed, span->bytes long.
SEEP_MUST_CHECK struct seep_error *seep_trace_spool_read(const struct seep_trace_writer *spool,
                                                         const struct seep_trace_span *span,
                                                         unsigned char **ret_bytes);
SEEP_MUST_CHECK struct seep_error *seep_trace_writer_copy(struct seep_trace_writer *writer,
                                                          const struct seep_trace_writer *spool,
                                                          const struct seep_trace_span *span);

// ---- Reading, from memory.
struct seep_trace_reader {
    const unsigned char *bytes; // borrowed
    size_t size_bytes;
    size_t at;
    const char *name; // borrowed: for messages
    uint16_t minor;
    bool is_part;                 // the bytes are whole sections of a larger file: no end section follows
    uint64_t part_off;            // where they begin in it
    uint64_t nr_sections;         // seen so far
    bool ended;                   // the end section was seen and agrees with the file
    bool cut;                     // the file stops before its end section
    uint64_t cut_at;              // where the whole sections end
    struct ZSTD_DCtx_s *unpacker; // borrowed: for many sections; NULL: each makes its own
};

struct seep_trace_section {
    uint32_t type;
    uint16_t version;
    uint16_t flags;
    uint64_t stored_bytes;
    uint64_t raw_bytes;
    uint32_t crc;
    uint64_t off; // of its header, in the file
    const unsigned char *stored;
};

// The sections behind a file's header that were passed over.
struct seep_trace_passed {
    uint64_t bytes;
    uint64_t gap_bytes; // of them, what was taken back
    uint64_t nr_sections;
    uint64_t damaged_off; // of the first whose checksum is wrong; 0: none was found
    uint32_t damaged_type;
    uint64_t event_index_off; // of the first section EVENT_INDEX; 0: none
};

// Reads the file header. What is no trace at all gives SEEP_E_FORMAT with a hint.
SEEP_MUST_CHECK struct seep_error *seep_trace_reader_init(const void *bytes, size_t size_bytes,
                                                          const char *name, struct seep_trace_reader *ret);
// Of what seep_trace_slurp() has left out: before the first section.
void seep_trace_reader_pass(struct seep_trace_reader *reader, const struct seep_trace_passed *passed);

// For whole sections that were taken out of a trace at `part_off`, of a file whose header was read.
void seep_trace_reader_part(const void *bytes, size_t size_bytes, uint64_t part_off, const char *name,
                            uint16_t minor, struct seep_trace_reader *ret);

// *ret_more is false after the end section and where the file is cut: see `ended` and `cut`.
SEEP_MUST_CHECK struct seep_error *seep_trace_reader_next(struct seep_trace_reader *reader,
                                                          struct seep_trace_section *ret_section,
                                                          bool *ret_more);

// Checks and decompresses; *ret_raw is malloc'ed, section->raw_bytes long. Never allocates more than
// SEEP_TRACE_RATIO_MAX times the stored bytes, nor more than SEEP_TRACE_RAW_MAX.
SEEP_MUST_CHECK struct seep_error *seep_trace_section_unpack(const struct seep_trace_reader *reader,
                                                             const struct seep_trace_section *section,
                                                             unsigned char **ret_raw);

// SEEP_E_FORMAT: "<name>: section NODES at offset 123: <text>", and the hint for damaged files.
SEEP_MUST_CHECK SEEP_PRINTF(3, 4) struct seep_error *seep_trace_section_error(
    const struct seep_trace_reader *reader, const struct seep_trace_section *section, const char *format,
    ...);

// Reads all of a file, or of stdin for "-", as malloc'ed bytes. Stops early, having read the first
// page, where those bytes are neither of a trace nor of a raw dump. Of a file that is a raw dump the rows of
// events are left out. The sections of
// events that a recording begins with are left out, and only the memory for what follows them is needed; they
// are checked where the file is a pipe, and in the first 64 MiB of another.
SEEP_MUST_CHECK struct seep_error *seep_trace_slurp(const char *path, unsigned char **ret_bytes,
                                                    size_t *ret_size, struct seep_trace_passed *ret_passed);
// How much memory what is in that file may take.
uint64_t seep_trace_most_bytes(int fd);

#endif
