// SPDX-License-Identifier: BSD-2-Clause
//
// Writes a trace: header, sections, end section, see trace.h. Goes forward only, so that a pipe will
// do. A regular file appears under its name only when it is complete, and on the disk where it is to last.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "base/new_file.h"
#include "base/pack.h"
#include "base/read_at.h"
#include "file/trace.h"

// The latest small section of its type. Forked processes have many sections in common with their siblings,
// and to pack the same bytes again takes as long.
struct kept_section {
    uint32_t type; // 0: none
    size_t raw_bytes;
    size_t packed_bytes;
    unsigned char *bytes; // raw, then packed
    size_t capacity;
};
#define KEPT_SECTIONS 32u
#define KEPT_BYTES    ((size_t)256 << 10) // a larger one is not kept

// A zstd frame that readers skip: u32 magic, u32 length of what follows. Source: RFC 8878, 3.1.2.
#define SKIPPABLE_MAGIC        UINT32_C(0x184d2a50)
#define SKIPPABLE_HEADER_BYTES 8u
enum { NOREPLACE = 1, EXCHANGE = 2 }; // RENAME_* of linux/fs.h, which not every libc has

// So many of the latest gaps are sections of their own, because a reader may stand at one of them and go on
// to the next. Older gaps are joined: each would take a block of the file for its header.
#define GAPS_APART 32u
struct gap {
    uint64_t off;
    uint64_t bytes;
};

struct seep_trace_writer {
    int fd;
    bool owns_fd;
    char *name;                    // for messages
    char *path;                    // the name it takes at commit; NULL: written in place
    struct seep_new_file new_file; // what gets that name
    bool keeps_others;             // no file is replaced but `own`
    struct seep_trace_file own;    // inode 0: none
    struct seep_trace_file file;   // the one that it writes; inode 0: it is not its own
    struct seep_packer *packer;
    unsigned char *packed; // scratch
    size_t packed_capacity;
    struct kept_section kept[KEPT_SECTIONS];
    uint64_t written_bytes;
    uint64_t nr_sections;
    uint64_t nr_forgotten;
    struct gap latest_gaps[2 * GAPS_APART];
    size_t nr_latest_gaps;
    struct gap joined;   // of those before them, the last one
    unsigned char *held; // of a spool, HELD_BYTES: what is not in the file yet; NULL: all is written at once
    size_t nr_held;
};

// The sections of a small process together.
#define HELD_BYTES ((size_t)64 << 10)

static struct seep_error *write_error(const struct seep_trace_writer *writer, int sys_errno) {
    struct seep_error *error = seep_error_system(sys_errno, "%s: cannot write the trace", writer->name);
    switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return seep_error_hint(error, "make room there, or write to another place");
    case EPIPE:
        return seep_error_hint(error, "the program that reads the pipe has ended: see why");
    default:
        return seep_error_hint(error, "write to another place");
    }
}

static struct seep_error *write_now(const struct seep_trace_writer *writer, const void *bytes,
                                    size_t nr_bytes) {
    const unsigned char *at = bytes;
    while (nr_bytes) {
        ssize_t done = write(writer->fd, at, SEEP_MIN(nr_bytes, (size_t)1 << 30));
        if (done < 0) {
            if (errno == EINTR)
                continue;
            return write_error(writer, errno);
        }
        at += done;
        nr_bytes -= (size_t)done;
    }
    return NULL;
}

static struct seep_error *write_held(struct seep_trace_writer *writer) {
    size_t nr_held = writer->nr_held;
    writer->nr_held = 0;
    return write_now(writer, writer->held, nr_held);
}

