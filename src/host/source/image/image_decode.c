// SPDX-License-Identifier: BSD-2-Clause
// Shapes, versions and checks; see image_decode.h.
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"
#include "source/image/header_v1.h"
#include "source/image/image_decode.h"

// ---- the shapes of structs: as Python's struct writes them, B H I Q for 1, 2, 4 and 8 bytes ----

#define SHAPE_HEADER                                                                                         \
    "QII"    /* magic to header_size */                                                                      \
    "BBHIQ"  /* byte_order to file_size */                                                                   \
    "IHH"    /* where the areas are */                                                                       \
    "6I3Q"   /* pid to end_ns */                                                                             \
    "QQIIQ"  /* exe_off to preempted_by_off */                                                               \
    "4IQ"    /* granule_shift to sample_bytes */                                                             \
    "3Q8QQQ" /* live_bytes_flushed to nr_thread_starts */                                                    \
    "64Q3Q"  /* own, pools */                                                                                \
    "2Q2I5Q" /* deep_bound_off to copied_ns */                                                               \
    "8QQ7Q"  /* at_peak to control_done */
#define SHAPE_HEADER_V1                                                                                      \
    "QIIBBHIQ"                                                                                               \
    "48Q"                                                                                                    \
    "6I3QQQIIQ4IQ"                                                                                           \
    "3Q16Q8QQQ64Q3Q"                                                                                         \
    "2Q2I32Q5Q8QQ2Q"
#define SHAPE_AREA     "3Q2I"
#define SHAPE_COUNTERS "8Q"
#define SHAPE_MARK     "IIQIIQ"
#define SHAPE_RING     "16Q"

// SHAPE_HEADER ends with control_done: a field behind it must come into the shape (test_image.c counts it
// too).
_Static_assert(offsetof(struct seep_image_header, areas) ==
                   offsetof(struct seep_image_header, control_done) + sizeof(uint64_t),
               "a field was added to the header: add it to SHAPE_HEADER");

static const struct {
    const char *name;
    const char *shape;
    size_t least_bytes; // what the first writers had
    bool is_fixed;      // no longer elements either
} areas[SEEP_AREA_NR] = {
    [SEEP_AREA_STRINGS] = {"strings", "B", 1, true},
    [SEEP_AREA_MODULES] = {"modules", "6QI44B", sizeof(struct seep_image_module), false},
    [SEEP_AREA_NODES] = {"nodes", "QII", sizeof(struct seep_image_node), false},
    [SEEP_AREA_SITES] = {"sites", "4I", sizeof(struct seep_image_site), false},
    [SEEP_AREA_THREADS] = {"threads", "2I16BQQ3QQ8QQ6Q64QQ4Q3Q", sizeof(struct seep_image_thread), false},
    [SEEP_AREA_ODD] = {"odd blocks", "4Q", sizeof(struct seep_image_odd), false},
    [SEEP_AREA_DIR] = {"directory", "I", sizeof(uint32_t), true},
    [SEEP_AREA_PAGES] = {"pages", "4096B", SEEP_IMAGE_PAGE, true},
    [SEEP_AREA_MAPPINGS] = {"mappings", "QQIIQ", sizeof(struct seep_image_mapping), false},
    [SEEP_AREA_MAP_SITES] = {"mapping sites", "II5Q", sizeof(struct seep_image_mapping_site), false},
    [SEEP_AREA_MISUSES] = {"misuses", "4I3Q", sizeof(struct seep_image_misuse), false},
    [SEEP_AREA_CUSTOM_POOLS] = {"pools of the program", "3QII", sizeof(struct seep_image_custom_pool), false},
    [SEEP_AREA_PIECES] = {"pieces", "3Q4I", sizeof(struct seep_image_piece), false},
    [SEEP_AREA_REGIONS] = {"regions", "QQII", sizeof(struct seep_image_region), false},
    [SEEP_AREA_MARKS] = {"marks", "B", 1, true},
    [SEEP_AREA_TOOL_MARKS] = {"marks of the tool", "B", 1, true},
    [SEEP_AREA_LOSSES] = {"losses", "Q", sizeof(uint64_t), true},
};

