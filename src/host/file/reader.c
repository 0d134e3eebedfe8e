// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a trace from memory, section by section, see trace.h. Everything in it is hostile: no length
// is used before it has been compared with the bytes that are there.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/large.h"
#include "base/map.h"
#include "source/image/image_decode.h"
#include "source/image/raw_file.h"
#include "file/trace.h"

#define HINT_MAKE "make one with: seep run -o NAME.seep -- PROG"
#define HINT_IMPORT                                                                                          \
    "what another tool or 'seep run --mode log' wrote: seep import FILE --format NAME -o OUT.seep"
#define HINT_DAMAGED "the file is damaged: copy it again from where it was made"
#define HINT_UPDATE  "it was made by a newer seep: update seep"

// Enough to see what a file is.
#define PEEK_BYTES 4096u

struct foreign {
    const char *magic;
    size_t nr_bytes;
    const char *what;
    const char *hint;
};

static const struct foreign foreigns[] = {
    {"\x7f"
     "ELF",
     4, "an ELF file", "to trace a program: seep run -o NAME.seep -- PROG"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd",
     "unpack it first: zstd -d FILE; what heaptrack wrote: seep import FILE --format heaptrack -o OUT.seep"},
    {"\x1f\x8b", 2, "compressed with gzip",
     "unpack it first: gunzip FILE; what heaptrack wrote: seep import FILE --format heaptrack -o OUT.seep"},
    {"\xfd"
     "7zXZ",
     5, "compressed with xz", "unpack it first: unxz FILE"},
    {"SEEP\n", 5, "a trace changed by a transfer in text mode", "copy it again in binary mode"},
    {"SEEP\r\n\x1a\r\n", 9, "a trace changed by a transfer in text mode", "copy it again in binary mode"},
};

static bool begins_with(const unsigned char *bytes, size_t size_bytes, const char *magic, size_t nr_bytes) {
    return size_bytes >= nr_bytes && memcmp(bytes, magic, nr_bytes) == 0;
}

static bool looks_like_text(const unsigned char *bytes, size_t size_bytes) {
    for (size_t i = 0; i < SEEP_MIN(size_bytes, (size_t)PEEK_BYTES); i++)
        if (bytes[i] == 0x7f || (bytes[i] < 0x20 && !memchr("\t\n\f\r\x1b", bytes[i], 5)))
            return false;
    return true;
}

static struct seep_error *not_a_trace(const unsigned char *bytes, size_t size_bytes, const char *name) {
    const char *what = "data";
    const char *hint = HINT_MAKE;
    if (!size_bytes)
        what = "an empty file";
    else if (looks_like_text(bytes, size_bytes))
        what = "text", hint = HINT_IMPORT;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(foreigns); i++)
        if (begins_with(bytes, size_bytes, foreigns[i].magic, foreigns[i].nr_bytes)) {
            what = foreigns[i].what;
            hint = foreigns[i].hint;
        }
    return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: not a seep trace, but %s", name, what), "%s",
                           hint);
}

static struct seep_error *damaged(const char *name, const char *what, uint64_t at) {
    return seep_error_hint(
        seep_error_create(SEEP_E_FORMAT, "%s: %s at offset %llu", name, what, (unsigned long long)at),
        HINT_DAMAGED);
}