static struct seep_error *write_all(struct seep_trace_writer *writer, const void *bytes, size_t nr_bytes) {
    struct seep_error *error = NULL;
    if (writer->held && nr_bytes > HELD_BYTES - writer->nr_held)
        error = write_held(writer);
    if (error)
        return error;
    if (writer->held && nr_bytes <= HELD_BYTES) {
        memcpy(writer->held + writer->nr_held, bytes, nr_bytes);
        writer->nr_held += nr_bytes;
    } else {
        error = write_now(writer, bytes, nr_bytes);
    }
    writer->written_bytes += error ? 0 : nr_bytes;
    return error;
}

static struct seep_error *write_header(struct seep_trace_writer *writer) {
    unsigned char header[SEEP_TRACE_HEADER_BYTES] = {0};
    memcpy(header, SEEP_TRACE_MAGIC, SEEP_TRACE_MAGIC_BYTES);
    seep_store16(header + 8, SEEP_TRACE_MAJOR);
    seep_store16(header + 10, SEEP_TRACE_MINOR);
    seep_store32(header + 12, SEEP_TRACE_HEADER_BYTES);
    seep_store32(header + 28, seep_trace_crc32(0, header, 28));
    return write_all(writer, header, sizeof(header));
}

static struct seep_error *open_temporary(struct seep_trace_writer *writer) {
    // 0600: a trace tells much of its process.
    writer->fd = seep_new_file_create(writer->path, 0600, &writer->new_file);
    if (writer->fd < 0)
        return seep_error_hint(
            seep_error_system(errno, "%s: cannot make the trace in its directory", writer->name),
            "write to another place");
    struct stat status;
    if (fstat(writer->fd, &status) == 0)
        writer->file = (struct seep_trace_file){status.st_dev, status.st_ino};
    writer->owns_fd = true;
    return NULL;
}

// Decides between a file that is replaced at commit and something that is written in place.
static struct seep_error *open_named(struct seep_trace_writer *writer, const char *path) {
    if (strcmp(path, "-") == 0) {
        if (isatty(STDOUT_FILENO))
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "a trace cannot be written to a terminal"),
                                   "-o FILE.seep");
        writer->fd = STDOUT_FILENO;
        return NULL;
    }
    struct stat here;
    struct stat there;
    bool is_link = lstat(path, &here) == 0 && S_ISLNK(here.st_mode);
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return seep_error_hint(seep_error_create(SEEP_E_IO, "%s: is a directory", path),
                               "name a file in it with -o");
    if (exists && !S_ISREG(there.st_mode)) {
        writer->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (writer->fd < 0)
            return seep_error_system(errno, "%s: cannot open it for writing", path);
        writer->owns_fd = true;
        return NULL;
    }
    // A link stays what it is and its file is replaced: otherwise -o /dev/stdout as root would
    // replace that link for the whole machine.
    writer->path = is_link ? realpath(path, NULL) : strdup(path);
    if (!writer->path && is_link)
        return seep_error_hint(seep_error_system(errno, "%s: a symbolic link that leads nowhere", path),
                               "remove the link, or write to another place");
    if (!writer->path)
        return seep_error_no_memory();
    return open_temporary(writer);
}

// Whatever has that name: it is not looked at.
static struct seep_error *open_entry(struct seep_trace_writer *writer, const char *path) {
    writer->path = strdup(path);
    return writer->path ? open_temporary(writer) : seep_error_no_memory();
}

typedef struct seep_error *open_function(struct seep_trace_writer *writer, const char *path);

// open: NULL where it is the descriptor.
static struct seep_error *create(open_function *open_path, const char *path, int fd, const char *name,
                                 struct seep_trace_writer **ret_writer) {
    struct seep_trace_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return seep_error_no_memory();
    writer->fd = fd;
    writer->name = strdup(name);
    writer->packer = seep_packer_create();
    struct seep_error *error = writer->name && writer->packer ? NULL : seep_error_no_memory();
    if (!error && open_path)
        error = open_path(writer, path);
    if (!error)
        error = write_header(writer);
    if (error) {
        seep_trace_writer_destroy(writer);
        return error;
    }
    *ret_writer = writer;
    return NULL;
}