_Static_assert(sizeof(struct seep_image_thread) <= SEEP_IMAGE_ELEMENT_MOST, "the longest of them");

size_t seep_image_element_least(enum seep_area_kind kind) {
    return areas[kind].least_bytes;
}

// The next field of a shape; false at its end.
static bool next_field(const char **shape, size_t *ret_nr, size_t *ret_width) {
    size_t nr = 0;
    while (**shape >= '0' && **shape <= '9')
        nr = nr * 10 + (size_t)(*(*shape)++ - '0');
    switch (*(*shape)++) {
    case 'B':
        *ret_width = 1;
        break;
    case 'H':
        *ret_width = 2;
        break;
    case 'I':
        *ret_width = 4;
        break;
    case 'Q':
        *ret_width = 8;
        break;
    default:
        return false;
    }
    *ret_nr = nr ? nr : 1;
    return true;
}

static void reverse(unsigned char *bytes, size_t width) {
    for (size_t i = 0; i < width / 2; i++) {
        unsigned char byte = bytes[i];
        bytes[i] = bytes[width - 1 - i];
        bytes[width - 1 - i] = byte;
    }
}

// As much of the shape as lies within nr_bytes.
static void swap_by(const char *shape, void *bytes, size_t nr_bytes) {
    unsigned char *at = bytes;
    unsigned char *end = at + nr_bytes;
    size_t nr;
    size_t width;
    while (next_field(&shape, &nr, &width))
        for (size_t i = 0; i < nr && (size_t)(end - at) >= width; i++, at += width)
            reverse(at, width);
}

size_t seep_image_shape_bytes(enum seep_area_kind kind) {
    const char *shape = kind == SEEP_AREA_NR ? SHAPE_HEADER : areas[kind].shape;
    size_t sum = 0;
    size_t nr;
    size_t width;
    while (next_field(&shape, &nr, &width))
        sum += nr * width;
    return sum;
}

// ---- numbers and elements ----

uint32_t seep_image_u32(const struct seep_image_head *head, const void *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return head->is_swapped ? __builtin_bswap32(value) : value;
}

uint64_t seep_image_u64(const struct seep_image_head *head, const void *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return head->is_swapped ? __builtin_bswap64(value) : value;
}

void seep_image_element_decode(const struct seep_image_head *head, enum seep_area_kind kind,
                               const void *bytes, void *ret_element) {
    memcpy(ret_element, bytes, areas[kind].least_bytes);
    if (head->is_swapped)
        swap_by(areas[kind].shape, ret_element, areas[kind].least_bytes);
}

void seep_image_swap_counters(const struct seep_image_head *head, struct seep_image_counters *counters) {
    if (head->is_swapped)
        swap_by(SHAPE_COUNTERS, counters, sizeof(*counters));
}

void seep_image_swap_mark(const struct seep_image_head *head, struct seep_image_mark *mark) {
    if (head->is_swapped)
        swap_by(SHAPE_MARK, mark, sizeof(*mark));
}

void seep_image_swap_ring(const struct seep_image_head *head, struct seep_ring *ring) {
    if (head->is_swapped)
        swap_by(SHAPE_RING, ring, sizeof(*ring));
}

void seep_image_swap_words(const struct seep_image_head *head, uint64_t *words, size_t nr_words) {
    for (size_t i = 0; head->is_swapped && i < nr_words; i++)
        words[i] = __builtin_bswap64(words[i]);
}

// ---- the header ----

// What all versions have, at the same place.
struct beginning {
    uint64_t magic;
    uint32_t version;
    uint32_t header_size;
    uint8_t byte_order;
    uint8_t word_bytes;
    uint16_t elf_machine;
    uint32_t flags;
    uint64_t file_size;
};
#define SHAPE_BEGINNING "QIIBBHIQ"

