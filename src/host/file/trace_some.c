// SPDX-License-Identifier: BSD-2-Clause
//
// Some processes of a trace of many: its index says where they are, and nothing else is read. See
// session_file.h. Where there is no index that fits the file, all of it is loaded: that also says what
// is wrong with it.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_at.h"
#include "file/session_file.h"
#include "file/trace_index.h"

#define END_BYTES (SEEP_TRACE_SECTION_BYTES + SEEP_TRACE_END_BYTES)

struct file {
    int fd;
    const char *path;
    uint64_t bytes;
    uint16_t minor;
};

// [off, off + nr_bytes) of the file, malloc'ed; NULL: not to be had.
static unsigned char *read_part(const struct file *file, uint64_t off, uint64_t nr_bytes) {
    if (off > file->bytes || nr_bytes > file->bytes - off)
        return NULL;
    unsigned char *bytes = malloc(nr_bytes ? (size_t)nr_bytes : 1);
    if (bytes && !seep_read_at(file->fd, off, bytes, (size_t)nr_bytes)) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

// Where the INDEX section begins, by what stands before the END section; 0: there is none.
static uint64_t find_index(const struct file *file) {
    unsigned char tail[SEEP_TRACE_INDEX_TAIL_BYTES + END_BYTES];
    if (file->bytes < SEEP_TRACE_HEADER_BYTES + sizeof(tail) ||
        !seep_read_at(file->fd, file->bytes - sizeof(tail), tail, sizeof(tail)))
        return 0;
    const unsigned char *end = tail + SEEP_TRACE_INDEX_TAIL_BYTES;
    uint64_t end_off = file->bytes - END_BYTES;
    uint64_t length = seep_fetch64(tail);
    bool whole = seep_fetch32(end) == SEEP_TRACE_END && seep_fetch64(end + 8) == SEEP_TRACE_END_BYTES &&
                 seep_fetch32(end + 24) == seep_trace_crc32(0, end, 24) &&
                 seep_fetch64(end + SEEP_TRACE_SECTION_BYTES + 8) == file->bytes;
    return whole && length <= end_off - SEEP_TRACE_HEADER_BYTES ? end_off - length : 0;
}

static bool read_header(struct file *file) {
    unsigned char header[SEEP_TRACE_HEADER_BYTES];
    struct seep_trace_reader reader;
    struct seep_error *error = seep_read_at(file->fd, 0, header, sizeof(header))
                                   ? seep_trace_reader_init(header, sizeof(header), file->path, &reader)
                                   : seep_error_create(SEEP_E_FORMAT, "%s: too short", file->path);
    bool good = !error;
    if (good)
        file->minor = reader.minor;
    seep_error_destroy(error);
    return good;
}

// false: no index, or none that is sound.
static bool read_index(const struct file *file, struct seep_index *ret_index) {
    uint64_t off = find_index(file);
    uint64_t length = file->bytes - END_BYTES - off;
    unsigned char *bytes = off && length <= SEEP_TRACE_RAW_MAX ? read_part(file, off, length) : NULL;
    if (!bytes)
        return false;
    struct seep_trace_reader reader;
    struct seep_trace_section section;
    unsigned char *raw = NULL;
    bool more = false;
    bool no_memory;
    seep_trace_reader_part(bytes, (size_t)length, off, file->path, file->minor, &reader);
    struct seep_error *error = seep_trace_reader_next(&reader, &section, &more);
    if (!error && more && section.type == SEEP_TRACE_INDEX)
        error = seep_trace_section_unpack(&reader, &section, &raw);
    struct seep_take take = {raw, raw ? raw + section.raw_bytes : raw, false};
    bool good = raw && !seep_index_take(&take, off, ret_index, &no_memory) && take.at == take.end;
    seep_error_destroy(error);
    free(raw);
    free(bytes);
    return good;
}

static struct seep_error *load_entry(const struct file *file, const struct seep_index_entry *entry,
                                     struct seep_session *session) {
    struct seep_profile *profile;
    struct seep_trace_reader reader;
    unsigned char *bytes = read_part(file, entry->off, entry->bytes);
    if (!bytes)
        return seep_error_create(SEEP_E_IO, "%s: cannot read at offset %llu", file->path,
                                 (unsigned long long)entry->off);
    seep_trace_reader_part(bytes, (size_t)entry->bytes, entry->off, file->path, file->minor, &reader);
    struct seep_error *error = seep_profile_load(&reader, &profile);
    free(bytes);
    return error ? error : seep_session_add(session, profile);
}

static struct seep_error *load_entries(const struct file *file, const struct seep_index *index, uint64_t pid,
                                       const regex_t *program, struct seep_session **ret_session) {
    struct seep_session *session;
    struct seep_error *error = seep_session_create(&session);
    if (error)
        return error;
    for (size_t i = 0; !error && i < index->nr; i++) {
        const struct seep_index_entry *entry = &index->entries[i];
        if (seep_process_is_selected(entry->pid, entry->exe, entry->first_arg, pid, program))
            error = load_entry(file, entry, session);
    }
    if (!error && !session->nr_profiles)
        error = seep_session_none_selected(index->nr);
    if (error)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return error;
}

struct seep_error *seep_session_load_some(const char *path, uint64_t pid, const regex_t *program,
                                          struct seep_session **ret_session) {
    bool is_stdin = strcmp(path, "-") == 0;
    struct file file = {.fd = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .path = path};
    struct stat status;
    struct seep_index index = {.nr = 0};
    bool indexed = false;
    if (file.fd >= 0 && fstat(file.fd, &status) == 0 && S_ISREG(status.st_mode)) {
        file.bytes = (uint64_t)status.st_size;
        indexed = read_header(&file) && read_index(&file, &index);
    }
    struct seep_error *error = indexed ? load_entries(&file, &index, pid, program, ret_session) : NULL;
    seep_index_deinit(&index);
    if (file.fd >= 0)
        close(file.fd);
    return indexed ? error : seep_session_load(path, ret_session);
}