struct seep_error *seep_trace_writer_create(const char *path, struct seep_trace_writer **ret_writer) {
    return create(open_named, path, -1, strcmp(path, "-") == 0 ? "standard output" : path, ret_writer);
}

struct seep_error *seep_trace_writer_create_entry(const char *path, const struct seep_trace_file *own,
                                                  struct seep_trace_writer **ret_writer) {
    struct seep_error *error = create(open_entry, path, -1, path, ret_writer);
    if (error)
        return error;
    (*ret_writer)->keeps_others = true;
    if (own)
        (*ret_writer)->own = *own;
    return NULL;
}

struct seep_trace_file seep_trace_writer_file(const struct seep_trace_writer *writer) {
    return writer->file;
}

struct seep_error *seep_trace_writer_create_fd(int fd, const char *name,
                                               struct seep_trace_writer **ret_writer) {
    return create(NULL, NULL, fd, name, ret_writer);
}

void seep_trace_writer_destroy(struct seep_trace_writer *writer) {
    if (!writer)
        return;
    if (writer->owns_fd && writer->fd >= 0)
        close(writer->fd);
    seep_new_file_forget(&writer->new_file, false);
    seep_packer_destroy(writer->packer);
    for (size_t i = 0; i < KEPT_SECTIONS; i++)
        free(writer->kept[i].bytes);
    free(writer->packed);
    free(writer->held);
    free(writer->path);
    free(writer->name);
    free(writer);
}

// Readers refuse more than SEEP_TRACE_RATIO_MAX raw bytes for a stored one, as that is how they
// bound their memory; what compresses better is filled up with a frame that zstd skips.
static size_t pad(unsigned char *packed, size_t packed_bytes, size_t raw_bytes) {
    size_t least = (raw_bytes + SEEP_TRACE_RATIO_MAX - 1) / SEEP_TRACE_RATIO_MAX;
    if (packed_bytes >= least)
        return packed_bytes;
    size_t fill = least - packed_bytes;
    fill = fill > SKIPPABLE_HEADER_BYTES ? fill - SKIPPABLE_HEADER_BYTES : 0;
    seep_store32(packed + packed_bytes, SKIPPABLE_MAGIC);
    seep_store32(packed + packed_bytes + 4, (uint32_t)fill);
    memset(packed + packed_bytes + SKIPPABLE_HEADER_BYTES, 0, fill);
    return packed_bytes + SKIPPABLE_HEADER_BYTES + fill;
}

// Room for a section that is packed. false: out of memory.
static bool make_room(struct seep_trace_writer *writer, size_t raw_bytes, size_t nr_parts) {
    enum { BLOCK_HEADER_BYTES = 3 };
    size_t need = seep_pack_bound(raw_bytes) + nr_parts * BLOCK_HEADER_BYTES +
                  raw_bytes / SEEP_TRACE_RATIO_MAX + 2 * SKIPPABLE_HEADER_BYTES;
    if (writer->packed_capacity >= need)
        return true;
    free(writer->packed);
    writer->packed = malloc(need);
    writer->packed_capacity = writer->packed ? need : 0;
    return writer->packed;
}

static struct seep_error *not_packed(const struct seep_trace_writer *writer) {
    return seep_error_create(SEEP_E_IO, "%s: cannot compress", writer->name);
}

// On block tables higher levels cost three times the time for some 5 per cent. On little they gain one per
// cent.
#define LITTLE_BYTES ((size_t)16 << 10)

static struct seep_error *compress(struct seep_trace_writer *writer, const void *raw, size_t raw_bytes,
                                   size_t *ret_bytes) {
    if (!make_room(writer, raw_bytes, 0))
        return seep_error_no_memory();
    size_t bytes = seep_pack(writer->packer, writer->packed, writer->packed_capacity, raw, raw_bytes,
                             raw_bytes <= LITTLE_BYTES ? SEEP_PACK_FAST : SEEP_PACK_WELL);
    if (!bytes)
        return not_packed(writer);
    *ret_bytes = pad(writer->packed, bytes, raw_bytes);
    return NULL;
}