static struct seep_error *check_size(const struct beginning *begin, const char *name) {
    size_t least = begin->version == 1 ? SEEP_IMAGE_HEADER_V1_LEAST : SEEP_IMAGE_HEADER_LEAST;
    if (begin->header_size >= least && begin->header_size <= SEEP_IMAGE_PAGE)
        return NULL;
    return seep_error_create(SEEP_E_FORMAT, "%s: header of %u bytes where version %u has %zu", name,
                             begin->header_size, begin->version, least);
}

static struct seep_error *check_beginning(const struct beginning *begin, const char *name, bool is_swapped) {
    if (begin->version < 1 || begin->version > SEEP_IMAGE_VERSION)
        return seep_error_hint(seep_error_create(SEEP_E_VERSION,
                                                 "%s: image version %u; this seep reads versions 1 to %u",
                                                 name, begin->version, SEEP_IMAGE_VERSION),
                               "use the seep that came with the libseep.so of that process");
    struct seep_error *err = check_size(begin, name);
    if (err)
        return err;
    bool is_big = is_swapped != SEEP_BIG_ENDIAN_HERE;
    if (begin->byte_order != (is_big ? 2 : 1))
        return seep_error_create(SEEP_E_FORMAT, "%s: says byte order %u, but its numbers are %s-endian", name,
                                 begin->byte_order, is_big ? "big" : "little");
    if (begin->word_bytes != 4 && begin->word_bytes != 8)
        return seep_error_create(SEEP_E_FORMAT, "%s: word size %u is neither 4 nor 8", name,
                                 begin->word_bytes);
    return NULL;
}

static struct seep_error *read_beginning(const void *bytes, const char *name, struct beginning *ret_begin,
                                         bool *ret_is_swapped) {
    memcpy(ret_begin, bytes, sizeof(*ret_begin));
    if (!ret_begin->magic)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: the image is still empty", name),
                               "the process is just starting; try again");
    *ret_is_swapped = ret_begin->magic == __builtin_bswap64(SEEP_IMAGE_MAGIC);
    if (!*ret_is_swapped && ret_begin->magic != SEEP_IMAGE_MAGIC)
        return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                                 "%s: not a heap image (it begins with 0x%016llx)", name,
                                                 (unsigned long long)ret_begin->magic),
                               "name a process that runs with libseep.so, or a file that seep made");
    if (*ret_is_swapped)
        swap_by(SHAPE_BEGINNING, ret_begin, sizeof(*ret_begin));
    return check_beginning(ret_begin, name, *ret_is_swapped);
}

// Version 1 has its areas in a fixed order without a word of their elements, and its losses in two lists.
static void decode_v1(const unsigned char *bytes, uint32_t header_size, struct seep_image_head *head) {
    struct seep_image_header_v1 old = {0};
    memcpy(&old, bytes, SEEP_MIN((size_t)header_size, sizeof(old)));
    if (head->is_swapped)
        swap_by(SHAPE_HEADER_V1, &old, sizeof(old));
    struct seep_image_header *header = &head->header;
    *header = (struct seep_image_header){.magic = old.magic,
                                         .version = old.version,
                                         .header_size = old.header_size,
                                         .byte_order = old.byte_order,
                                         .word_bytes = old.word_bytes,
                                         .elf_machine = old.elf_machine,
                                         .flags = old.flags,
                                         .file_size = old.file_size};
#define SAME(first, last)                                                                                    \
    memcpy((char *)header + offsetof(struct seep_image_header, first),                                       \
           (const char *)&old + offsetof(struct seep_image_header_v1, first),                                \
           SEEP_IMAGE_RUN_BYTES(struct seep_image_header_v1, first, last) + sizeof(old.last))
    SAME(pid, peak_slack_bytes);
    SAME(cut, nr_namespaces);
    SAME(space_bytes, ring_beat);
#undef SAME
    memcpy(header->lost, old.lost, sizeof(old.lost));
    memcpy(header->lost + SEEP_ARRAY_SIZE(old.lost), old.lost_more, sizeof(old.lost_more));
    for (uint32_t i = 0; i < SEEP_ARRAY_SIZE(old.areas); i++) {
        header->areas[i] = (struct seep_image_area){.off = old.areas[i].off,
                                                    .size = old.areas[i].size,
                                                    .used = old.areas[i].used,
                                                    .kind = i,
                                                    .element_bytes = (uint32_t)areas[i].least_bytes};
        head->used_at[i] = offsetof(struct seep_image_header_v1, areas) + i * sizeof(old.areas[0]) +
                           offsetof(struct seep_image_area_v1, used);
    }
    head->ring_beat_at = offsetof(struct seep_image_header_v1, ring_beat);
}