struct seep_error *seep_trace_reader_init(const void *bytes_of_any, size_t size_bytes, const char *name,
                                          struct seep_trace_reader *ret) {
    const unsigned char *bytes = bytes_of_any;
    size_t seen = SEEP_MIN(size_bytes, (size_t)SEEP_TRACE_MAGIC_BYTES);
    if (size_bytes < 4 || memcmp(bytes, SEEP_TRACE_MAGIC, seen) != 0)
        return not_a_trace(bytes, size_bytes, name);
    if (size_bytes < SEEP_TRACE_HEADER_BYTES)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: cut short in the file header, at offset %zu", name,
                                                 size_bytes),
                               "nothing of the trace is left: record it again");
    if (seep_fetch32(bytes + 28) != seep_trace_crc32(0, bytes, 28))
        return damaged(name, "wrong checksum of the file header", 0);
    uint16_t major = seep_fetch16(bytes + 8);
    uint16_t minor = seep_fetch16(bytes + 10);
    if (major != SEEP_TRACE_MAJOR)
        return seep_error_hint(seep_error_create(SEEP_E_VERSION,
                                                 "%s: trace format %u.%u, and this seep reads %u", name,
                                                 major, minor, SEEP_TRACE_MAJOR),
                               major > SEEP_TRACE_MAJOR ? HINT_UPDATE : HINT_DAMAGED);
    uint32_t header_bytes = seep_fetch32(bytes + 12);
    if (header_bytes < SEEP_TRACE_HEADER_BYTES || header_bytes > size_bytes)
        return damaged(name, "wrong length of the file header", 12);
    *ret = (struct seep_trace_reader){
        .bytes = bytes, .size_bytes = size_bytes, .at = header_bytes, .name = name, .minor = minor};
    return NULL;
}

void seep_trace_reader_pass(struct seep_trace_reader *reader, const struct seep_trace_passed *passed) {
    reader->part_off = passed->bytes;
    reader->nr_sections = passed->nr_sections;
}

void seep_trace_reader_part(const void *bytes, size_t size_bytes, uint64_t part_off, const char *name,
                            uint16_t minor, struct seep_trace_reader *ret) {
    *ret = (struct seep_trace_reader){.bytes = bytes,
                                      .size_bytes = size_bytes,
                                      .name = name,
                                      .minor = minor,
                                      .is_part = true,
                                      .part_off = part_off};
}

struct seep_error *seep_trace_section_error(const struct seep_trace_reader *reader,
                                            const struct seep_trace_section *section, const char *format,
                                            ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: section %s at offset %llu: %s", reader->name,
                                             seep_trace_type_name(section->type),
                                             (unsigned long long)section->off, text),
                           HINT_DAMAGED);
}

static struct seep_error *newer(const struct seep_trace_reader *reader,
                                const struct seep_trace_section *section, const char *what) {
    return seep_error_hint(seep_error_create(SEEP_E_VERSION, "%s: section %s (%u) at offset %llu %s",
                                             reader->name, seep_trace_type_name(section->type), section->type,
                                             (unsigned long long)section->off, what),
                           HINT_UPDATE);
}

// What the end section says must be so; a file that grew or lost sections in between is damaged.
static struct seep_error *check_end(struct seep_trace_reader *reader,
                                    const struct seep_trace_section *section) {
    unsigned char *raw;
    struct seep_error *error = seep_trace_section_unpack(reader, section, &raw);
    if (error)
        return error;
    uint64_t nr_sections = section->raw_bytes >= SEEP_TRACE_END_BYTES ? seep_fetch64(raw) : 0;
    uint64_t file_bytes = section->raw_bytes >= SEEP_TRACE_END_BYTES ? seep_fetch64(raw + 8) : 0;
    free(raw);
    if (section->raw_bytes < SEEP_TRACE_END_BYTES)
        return seep_trace_section_error(reader, section, "%llu bytes, and %u are needed",
                                        (unsigned long long)section->raw_bytes, SEEP_TRACE_END_BYTES);
    if (section->raw_bytes > SEEP_TRACE_END_BYTES && reader->minor <= SEEP_TRACE_MINOR)
        return seep_trace_section_error(reader, section, "bytes left over: %llu",
                                        (unsigned long long)(section->raw_bytes - SEEP_TRACE_END_BYTES));
    if (nr_sections != reader->nr_sections)
        return seep_trace_section_error(reader, section, "%llu sections are promised, and there are %llu",
                                        (unsigned long long)nr_sections,
                                        (unsigned long long)reader->nr_sections);
    if (file_bytes != reader->part_off + reader->at)
        return seep_trace_section_error(
            reader, section, "ends at %llu by its own account, and at %llu by its place",
            (unsigned long long)file_bytes, (unsigned long long)(reader->part_off + reader->at));
    if (reader->at != reader->size_bytes)
        return seep_trace_section_error(reader, section, "%zu bytes follow the end",
                                        reader->size_bytes - reader->at);
    reader->ended = true;
    return NULL;
}