static struct seep_error *compress_parts(struct seep_trace_writer *writer, const unsigned char *raw,
                                         size_t raw_bytes, const size_t *parts, size_t nr_parts,
                                         size_t *ret_bytes) {
    if (!make_room(writer, raw_bytes, nr_parts + 1))
        return seep_error_no_memory();
    size_t bytes = seep_pack_parts(writer->packer, writer->packed, writer->packed_capacity, raw, raw_bytes,
                                   parts, nr_parts);
    if (!bytes)
        return not_packed(writer);
    *ret_bytes = pad(writer->packed, bytes, raw_bytes);
    return NULL;
}

static struct seep_error *write_section(struct seep_trace_writer *writer, uint32_t type, uint16_t version,
                                        uint16_t flags, const void *stored, size_t stored_bytes,
                                        size_t raw_bytes) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    seep_store32(header, type);
    seep_store16(header + 4, version);
    seep_store16(header + 6, flags);
    seep_store64(header + 8, stored_bytes);
    seep_store64(header + 16, raw_bytes);
    seep_store32(header + 24, seep_trace_crc32(0, header, 24));
    seep_store32(header + 28, seep_trace_crc32(0, stored, stored_bytes));
    struct seep_error *error = write_all(writer, header, sizeof(header));
    if (!error)
        error = write_all(writer, stored, stored_bytes);
    if (!error)
        writer->nr_sections++;
    return error;
}

static struct seep_error *too_large(const struct seep_trace_writer *writer, uint32_t type, size_t raw_bytes) {
    return raw_bytes > SEEP_TRACE_RAW_MAX
               ? seep_error_create(SEEP_E_UNSUPPORTED, "%s: section %s of %zu bytes is too large to be saved",
                                   writer->name, seep_trace_type_name(type), raw_bytes)
               : NULL;
}

// Packed where that is shorter.
static struct seep_error *write_shorter(struct seep_trace_writer *writer, uint32_t type, uint16_t version,
                                        const void *raw, size_t raw_bytes, const void *packed,
                                        size_t packed_bytes) {
    if (packed_bytes < raw_bytes)
        return write_section(writer, type, version, SEEP_TRACE_FLAG_ZSTD, packed, packed_bytes, raw_bytes);
    return write_section(writer, type, version, 0, raw, raw_bytes, raw_bytes);
}

#ifdef SEEP_AGENT // the agent is small, and writes no process after the other
#define find_kept(writer, type, raw, raw_bytes)          ((const struct kept_section *)NULL)
#define keep(writer, type, raw, raw_bytes, packed_bytes) ((void)0)
#else
// NULL: the type has no place, because the section is large or there are too many types.
static struct kept_section *place_of(struct seep_trace_writer *writer, uint32_t type, size_t raw_bytes) {
    size_t i = 0;
    while (i < KEPT_SECTIONS && writer->kept[i].type && writer->kept[i].type != type)
        i++;
    return i < KEPT_SECTIONS && raw_bytes <= KEPT_BYTES ? &writer->kept[i] : NULL;
}

// NULL: the one that is kept has other bytes.
static const struct kept_section *find_kept(struct seep_trace_writer *writer, uint32_t type, const void *raw,
                                            size_t raw_bytes) {
    const struct kept_section *kept = place_of(writer, type, raw_bytes);
    return kept && kept->type && kept->raw_bytes == raw_bytes &&
                   (!raw_bytes || memcmp(kept->bytes, raw, raw_bytes) == 0)
               ? kept
               : NULL;
}