static struct seep_error *take_area(const unsigned char *bytes, uint64_t at, const char *name,
                                    struct seep_image_head *head) {
    struct seep_image_area area;
    memcpy(&area, bytes + at, sizeof(area));
    if (head->is_swapped)
        swap_by(SHAPE_AREA, &area, sizeof(area));
    if (area.kind >= SEEP_AREA_NR)
        return NULL; // of a newer writer
    if (head->used_at[area.kind])
        return seep_error_create(SEEP_E_FORMAT, "%s: two areas \"%s\"", name, areas[area.kind].name);
    size_t least = areas[area.kind].least_bytes;
    if (area.element_bytes < least ||
        area.element_bytes > (areas[area.kind].is_fixed ? least : SEEP_IMAGE_PAGE))
        return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" has elements of %u bytes, not %zu", name,
                                 areas[area.kind].name, area.element_bytes, least);
    head->header.areas[area.kind] = area;
    head->used_at[area.kind] = at + offsetof(struct seep_image_area, used);
    return NULL;
}

static struct seep_error *decode_v2(const unsigned char *bytes, uint32_t header_size, const char *name,
                                    struct seep_image_head *head) {
    struct seep_image_header *header = &head->header;
    size_t nr_bytes = SEEP_MIN((size_t)header_size, offsetof(struct seep_image_header, areas));
    memcpy(header, bytes, nr_bytes);
    if (head->is_swapped)
        swap_by(SHAPE_HEADER, header, nr_bytes);
    uint64_t end = (uint64_t)header->areas_off + (uint64_t)header->nr_areas * header->area_bytes;
    if (header->areas_off < header_size || header->areas_off % 8 || header->area_bytes % 8 ||
        header->area_bytes < sizeof(struct seep_image_area) || end > SEEP_IMAGE_PAGE)
        return seep_error_create(SEEP_E_FORMAT, "%s: table of %u areas of %u bytes at offset %u is not whole",
                                 name, header->nr_areas, header->area_bytes, header->areas_off);
    struct seep_error *err = NULL;
    for (uint32_t i = 0; i < header->nr_areas && !err; i++)
        err = take_area(bytes, header->areas_off + (uint64_t)i * header->area_bytes, name, head);
    head->ring_beat_at = offsetof(struct seep_image_header, ring_beat);
    if (nr_bytes >= offsetof(struct seep_image_header, control_done) + sizeof(uint64_t))
        head->control_at = offsetof(struct seep_image_header, control);
    return err;
}

// Whether the area lies in what describes the image.
static bool is_in_header(const struct seep_image_header *header, const struct seep_image_area *area) {
    if (header->version == 1)
        return area->off < SEEP_IMAGE_PAGE;
    uint64_t table_end = (uint64_t)header->areas_off + (uint64_t)header->nr_areas * header->area_bytes;
    return area->off < header->header_size ||
           (area->off < table_end && area->off + area->size > header->areas_off);
}