static void stop_at_cut(struct seep_trace_reader *reader) {
    reader->cut = true;
    reader->cut_at = reader->part_off + reader->at;
}

static unsigned newest_version(uint32_t type) {
    return type == SEEP_TRACE_EVENTS ? 2 : 1;
}

struct seep_error *seep_trace_reader_next(struct seep_trace_reader *reader,
                                          struct seep_trace_section *ret_section, bool *ret_more) {
    *ret_more = false;
    if (reader->ended || reader->cut)
        return NULL;
    size_t left = reader->size_bytes - reader->at;
    if (reader->is_part && !left)
        return NULL;
    if (left < SEEP_TRACE_SECTION_BYTES) {
        stop_at_cut(reader);
        return NULL;
    }
    const unsigned char *header = reader->bytes + reader->at;
    // The header has a checksum of its own: so lengths that lie by damage are not taken for a cut.
    if (seep_fetch32(header + 24) != seep_trace_crc32(0, header, 24))
        return damaged(reader->name, "wrong checksum of a section header", reader->part_off + reader->at);
    struct seep_trace_section section = {
        .type = seep_fetch32(header),
        .version = seep_fetch16(header + 4),
        .flags = seep_fetch16(header + 6),
        .stored_bytes = seep_fetch64(header + 8),
        .raw_bytes = seep_fetch64(header + 16),
        .crc = seep_fetch32(header + 28),
        .off = reader->part_off + reader->at,
        .stored = header + SEEP_TRACE_SECTION_BYTES,
    };
    if (section.stored_bytes > left - SEEP_TRACE_SECTION_BYTES) {
        stop_at_cut(reader);
        return NULL;
    }
    bool known = seep_trace_type_is_known(section.type);
    if (!known && (section.flags & SEEP_TRACE_FLAG_REQUIRED))
        return newer(reader, &section, "is needed to read the trace, and this seep does not know it");
    if (known && (!section.version || section.version > newest_version(section.type)))
        return newer(reader, &section, "is of a version that this seep does not know");
    if (known && (section.flags & ~SEEP_TRACE_FLAGS_KNOWN))
        return newer(reader, &section, "is stored in a way that this seep does not know");
    reader->at += SEEP_TRACE_SECTION_BYTES + (size_t)section.stored_bytes;
    reader->nr_sections++;
    if (section.type == SEEP_TRACE_END)
        return check_end(reader, &section);
    *ret_section = section;
    *ret_more = true;
    return NULL;
}

struct seep_error *seep_trace_section_unpack(const struct seep_trace_reader *reader,
                                             const struct seep_trace_section *section,
                                             unsigned char **ret_raw) {
    if (seep_trace_crc32(0, section->stored, (size_t)section->stored_bytes) != section->crc)
        return seep_trace_section_error(reader, section, "wrong checksum");
    bool packed = section->flags & SEEP_TRACE_FLAG_ZSTD;
    if (!packed && section->raw_bytes != section->stored_bytes)
        return seep_trace_section_error(reader, section, "%llu bytes are stored, and %llu are promised",
                                        (unsigned long long)section->stored_bytes,
                                        (unsigned long long)section->raw_bytes);
    if (section->raw_bytes > SEEP_TRACE_RAW_MAX ||
        (packed &&
         (section->raw_bytes + SEEP_TRACE_RATIO_MAX - 1) / SEEP_TRACE_RATIO_MAX > section->stored_bytes))
        return seep_trace_section_error(reader, section, "%llu bytes are promised, too many for %llu stored",
                                        (unsigned long long)section->raw_bytes,
                                        (unsigned long long)section->stored_bytes);
    size_t raw_bytes = (size_t)section->raw_bytes;
    unsigned char *raw = malloc(raw_bytes ? raw_bytes : 1);
    if (!raw)
        return seep_error_no_memory();
    if (!packed) {
        if (raw_bytes)
            memcpy(raw, section->stored, raw_bytes);
        *ret_raw = raw;
        return NULL;
    }
    size_t stored_bytes = (size_t)section->stored_bytes;
    size_t done = reader->unpacker
                      ? ZSTD_decompressDCtx(reader->unpacker, raw, raw_bytes, section->stored, stored_bytes)
                      : ZSTD_decompress(raw, raw_bytes, section->stored, stored_bytes);
    if (!ZSTD_isError(done) && done == raw_bytes) {
        *ret_raw = raw;
        return NULL;
    }
    free(raw);
    if (ZSTD_isError(done) && ZSTD_getErrorCode(done) != ZSTD_error_dstSize_tooSmall)
        return seep_trace_section_error(reader, section, "cannot be decompressed");
    return seep_trace_section_error(reader, section, "does not have the %zu bytes that are promised",
                                    raw_bytes);
}