// Without memory none is kept.
static void keep(struct seep_trace_writer *writer, uint32_t type, const void *raw, size_t raw_bytes,
                 size_t packed_bytes) {
    struct kept_section *kept = place_of(writer, type, raw_bytes);
    if (!kept || !seep_grow(&kept->bytes, &kept->capacity, raw_bytes + packed_bytes, 1))
        return;
    kept->type = type;
    kept->raw_bytes = raw_bytes;
    kept->packed_bytes = packed_bytes;
    if (raw_bytes)
        memcpy(kept->bytes, raw, raw_bytes);
    memcpy(kept->bytes + raw_bytes, writer->packed, packed_bytes);
}
#endif

struct seep_error *seep_trace_writer_section(struct seep_trace_writer *writer, uint32_t type,
                                             uint16_t version, const void *raw, size_t raw_bytes) {
    size_t packed_bytes = 0;
    struct seep_error *error = too_large(writer, type, raw_bytes);
    const struct kept_section *kept = error ? NULL : find_kept(writer, type, raw, raw_bytes);
    if (kept)
        return write_shorter(writer, type, version, raw, raw_bytes, kept->bytes + raw_bytes,
                             kept->packed_bytes);
    if (!error)
        error = compress(writer, raw, raw_bytes, &packed_bytes);
    if (error)
        return error;
    keep(writer, type, raw, raw_bytes, packed_bytes);
    return write_shorter(writer, type, version, raw, raw_bytes, writer->packed, packed_bytes);
}

struct seep_error *seep_trace_writer_parts(struct seep_trace_writer *writer, uint32_t type, uint16_t version,
                                           const void *raw, size_t raw_bytes, const size_t *parts,
                                           size_t nr_parts) {
    size_t packed_bytes = 0;
    struct seep_error *error = too_large(writer, type, raw_bytes);
    if (!error)
        error = compress_parts(writer, raw, raw_bytes, parts, nr_parts, &packed_bytes);
    return error ? error : write_shorter(writer, type, version, raw, raw_bytes, writer->packed, packed_bytes);
}

struct seep_error *seep_trace_writer_plain(struct seep_trace_writer *writer, uint32_t type, uint16_t version,
                                           const void *raw, size_t raw_bytes) {
    struct seep_error *error = too_large(writer, type, raw_bytes);
    return error ? error : write_section(writer, type, version, 0, raw, raw_bytes, raw_bytes);
}

void seep_trace_span_begin(const struct seep_trace_writer *writer, struct seep_trace_span *ret_span) {
    *ret_span = (struct seep_trace_span){.off = writer->written_bytes, .nr_sections = writer->nr_sections};
}

void seep_trace_span_end(const struct seep_trace_writer *writer, struct seep_trace_span *span) {
    span->bytes = writer->written_bytes - span->off;
    span->nr_sections = writer->nr_sections - span->nr_sections;
}

// ---- spools ------------------------------------------------------------------------------------------