static struct seep_error *check_area(const struct seep_image_header *header, int kind, const char *name) {
    const struct seep_image_area *area = &header->areas[kind];
    const char *what = areas[kind].name;
    uint64_t end;
    if (__builtin_add_overflow(area->off, area->size, &end) || end > header->file_size)
        return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" ends beyond the file", name, what);
    if (is_in_header(header, area) || area->off % 8)
        return seep_error_create(SEEP_E_FORMAT,
                                 "%s: area \"%s\" at offset %llu lies in the header or is not aligned", name,
                                 what, (unsigned long long)area->off);
    uint64_t room = area->size / area->element_bytes;
    if (area->used > room)
        return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" counts %llu elements, but has room for %llu",
                                 name, what, (unsigned long long)area->used, (unsigned long long)room);
    if (kind != SEEP_AREA_STRINGS && area->used > UINT32_MAX)
        return seep_error_create(SEEP_E_FORMAT, "%s: area \"%s\" counts %llu elements", name, what,
                                 (unsigned long long)area->used);
    for (int other = 0; other < kind; other++) {
        const struct seep_image_area *before = &header->areas[other];
        if (area->size && before->size && area->off < before->off + before->size && before->off < end)
            return seep_error_create(SEEP_E_FORMAT, "%s: areas \"%s\" and \"%s\" overlap", name,
                                     areas[other].name, what);
    }
    return NULL;
}

static struct seep_error *check_heap_map(const struct seep_image_header *header, const char *name) {
    uint32_t coarse = SEEP_MAP_SUB_SHIFT(header->flags) + 1;
    if (header->granule_shift != coarse - 1 && header->granule_shift != coarse)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map of 2^%u bytes an entry", name,
                                 header->granule_shift);
    if (header->leaf_shift < header->granule_shift + 9 || header->leaf_shift > 40)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map of 2^%u bytes a leaf", name,
                                 header->leaf_shift);
    if (header->dir_bits + (uint64_t)header->leaf_shift > 64 || header->dir_bits > 32)
        return seep_error_create(SEEP_E_FORMAT, "%s: heap map with 2^%u leaves", name, header->dir_bits);
    if (header->areas[SEEP_AREA_DIR].size < seep_image_dir_bytes(header))
        return seep_error_create(SEEP_E_FORMAT, "%s: directory of %llu bytes is too small for 2^%u leaves",
                                 name, (unsigned long long)header->areas[SEEP_AREA_DIR].size,
                                 header->dir_bits);
    return NULL;
}

struct seep_error *seep_image_head_decode(const void *bytes, size_t nr_bytes, const char *name,
                                          struct seep_image_head *ret_head) {
    unsigned char page[SEEP_IMAGE_PAGE] = {0};
    struct beginning begin;
    struct seep_image_head head = {.is_swapped = false};
    if (nr_bytes < sizeof(begin))
        return seep_error_create(SEEP_E_FORMAT, "%s: not a heap image (only %zu bytes)", name, nr_bytes);
    memcpy(page, bytes, SEEP_MIN(nr_bytes, sizeof(page)));
    struct seep_error *err = read_beginning(page, name, &begin, &head.is_swapped);
    if (err)
        return err;
    if (nr_bytes < begin.header_size)
        return seep_error_create(SEEP_E_FORMAT, "%s: not a heap image (only %zu bytes)", name, nr_bytes);
    head.platform = (struct seep_platform){begin.elf_machine, begin.word_bytes, begin.byte_order == 2};
    if (begin.version == 1)
        decode_v1(page, begin.header_size, &head);
    else
        err = decode_v2(page, begin.header_size, name, &head);
    for (int kind = 0; kind < SEEP_AREA_NR && !err; kind++)
        if (head.used_at[kind])
            err = check_area(&head.header, kind, name);
        else
            head.header.areas[kind] = (struct seep_image_area){
                .kind = (uint32_t)kind, .element_bytes = (uint32_t)areas[kind].least_bytes};
    if (!err)
        err = check_heap_map(&head.header, name);
    if (!err)
        *ret_head = head;
    return err;
}