static bool worth_reading(const unsigned char *bytes, size_t size_bytes) {
    bool is_swapped;
    return begins_with(bytes, size_bytes, SEEP_TRACE_MAGIC, SEEP_TRACE_MAGIC_BYTES) ||
           seep_image_is_raw(bytes, size_bytes, &is_swapped);
}

// Of what has no end (a file that is one hole, a pipe) not so much is read that this machine has no memory
// left: room is doubled.
static uint64_t memory_for_it(void) {
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
}

// A file system may pack its files, though not a trace, which is packed, to nearly nothing. One of ramfs gets
// the blocks that it has not by being read.
static uint64_t most_of(int fd, const struct stat *status) {
    struct statfs system;
    uint64_t bytes = (uint64_t)status->st_blocks * 512;
    bool is_ramfs = fstatfs(fd, &system) != 0 || system.f_type == RAMFS_MAGIC;
    uint64_t most = is_ramfs ? bytes * 2 + (UINT64_C(64) << 20) : bytes * 32 + (UINT64_C(256) << 20);
    return S_ISREG(status->st_mode) ? SEEP_MIN(most, memory_for_it()) : memory_for_it();
}

uint64_t seep_trace_most_bytes(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? most_of(fd, &status) : 0;
}

// Room for what is left of a file by its status, and a byte to see that it ends there.
static void make_room(int fd, uint64_t most, size_t used, unsigned char **bytes, size_t *capacity) {
    struct stat status;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || at < 0 || at >= status.st_size)
        return;
    uint64_t room = used + (uint64_t)(status.st_size - at) + 1;
    unsigned char *larger = room <= most ? seep_large_alloc((size_t)room, 1) : NULL;
    if (!larger)
        return;
    memcpy(larger, *bytes, used);
    free(*bytes);
    *bytes = larger;
    *capacity = (size_t)room;
}

// Reads to the end of the file, behind the first `used` bytes of *ret_bytes. The size in its status may be
// wrong, and is only what room is made for at first.
static struct seep_error *slurp(int fd, const char *name, uint64_t most, unsigned char **ret_bytes,
                                size_t used, size_t *ret_size) {
    unsigned char *bytes = *ret_bytes;
    size_t capacity = used;
    *ret_bytes = NULL;
    if (worth_reading(bytes, used))
        make_room(fd, most, used, &bytes, &capacity);
    for (;;) {
        if (used == capacity && capacity > most) {
            free(bytes);
            return seep_error_create(SEEP_E_FORMAT,
                                     "%s: more than %zu MiB, too large for a trace on this machine", name,
                                     used >> 20);
        }
        if (used == capacity && !seep_grow(&bytes, &capacity, capacity ? capacity + 1 : PEEK_BYTES, 1)) {
            free(bytes);
            return seep_error_no_memory();
        }
        ssize_t done = read(fd, bytes + used, capacity - used);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            int sys_errno = errno;
            free(bytes);
            return seep_error_system(sys_errno, "%s: cannot read", name);
        }
        used += (size_t)done;
        if (done == 0 || (used >= PEEK_BYTES && !worth_reading(bytes, used)))
            break;
    }
    *ret_bytes = bytes;
    *ret_size = used;
    return NULL;
}

static bool is_of_recording(uint32_t type) {
    return type == SEEP_TRACE_EVENTS || type == SEEP_TRACE_STACKS || type == SEEP_TRACE_EVENT_INDEX ||
           type == SEEP_TRACE_RESIDENCE || type == SEEP_TRACE_EVENT_SUMS || type == SEEP_TRACE_GAP;
}