// Not every file system makes files without a name.
static int open_nameless(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *path = NULL;
    if (fd >= 0 || asprintf(&path, "%s/seep-XXXXXX", folder) < 0)
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

struct seep_error *seep_trace_spool_create(struct seep_trace_writer **ret_spool) {
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder ? folder : "/tmp";
    struct seep_trace_writer *spool = calloc(1, sizeof(*spool));
    if (!spool)
        return seep_error_no_memory();
    spool->fd = open_nameless(folder);
    spool->owns_fd = true;
    struct seep_error *error = NULL;
    if (spool->fd < 0)
        error = seep_error_hint(seep_error_system(errno, "%s: cannot make a temporary file", folder),
                                "name a folder for it in TMPDIR");
    if (!error && (asprintf(&spool->name, "a temporary file in %s", folder) < 0 ||
                   !(spool->packer = seep_packer_create()) || !(spool->held = malloc(HELD_BYTES))))
        error = seep_error_no_memory();
    if (error) {
        seep_trace_writer_destroy(spool);
        return error;
    }
    *ret_spool = spool;
    return NULL;
}

struct seep_error *seep_trace_spool_end(struct seep_trace_writer *spool, struct seep_trace_span *span) {
    seep_trace_span_end(spool, span);
    return write_held(spool);
}

void seep_trace_spool_back(struct seep_trace_writer *spool, const struct seep_trace_span *begun) {
    spool->nr_held = 0;
    if (lseek(spool->fd, (off_t)begun->off, SEEK_SET) < 0)
        return; // then what is written next stands behind, where it is said to
    (void)ftruncate(spool->fd, (off_t)begun->off); // only gives room back
    spool->written_bytes = begun->off;
    spool->nr_sections = begun->nr_sections;
}

static struct seep_error *read_at(const struct seep_trace_writer *spool, uint64_t off, void *bytes,
                                  size_t nr_bytes) {
    return seep_read_at(spool->fd, off, bytes, nr_bytes)
               ? NULL
               : seep_error_system(errno, "%s: cannot read", spool->name);
}

struct seep_error *seep_trace_spool_read(const struct seep_trace_writer *spool,
                                         const struct seep_trace_span *span, unsigned char **ret_bytes) {
    unsigned char *bytes = malloc(span->bytes ? span->bytes : 1);
    if (!bytes)
        return seep_error_no_memory();
    struct seep_error *error = read_at(spool, span->off, bytes, span->bytes);
    if (error) {
        free(bytes);
        return error;
    }
    *ret_bytes = bytes;
    return NULL;
}

#define COPY_BYTES ((size_t)64 << 10)

struct seep_error *seep_trace_writer_copy(struct seep_trace_writer *writer,
                                          const struct seep_trace_writer *spool,
                                          const struct seep_trace_span *span) {
    unsigned char *bytes = malloc(COPY_BYTES);
    if (!bytes)
        return seep_error_no_memory();
    struct seep_error *error = NULL;
    for (uint64_t done = 0; !error && done < span->bytes;) {
        size_t nr_bytes = SEEP_MIN((size_t)(span->bytes - done), COPY_BYTES);
        error = read_at(spool, span->off + done, bytes, nr_bytes);
        if (!error)
            error = write_all(writer, bytes, nr_bytes);
        done += nr_bytes;
    }
    if (!error)
        writer->nr_sections += span->nr_sections;
    free(bytes);
    return error;
}

// ---- forgetting ----------------------------------------------------------------------------------------

static bool write_at(int fd, uint64_t off, const void *bytes, size_t nr_bytes) {
    return pwrite(fd, bytes, nr_bytes, (off_t)off) == (ssize_t)nr_bytes;
}

// Makes one section, or several in a row, a gap that readers pass as one section. Its header replaces that of
// the first section.
static struct seep_error *write_gap(struct seep_trace_writer *writer, const struct gap *gap) {
    unsigned char header[SEEP_TRACE_SECTION_BYTES];
    if (!seep_read_at(writer->fd, gap->off, header, sizeof(header)))
        return write_error(writer, errno);
    uint64_t stored_bytes = gap->bytes - sizeof(header);
    seep_store32(header, SEEP_TRACE_GAP);
    seep_store16(header + 6, 0);
    seep_store64(header + 8, stored_bytes);
    seep_store64(header + 16, stored_bytes);
    seep_store32(header + 24, seep_trace_crc32(0, header, 24));
    if (!write_at(writer->fd, gap->off, header, sizeof(header)))
        return write_error(writer, errno);
    // If the file system cannot make a hole, the room comes back at the end.
    (void)fallocate(writer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)(gap->off + sizeof(header)), (off_t)stored_bytes);
    return NULL;
}