// The same of a memory file. The fd is borrowed.
static struct seep_error *read_head(int fd, const char *name, struct seep_image_head *ret_head) {
    unsigned char page[SEEP_IMAGE_PAGE];
    ssize_t got;
    do
        got = pread(fd, page, sizeof(page), 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return seep_error_system(errno, "%s: cannot read the image", name);
    return seep_image_head_decode(page, (size_t)got, name, ret_head);
}

bool seep_image_head_try(int fd, struct seep_image_head *ret_head) {
    if (fd < 0)
        return false;
    struct seep_error *err = read_head(fd, "image", ret_head);
    seep_error_destroy(err);
    return !err;
}

bool seep_image_elements_read(int fd, const struct seep_image_head *head, enum seep_area_kind kind,
                              uint64_t first, uint64_t nr, void *ret_elements) {
    const struct seep_image_area *area = &head->header.areas[kind];
    if (first > area->used || nr > area->used - first)
        return false;
    size_t bytes = areas[kind].least_bytes;
    bool good = true;
    unsigned char *to = ret_elements;
    uint64_t off = area->off + first * area->element_bytes;
    if (bytes == area->element_bytes)
        good = !nr || seep_read_at(fd, off, to, nr * bytes);
    for (uint64_t i = 0; good && bytes != area->element_bytes && i < nr; i++)
        good = seep_read_at(fd, off + i * area->element_bytes, to + i * bytes, bytes);
    for (uint64_t i = 0; good && head->is_swapped && i < nr; i++)
        swap_by(areas[kind].shape, to + i * bytes, bytes);
    return good;
}

// ---- the greeting ----

// All begin with the magic that says what they are.
void seep_image_swap_words_said(union seep_image_words *words) {
    static const struct {
        uint64_t magic;
        const char *shape;
    } kinds[] = {{SEEP_IMAGE_MAGIC, "QIIQ"}, {SEEP_PARKED_MAGIC, "QIIQ"}, {SEEP_NOTICE_MAGIC, "Q6I"}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(kinds); i++)
        if (words->hello.magic == __builtin_bswap64(kinds[i].magic)) {
            swap_by(kinds[i].shape, words, sizeof(*words));
            return;
        }
}

// ---- raw dumps ----

bool seep_image_is_raw(const void *bytes, size_t nr_bytes, bool *ret_is_swapped) {
    uint64_t magic = 0;
    if (nr_bytes >= sizeof(magic))
        memcpy(&magic, bytes, sizeof(magic));
    *ret_is_swapped = magic == __builtin_bswap64(SEEP_RAW_MAGIC);
    return *ret_is_swapped || magic == SEEP_RAW_MAGIC;
}

struct seep_error *seep_image_raw_begin(const void *bytes, size_t nr_bytes, const char *name,
                                        bool *ret_is_swapped) {
    struct seep_raw_header header;
    if (nr_bytes < sizeof(header))
        return seep_error_create(SEEP_E_FORMAT, "%s: not a raw dump (only %zu bytes)", name, nr_bytes);
    if (!seep_image_is_raw(bytes, nr_bytes, ret_is_swapped))
        return seep_error_create(SEEP_E_FORMAT, "%s: not a raw dump", name);
    memcpy(&header, bytes, sizeof(header));
    if (*ret_is_swapped)
        swap_by("QII", &header, sizeof(header));
    if (header.version != SEEP_RAW_VERSION)
        return seep_error_hint(seep_error_create(SEEP_E_VERSION,
                                                 "%s: raw dump of version %u; this seep reads version %u",
                                                 name, header.version, SEEP_RAW_VERSION),
                               "use the seep that came with the libseep.so that wrote it");
    return NULL;
}

struct seep_raw_record seep_image_raw_record(const void *bytes, bool is_swapped) {
    struct seep_raw_record record;
    memcpy(&record, bytes, sizeof(record));
    if (is_swapped)
        swap_by("QQ", &record, sizeof(record));
    return record;
}

struct seep_raw_events seep_image_raw_events(const void *bytes, bool is_swapped) {
    struct seep_raw_events events;
    memcpy(&events, bytes, sizeof(events));
    if (is_swapped)
        swap_by("IIQQ", &events, sizeof(events));
    return events;
}