// `off`: where to read, or -1: on from where the last read ended. *ret_got less than nr_bytes: the file ends
// before. false: errno.
static bool read_up_to(int fd, int64_t off, void *ret_bytes, size_t nr_bytes, size_t *ret_got) {
    size_t got = 0;
    while (got < nr_bytes) {
        unsigned char *to = (unsigned char *)ret_bytes + got;
        ssize_t done = off < 0 ? read(fd, to, nr_bytes - got)
                               : pread(fd, to, nr_bytes - got, (off_t)((uint64_t)off + got));
        if (done < 0 && errno != EINTR)
            return false;
        if (done == 0)
            break;
        got += done > 0 ? (size_t)done : 0;
    }
    *ret_got = got;
    return true;
}

// So many bytes of a recording in a file are read to see whether they are whole, which takes some ten
// milliseconds. Of a pipe all are.
#define CHECKED_BYTES (UINT64_C(64) << 20)

// Passes the stored bytes of a section. A gap may have many more bytes than all other sections, and its bytes
// have no meaning. *ret_whole false: the file ends before. false: errno.
static bool pass_stored(int fd, bool is_pipe, const unsigned char *header, struct seep_trace_passed *passed,
                        bool *ret_whole) {
    uint64_t nr_bytes = seep_fetch64(header + 8), nr_before = passed->bytes - passed->gap_bytes;
    bool is_gap = seep_fetch32(header) == SEEP_TRACE_GAP;
    *ret_whole = true;
    if (!is_pipe && (is_gap || nr_before > CHECKED_BYTES || nr_bytes > CHECKED_BYTES))
        return true;
    uint64_t end = SEEP_TRACE_HEADER_BYTES + passed->bytes + SEEP_TRACE_SECTION_BYTES + nr_bytes;
    unsigned char bytes[16 << 10];
    uint32_t crc = 0;
    for (uint64_t left = nr_bytes; left;) {
        size_t got;
        size_t wanted = (size_t)SEEP_MIN(left, (uint64_t)sizeof(bytes));
        if (!read_up_to(fd, is_pipe ? -1 : (int64_t)(end - left), bytes, wanted, &got))
            return false;
        if (got < wanted) {
            *ret_whole = false;
            return true;
        }
        crc = seep_trace_crc32(crc, bytes, got);
        left -= got;
    }
    if (!is_gap && crc != seep_fetch32(header + 28) && !passed->damaged_off) {
        passed->damaged_off = SEEP_TRACE_HEADER_BYTES + passed->bytes;
        passed->damaged_type = seep_fetch32(header);
    }
    return true;
}