static struct seep_error *join_gaps(struct seep_trace_writer *writer) {
    struct seep_error *error = NULL;
    struct gap *joined = &writer->joined;
    bool grew = false;
    for (size_t i = 0; !error && i < GAPS_APART; i++) {
        const struct gap *gap = &writer->latest_gaps[i];
        if (gap->off == joined->off + joined->bytes) {
            joined->bytes += gap->bytes;
            grew = true;
            continue;
        }
        if (grew)
            error = write_gap(writer, joined);
        *joined = *gap;
        grew = false;
    }
    if (!error && grew)
        error = write_gap(writer, joined);
    writer->nr_latest_gaps -= GAPS_APART;
    memmove(writer->latest_gaps, writer->latest_gaps + GAPS_APART,
            writer->nr_latest_gaps * sizeof(*writer->latest_gaps));
    return error;
}

struct seep_error *seep_trace_writer_forget(struct seep_trace_writer *writer,
                                            const struct seep_trace_span *span) {
    const struct gap gap = {span->off, span->bytes};
    struct seep_error *error = write_gap(writer, &gap);
    if (error)
        return error;
    writer->nr_forgotten++;
    writer->latest_gaps[writer->nr_latest_gaps++] = gap;
    return writer->nr_latest_gaps == SEEP_ARRAY_SIZE(writer->latest_gaps) ? join_gaps(writer) : NULL;
}

// All sections of `from` but gaps.
static struct seep_error *copy_kept(struct seep_trace_writer *writer, int from, uint64_t end) {
    unsigned char *bytes = malloc(COPY_BYTES);
    struct seep_error *error = bytes ? write_header(writer) : seep_error_no_memory();
    for (uint64_t at = SEEP_TRACE_HEADER_BYTES; !error && at < end;) {
        if (!seep_read_at(from, at, bytes, SEEP_TRACE_SECTION_BYTES)) {
            error = write_error(writer, errno);
            break;
        }
        bool kept = seep_fetch32(bytes) != SEEP_TRACE_GAP;
        uint64_t section_end = at + SEEP_TRACE_SECTION_BYTES + seep_fetch64(bytes + 8);
        for (; !error && kept && at < section_end; at += SEEP_MIN(section_end - at, (uint64_t)COPY_BYTES)) {
            size_t nr_bytes = (size_t)SEEP_MIN(section_end - at, (uint64_t)COPY_BYTES);
            error = seep_read_at(from, at, bytes, nr_bytes) ? write_all(writer, bytes, nr_bytes)
                                                            : write_error(writer, errno);
        }
        writer->nr_sections += kept;
        at = section_end;
    }
    free(bytes);
    return error;
}

struct seep_error *seep_trace_writer_compact(struct seep_trace_writer *writer) {
    if (!writer->nr_forgotten || !writer->path)
        return NULL;
    int from = writer->fd;
    uint64_t end = writer->written_bytes;
    writer->own = writer->file;
    struct seep_error *error = open_temporary(writer);
    if (error) {
        writer->fd = from;
        return error;
    }
    writer->written_bytes = writer->nr_sections = 0;
    error = copy_kept(writer, from, end);
    close(from);
    return error ? error : seep_trace_writer_show(writer);
}

// ---- the end -----------------------------------------------------------------------------------------

// The directory is synced too, or the new name might not survive a power cut. Some file systems
// cannot do that; the trace is complete all the same, so this is no failure.
static void sync_directory(const char *path) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path + 1) : 2;
    snprintf(dir, sizeof(dir), "%.*s", length, slash ? path : "./");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static struct seep_error *close_target(struct seep_trace_writer *writer, bool lasting) {
    if (!writer->owns_fd)
        return NULL;
    if (lasting && writer->path && fsync(writer->fd) != 0)
        return write_error(writer, errno);
    if (writer->new_file.path && !seep_new_file_give_name(&writer->new_file, writer->fd))
        return write_error(writer, errno);
    int failed = close(writer->fd); // EINTR too: on Linux the descriptor is gone either way
    writer->fd = -1;
    return failed && errno != EINTR ? write_error(writer, errno) : NULL;
}

const char *seep_trace_writer_path(const struct seep_trace_writer *writer) {
    return writer->path;
}

// false: errno says why; EEXIST: there is such a file.
static bool rename_to_new(const char *from, const char *to) {
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    return link(from, to) == 0 && unlink(from) == 0; // a file system without the flag
}

static bool is_own(const struct seep_trace_writer *writer, const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && status.st_dev == writer->own.device &&
           status.st_ino == writer->own.inode;
}

// What has the name is seen when the two have changed places, not before: others may put something there at
// any moment, and get it back. false: it is not our file.
static bool replace_own(const struct seep_trace_writer *writer) {
    const char *from = writer->new_file.path, *to = writer->path;
    if (!writer->own.inode)
        return false;
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, EXCHANGE) != 0)
        return (errno == EINVAL || errno == ENOSYS) && is_own(writer, to) && rename(from, to) == 0;
    if (is_own(writer, from))
        return unlink(from) == 0;
    (void)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, EXCHANGE);
    return false;
}

// No more traces of one name are looked for.
enum { NAMES_MAX = 100000 };

static struct seep_error *take_free_name(struct seep_trace_writer *writer) {
    static const char ending[] = ".seep";
    size_t length = strlen(writer->path), of_ending = sizeof(ending) - 1;
    bool ends = length > of_ending && strcmp(writer->path + length - of_ending, ending) == 0;
    length -= ends ? of_ending : 0;
    bool done = rename_to_new(writer->new_file.path, writer->path);
    for (int i = 2; !done && errno == EEXIST && i < NAMES_MAX; i++) {
        char *name = NULL;
        if (asprintf(&name, "%.*s.%d%s", (int)length, writer->path, i, ends ? ending : "") < 0)
            return seep_error_no_memory();
        done = rename_to_new(writer->new_file.path, name);
        if (done) {
            free(writer->path);
            writer->path = name;
            return NULL;
        }
        int trouble = errno;
        free(name);
        errno = trouble;
    }
    return done ? NULL : write_error(writer, errno);
}

// A descriptor of a file that had no name when it was made never shows one in /proc/PID/fd: it is made anew
// from the name, for lsof(8) and all that look there. Where that fails, it stays as it is.
static void show_name(struct seep_trace_writer *writer) {
    struct stat status;
    off_t at = writer->fd < 0 ? -1 : lseek(writer->fd, 0, SEEK_CUR);
    int fd = at < 0 ? -1 : open(writer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_dev == writer->file.device &&
        status.st_ino == writer->file.inode && lseek(fd, at, SEEK_SET) == at)
        (void)dup3(fd, writer->fd, O_CLOEXEC);
    close(fd);
}

struct seep_error *seep_trace_writer_show(struct seep_trace_writer *writer) {
    if (!writer->new_file.path)
        return NULL;
    struct seep_error *error = NULL;
    if (!seep_new_file_give_name(&writer->new_file, writer->fd))
        return write_error(writer, errno);
    if (writer->keeps_others)
        error = replace_own(writer) ? NULL : take_free_name(writer);
    else if (rename(writer->new_file.path, writer->path) != 0)
        error = write_error(writer, errno);
    if (error)
        return error;
    seep_new_file_forget(&writer->new_file, true);
    show_name(writer);
    return NULL;
}

struct seep_error *seep_trace_writer_commit(struct seep_trace_writer *writer, bool lasting) {
    unsigned char end[SEEP_TRACE_END_BYTES];
    seep_store64(end, writer->nr_sections + 1);
    seep_store64(end + 8, writer->written_bytes + SEEP_TRACE_SECTION_BYTES + sizeof(end));
    struct seep_error *error = write_section(writer, SEEP_TRACE_END, 1, 0, end, sizeof(end), sizeof(end));
    if (!error)
        error = close_target(writer, lasting);
    if (error || !writer->new_file.path)
        return error;
    error = seep_trace_writer_show(writer);
    if (!error && lasting)
        sync_directory(writer->path);
    return error;
}