// A recording may be larger than the memory: its sections of events are passed over. Leaves the file behind
// them, with what was read of what follows, and the header, in *ret_bytes. size_bytes: of a pipe UINT64_MAX.
static struct seep_error *pass_events(int fd, const char *name, uint64_t size_bytes,
                                      unsigned char **ret_bytes, size_t *ret_nr_bytes,
                                      struct seep_trace_passed *ret_passed) {
    unsigned char read[SEEP_TRACE_HEADER_BYTES + SEEP_TRACE_SECTION_BYTES];
    unsigned char *header = read + SEEP_TRACE_HEADER_BYTES;
    struct seep_trace_passed passed = {0};
    size_t nr_first, nr_header = 0;
    bool is_pipe = size_bytes == UINT64_MAX;
    bool good = read_up_to(fd, -1, read, SEEP_TRACE_HEADER_BYTES, &nr_first);
    bool more = good && nr_first == SEEP_TRACE_HEADER_BYTES &&
                memcmp(read, SEEP_TRACE_MAGIC, SEEP_TRACE_MAGIC_BYTES) == 0 &&
                seep_fetch32(read + 12) == SEEP_TRACE_HEADER_BYTES;
    while (good && more) {
        uint64_t at = SEEP_TRACE_HEADER_BYTES + passed.bytes, behind = at + SEEP_TRACE_SECTION_BYTES;
        good = read_up_to(fd, is_pipe ? -1 : (int64_t)at, header, SEEP_TRACE_SECTION_BYTES, &nr_header);
        more = good && nr_header == SEEP_TRACE_SECTION_BYTES && is_of_recording(seep_fetch32(header)) &&
               seep_fetch32(header + 24) == seep_trace_crc32(0, header, 24) && size_bytes >= behind &&
               seep_fetch64(header + 8) <= size_bytes - behind;
        if (!more)
            break;
        good = pass_stored(fd, is_pipe, header, &passed, &more);
        if (!good || !more)
            break;
        if (seep_fetch32(header) == SEEP_TRACE_EVENT_INDEX && !passed.event_index_off)
            passed.event_index_off = at;
        if (seep_fetch32(header) == SEEP_TRACE_GAP)
            passed.gap_bytes += SEEP_TRACE_SECTION_BYTES + seep_fetch64(header + 8);
        passed.bytes = behind - SEEP_TRACE_HEADER_BYTES + seep_fetch64(header + 8);
        passed.nr_sections++;
        nr_header = 0;
    }
    uint64_t end = nr_first + passed.bytes + nr_header;
    good = good && (is_pipe || lseek(fd, (off_t)end, SEEK_SET) >= 0);
    if (!good)
        return seep_error_system(errno, "%s: cannot read", name);
    unsigned char *bytes = malloc(sizeof(read));
    if (!bytes)
        return seep_error_no_memory();
    memcpy(bytes, read, sizeof(read));
    *ret_bytes = bytes;
    *ret_nr_bytes = nr_first + nr_header;
    *ret_passed = passed;
    return NULL;
}

// What the library wrote alone, without its events.
static struct seep_error *slurp_raw(int fd, const char *name, uint64_t most, unsigned char **ret_bytes,
                                    size_t *ret_size) {
    struct seep_raw_file file;
    struct seep_error *error = seep_raw_file_read(fd, name, most, &file);
    if (error)
        return error;
    *ret_bytes = file.bytes;
    *ret_size = file.nr_bytes;
    file.bytes = NULL;
    seep_raw_file_deinit(&file);
    return NULL;
}

static struct seep_error *slurp_pipe(int fd, const char *name, unsigned char **ret_bytes, size_t *ret_size,
                                     struct seep_trace_passed *ret_passed) {
    size_t used = 0;
    struct seep_error *error = pass_events(fd, name, UINT64_MAX, ret_bytes, &used, ret_passed);
    return error ? error : slurp(fd, name, memory_for_it(), ret_bytes, used, ret_size);
}

struct seep_error *seep_trace_slurp(const char *path, unsigned char **ret_bytes, size_t *ret_size,
                                    struct seep_trace_passed *ret_passed) {
    size_t used = 0;
    *ret_bytes = NULL;
    *ret_passed = (struct seep_trace_passed){0};
    if (strcmp(path, "-") == 0)
        return slurp_pipe(STDIN_FILENO, "standard input", ret_bytes, ret_size, ret_passed);
    if (!*path)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "the name is empty"),
                               "is a variable of the shell unset? name a PID or a trace");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return seep_error_hint(
            seep_error_system(errno, "%s: cannot open", path),
            "name a trace that 'seep run -o FILE PROG' has written, or the pid of a traced "
            "process");
    struct stat status;
    if (fstat(fd, &status) != 0) {
        int sys_errno = errno;
        close(fd);
        return seep_error_system(sys_errno, "%s: cannot read", path);
    }
    struct seep_error *error = NULL;
    if (S_ISDIR(status.st_mode))
        error = seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: a directory, not a trace", path),
                                "name a file in it");
    else if (!S_ISREG(status.st_mode))
        error = slurp_pipe(fd, path, ret_bytes, ret_size, ret_passed);
    else if (seep_raw_file_is_one(fd))
        error = slurp_raw(fd, path, most_of(fd, &status), ret_bytes, ret_size);
    else if (!(error = pass_events(fd, path, (uint64_t)SEEP_MAX(status.st_size, (off_t)0), ret_bytes, &used,
                                   ret_passed)))
        error = slurp(fd, path, most_of(fd, &status), ret_bytes, used, ret_size);
    close(fd);
    return error;
}
