// SPDX-License-Identifier: BSD-2-Clause
// The container of traces: encodings, checksum, limits, and that writing is all or nothing. What the
// sections hold is tested from outside, by tests/golden/test_trace.py.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/session_file.h"
#include "session/session_store.h"
#include "file/trace.h"

static char folder[] = "/tmp/seep-test-trace-XXXXXX";
static char path[sizeof(folder) + 16];

static int set_up(void **state) {
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/x.seep", folder);
    return 0;
}

static int tear_down(void **state) {
    unlink(path);
    return rmdir(folder);
}

static size_t nr_files(void) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t nr = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        nr += entry->d_name[0] != '.' || entry->d_name[1] == 's';
    closedir(dir);
    return nr;
}

// Bit by bit, as the polynomial says.
static uint32_t plain_crc32(const unsigned char *bytes, size_t nr_bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < nr_bytes; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static void test_crc32(void **state) {
    // Source: the check value of CRC-32/ISO-HDLC.
    assert_int_equal(seep_trace_crc32(0, "123456789", 9), 0xcbf43926);
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37 + (i >> 3));
    for (size_t length = 0; length < sizeof(bytes); length++) {
        uint32_t crc = plain_crc32(bytes, length);
        assert_int_equal(seep_trace_crc32(0, bytes, length), crc);
        size_t half = length / 3;
        assert_int_equal(seep_trace_crc32(seep_trace_crc32(0, bytes, half), bytes + half, length - half),
                         crc);
    }
}

static void test_numbers_round_trip(void **state) {
    struct seep_put put = {0};
    for (int shift = 0; shift < 64; shift++)
        for (uint64_t near = 0; near < 3; near++) {
            seep_put_leb(&put, (UINT64_C(1) << shift) - 1 + near);
            seep_put_zigzag(&put, (int64_t)((UINT64_C(1) << shift) - 1 + near));
            seep_put_zigzag(&put, -(int64_t)((UINT64_C(1) << shift) / 2 + near));
        }
    seep_put_leb(&put, UINT64_MAX);
    assert_false(put.failed);
    struct seep_take take = {put.bytes, put.bytes + put.used, false};
    for (int shift = 0; shift < 64; shift++)
        for (uint64_t near = 0; near < 3; near++) {
            assert_true(seep_take_leb(&take) == (UINT64_C(1) << shift) - 1 + near);
            assert_true(seep_take_zigzag(&take) == (int64_t)((UINT64_C(1) << shift) - 1 + near));
            assert_true(seep_take_zigzag(&take) == -(int64_t)((UINT64_C(1) << shift) / 2 + near));
        }
    assert_true(seep_take_leb(&take) == UINT64_MAX);
    assert_false(take.failed);
    assert_true(take.at == take.end);
    seep_put_deinit(&put);
}

static void test_zigzag_is_small_near_0(void **state) {
    const int64_t values[] = {0, -1, 1, -2, 2};
    for (uint64_t i = 0; i < SEEP_ARRAY_SIZE(values); i++)
        assert_true(seep_zigzag(values[i]) == i);
    assert_true(seep_unzigzag(seep_zigzag(INT64_MIN)) == INT64_MIN);
    assert_true(seep_unzigzag(seep_zigzag(INT64_MAX)) == INT64_MAX);
}

static void test_bad_numbers_fail_for_good(void **state) {
    static const unsigned char cases[][12] = {
        {0x80},                                                       // cut (only one byte is given)
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, // 65 bits
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
    };
    static const size_t lengths[] = {1, 10, 11};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        struct seep_take take = {cases[i], cases[i] + lengths[i], false};
        assert_true(seep_take_leb(&take) == 0);
        assert_true(take.failed);
        assert_true(seep_take_leb(&take) == 0 && seep_take_left(&take) == 0);
        assert_null(seep_take_bytes(&take, 0));
    }
    // Ten bytes with a last one of 0 or 1 are the longest there are.
    static const unsigned char longest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    struct seep_take take = {longest, longest + sizeof(longest), false};
    assert_true(seep_take_leb(&take) == UINT64_MAX && !take.failed);
}

static void test_texts(void **state) {
    struct seep_put put = {0};
    seep_put_text(&put, NULL);
    seep_put_text(&put, "");
    seep_put_text(&put, "seep");
    seep_put_leb(&put, 4);
    seep_put_bytes(&put, "a\0b", 3);
    struct seep_take take = {put.bytes, put.bytes + put.used, false};
    size_t length = 9;
    assert_null(seep_take_text(&take, &length));
    assert_int_equal(length, 0);
    assert_non_null(seep_take_text(&take, &length));
    assert_int_equal(length, 0);
    const char *text = seep_take_text(&take, &length);
    assert_int_equal(length, 4);
    assert_memory_equal(text, "seep", 4);
    assert_false(take.failed);
    assert_null(seep_take_text(&take, &length)); // a zero inside
    assert_true(take.failed && length == 0);
    seep_put_deinit(&put);
}

static void read_back(unsigned char **ret_bytes, size_t *ret_size) {
    struct seep_error *error = seep_trace_slurp(path, ret_bytes, ret_size, &(struct seep_trace_passed){0});
    assert_null(error);
}

static void test_sections_round_trip(void **state) {
    static const size_t sizes[] = {0, 1, 100, 70000, 5000000};
    struct seep_trace_writer *writer;
    unsigned char *raw = calloc(1, 5000000);
    assert_non_null(raw);
    for (size_t i = 0; i < 3000000; i++) // half noise, half zeros
        raw[i] = (unsigned char)(seep_trace_crc32((uint32_t)i, "x", 1) >> 9);
    assert_null(seep_trace_writer_create(path, &writer));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sizes); i++)
        assert_null(
            seep_trace_writer_section(writer, SEEP_TRACE_NODES, 1, raw + 5000000 - sizes[i], sizes[i]));
    assert_null(seep_trace_writer_commit(writer, true));
    seep_trace_writer_destroy(writer);

    unsigned char *bytes;
    size_t size;
    read_back(&bytes, &size);
    struct seep_trace_reader reader;
    assert_null(seep_trace_reader_init(bytes, size, "x", &reader));
    struct seep_trace_section section;
    bool more;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sizes); i++) {
        unsigned char *unpacked;
        assert_null(seep_trace_reader_next(&reader, &section, &more));
        assert_true(more && section.type == SEEP_TRACE_NODES && section.raw_bytes == sizes[i]);
        // The promise on which readers build their memory bound, also for what compresses very well.
        assert_true(section.raw_bytes <= section.stored_bytes * SEEP_TRACE_RATIO_MAX);
        assert_null(seep_trace_section_unpack(&reader, &section, &unpacked));
        assert_memory_equal(unpacked, raw + 5000000 - sizes[i], sizes[i]);
        free(unpacked);
    }
    assert_null(seep_trace_reader_next(&reader, &section, &more));
    assert_true(!more && reader.ended && !reader.cut);
    free(bytes);
    free(raw);
}

// The writer keeps the latest section of each type, packed.
static void test_equal_and_other_sections_round_trip(void **state) {
    enum { NR_BYTES = 5000, LARGE_BYTES = 300000 };
    static unsigned char first[LARGE_BYTES], other[LARGE_BYTES];
    static const struct {
        uint32_t type;
        const unsigned char *raw;
        size_t raw_bytes;
    } sections[] = {
        {SEEP_TRACE_NODES, first, NR_BYTES},
        {SEEP_TRACE_NODES, first, NR_BYTES},
        {SEEP_TRACE_NODES, other, NR_BYTES},
        {SEEP_TRACE_SITES, first, NR_BYTES},
        {SEEP_TRACE_NODES, other, NR_BYTES},
        {SEEP_TRACE_NODES, first, NR_BYTES},
        {SEEP_TRACE_NODES, first, NR_BYTES / 2},
        {SEEP_TRACE_NODES, first, LARGE_BYTES},
        {SEEP_TRACE_NODES, first, LARGE_BYTES},
        {SEEP_TRACE_NODES, first, 0},
        {SEEP_TRACE_NODES, first, 0},
    };
    (void)state;
    for (size_t i = 0; i < LARGE_BYTES; i++)
        first[i] = other[i] = (unsigned char)(i / 7);
    other[NR_BYTES - 1] ^= 1;
    struct seep_trace_writer *writer;
    assert_null(seep_trace_writer_create(path, &writer));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sections); i++)
        assert_null(
            seep_trace_writer_section(writer, sections[i].type, 1, sections[i].raw, sections[i].raw_bytes));
    assert_null(seep_trace_writer_commit(writer, true));
    seep_trace_writer_destroy(writer);

    unsigned char *bytes;
    size_t size;
    read_back(&bytes, &size);
    struct seep_trace_reader reader;
    assert_null(seep_trace_reader_init(bytes, size, "x", &reader));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sections); i++) {
        struct seep_trace_section section;
        bool more;
        unsigned char *unpacked;
        assert_null(seep_trace_reader_next(&reader, &section, &more));
        assert_true(more && section.type == sections[i].type && section.raw_bytes == sections[i].raw_bytes);
        assert_null(seep_trace_section_unpack(&reader, &section, &unpacked));
        assert_memory_equal(unpacked, sections[i].raw, sections[i].raw_bytes);
        free(unpacked);
    }
    free(bytes);
}

static void expect(struct seep_error *error, enum seep_error_code code, const char *part) {
    assert_non_null(error);
    assert_int_equal(error->code, code);
    assert_non_null(strstr(error->message, part));
    seep_error_destroy(error);
}

static void test_too_large_a_section_is_refused(void **state) {
    struct seep_trace_writer *writer;
    assert_null(seep_trace_writer_create(path, &writer));
    expect(seep_trace_writer_section(writer, SEEP_TRACE_PROCESS, 1, path, SEEP_TRACE_RAW_MAX + 1),
           SEEP_E_UNSUPPORTED, "too large");
    seep_trace_writer_destroy(writer);
}

static void test_without_commit_nothing_changes(void **state) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("old", file);
    fclose(file);
    struct seep_trace_writer *writer;
    assert_null(seep_trace_writer_create(path, &writer));
    assert_in_range(nr_files(), 1, 2); // two where the file system makes no files without a name
    assert_null(seep_trace_writer_section(writer, SEEP_TRACE_SESSION, 1, "\1", 1));
    seep_trace_writer_destroy(writer);
    assert_int_equal(nr_files(), 1);
    unsigned char *bytes;
    size_t size;
    read_back(&bytes, &size);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "old", 3);
    free(bytes);
}

// A profile that the loader would refuse is not written, and the file that was there stays.
static void test_a_profile_out_of_range_is_not_saved(void **state) {
    struct seep_session *session;
    struct seep_profile *profile;
    assert_null(seep_session_create(&session));
    expect(seep_session_save(session, path), SEEP_E_NOT_FOUND, "no process");
    assert_null(seep_profile_create(&profile));
    assert_null(seep_session_add(session, profile));
    struct seep_block blocks[2] = {{.address = 32, .thread = UINT32_MAX},
                                   {.address = 16, .thread = UINT32_MAX}};
    profile->blocks = blocks;
    profile->nr_blocks = 2;
    expect(seep_session_save(session, path), SEEP_E_FORMAT, "block 1");
    blocks[1].address = 48;
    blocks[0].site = 1;
    expect(seep_session_save(session, path), SEEP_E_FORMAT, "block 0");
    blocks[0].site = 0;
    blocks[0].thread = 0;
    expect(seep_session_save(session, path), SEEP_E_FORMAT, "block 0");
    struct seep_node nodes[2] = {{0}, {.parent = 1}};
    profile->nr_blocks = 0;
    profile->nodes = nodes;
    profile->nr_nodes = 2;
    expect(seep_session_save(session, path), SEEP_E_FORMAT, "node 1");
    nodes[1].parent = 0;
    profile->sites[0].node = 0;
    assert_null(seep_session_save(session, path));
    struct seep_session *loaded = NULL;
    assert_null(seep_session_load(path, &loaded));
    assert_int_equal(loaded->profiles[0]->nr_nodes, 2);
    seep_session_destroy(loaded);
    seep_session_destroy(session);
}

// Segments of a module may have a gap between them, where the library's private memory can lie.
static void test_what_the_library_gave_lies_in_the_library(void **state) {
    struct seep_session *session = NULL;
    struct seep_profile *profile;
    assert_null(seep_session_create(&session));
    assert_null(seep_profile_create(&profile));
    assert_null(seep_session_add(session, profile));
    struct seep_module modules[] = {
        {.path = ""},
        {.path = "/lib/ld-linux-aarch64.so.1", .start_rt = 0x10000, .end_rt = 0x50000, .unloaded_ns = -1},
        {.path = "/usr/lib/seep/libseep.so", .start_rt = 0x50000, .end_rt = 0x90000, .unloaded_ns = -1}};
    const struct seep_image_range own[] = {{0x200000, 0x1000}, {0x20000, 0x10000}, {0x80000, 0x8000}};
    profile->modules = modules;
    profile->nr_modules = SEEP_ARRAY_SIZE(modules);
    profile->hints.own = own;
    profile->hints.nr_own = SEEP_ARRAY_SIZE(own);
    assert_null(seep_session_save(session, path));
    struct seep_session *loaded = NULL;
    assert_null(seep_session_load(path, &loaded));
    assert_int_equal(loaded->profiles[0]->hints.nr_own, 1);
    assert_true(loaded->profiles[0]->hints.own[0].start == 0x80000);
    seep_session_destroy(loaded);
    profile->hints.nr_own = 2;
    assert_null(seep_session_save(session, path));
    assert_null(seep_session_load(path, &loaded));
    assert_int_equal(loaded->profiles[0]->hints.nr_own, 0);
    seep_session_destroy(loaded);
    seep_session_destroy(session);
}

static void test_load_bytes_keeps_nothing(void **state) {
    unsigned char *bytes;
    size_t size;
    struct seep_session *session;
    struct seep_profile *profile;
    assert_null(seep_session_create(&session));
    assert_null(seep_profile_create(&profile));
    assert_null(seep_session_add(session, profile));
    profile->process.exe = "/bin/true";
    assert_null(seep_session_save(session, path));
    seep_session_destroy(session);
    read_back(&bytes, &size);
    session = NULL;
    assert_null(seep_session_load_bytes(bytes, size, "x", &session));
    memset(bytes, 0xff, size);
    free(bytes);
    assert_string_equal(session->profiles[0]->process.exe, "/bin/true");
    seep_session_destroy(session);
    // On failure the output is left alone.
    session = (struct seep_session *)path;
    expect(seep_session_load_bytes("junk", 4, "x", &session), SEEP_E_FORMAT, "x: ");
    assert_ptr_equal(session, path);
}

// A flight recorder takes back section after section for days. All are passed still, one after the other.
static void test_what_was_taken_back_takes_no_room(void **state) {
    enum { NR = 1000, KEPT = 4, OTHERS_EVERY = 100, MOST_BYTES = 1 << 20 };
    static unsigned char bytes[8192];
    (void)state;
    struct seep_trace_writer *writer;
    struct seep_trace_span spans[KEPT];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_null(seep_trace_writer_create_fd(fd, "memory", &writer));
    for (int i = 0; i < NR; i++) {
        if (i >= KEPT)
            assert_null(seep_trace_writer_forget(writer, &spans[i % KEPT]));
        if (i % OTHERS_EVERY == 0)
            assert_null(seep_trace_writer_plain(writer, SEEP_TRACE_STACKS, 1, bytes, 10));
        seep_trace_span_begin(writer, &spans[i % KEPT]);
        assert_null(seep_trace_writer_plain(writer, SEEP_TRACE_EVENTS, 1, bytes, sizeof(bytes)));
        seep_trace_span_end(writer, &spans[i % KEPT]);
    }
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_blocks * 512 < MOST_BYTES);
    int nr_events = 0, nr_others = 0;
    off_t at = SEEP_TRACE_HEADER_BYTES;
    for (unsigned char header[SEEP_TRACE_SECTION_BYTES]; at < status.st_size;) {
        assert_int_equal(pread(fd, header, sizeof(header), at), sizeof(header));
        assert_int_equal(seep_trace_crc32(0, header, 24), seep_fetch32(header + 24));
        nr_events += seep_fetch32(header) == SEEP_TRACE_EVENTS;
        nr_others += seep_fetch32(header) == SEEP_TRACE_STACKS;
        at += (off_t)(sizeof(header) + seep_fetch64(header + 8));
    }
    assert_int_equal(at, status.st_size);
    assert_int_equal(nr_events, KEPT);
    assert_int_equal(nr_others, NR / OTHERS_EVERY);
    seep_trace_writer_destroy(writer);
    close(fd);
}

// A recording may be larger than the memory: what stands before its processes is not read with them.
static void test_of_a_recording_only_what_follows_its_events_is_read(void **state) {
    static const uint32_t types[] = {SEEP_TRACE_STACKS, SEEP_TRACE_EVENTS, SEEP_TRACE_EVENT_SUMS,
                                     SEEP_TRACE_RESIDENCE, SEEP_TRACE_EVENT_INDEX};
    static unsigned char events[1 << 16];
    (void)state;
    struct seep_session *session, *loaded = NULL;
    struct seep_profile *profile;
    struct seep_trace_writer *writer;
    assert_null(seep_session_create(&session));
    assert_null(seep_profile_create(&profile));
    assert_null(seep_session_add(session, profile));
    profile->process.exe = "/bin/true";
    assert_null(seep_trace_writer_create(path, &writer));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(types); i++)
        assert_null(seep_trace_writer_plain(writer, types[i], 1, events, sizeof(events)));
    assert_null(seep_session_save_behind(session, path, writer));
    seep_trace_writer_destroy(writer);
    seep_session_destroy(session);

    unsigned char *bytes;
    size_t size;
    struct seep_trace_passed passed;
    assert_null(seep_trace_slurp(path, &bytes, &size, &passed));
    free(bytes);
    assert_int_equal(passed.nr_sections, SEEP_ARRAY_SIZE(types));
    assert_int_equal(passed.bytes, SEEP_ARRAY_SIZE(types) * (SEEP_TRACE_SECTION_BYTES + sizeof(events)));
    assert_true(size < 4096);
    // The end section and the index count what was passed over.
    assert_null(seep_session_load(path, &loaded));
    assert_string_equal(loaded->profiles[0]->process.exe, "/bin/true");
    assert_int_equal(loaded->profiles[0]->health.nr_notes, 0);
    seep_session_destroy(loaded);
    // Cut within the events: nothing is passed over that is not whole.
    assert_int_equal(truncate(path, 100000), 0);
    expect(seep_session_load(path, &loaded), SEEP_E_FORMAT, "cut at offset 65600, ");
}

// ---- Many processes: put away, copied into the trace, and read one by one.

static struct seep_profile *add_process(struct seep_session *session, uint32_t pid, const char *exe,
                                        uint64_t allocations) {
    static const char *const args[] = {"first", "second"};
    struct seep_profile *profile;
    assert_null(seep_profile_create(&profile));
    assert_null(seep_session_add(session, profile));
    profile->process.pid = pid;
    profile->process.exe = exe;
    profile->process.args = args;
    profile->process.nr_args = profile->process.nr_args_all = pid % 2 ? 2 : 0;
    profile->sites = seep_arena_alloc(&profile->arena, 2, sizeof(*profile->sites));
    assert_non_null(profile->sites);
    profile->nr_sites = 2;
    profile->sites[1] = (struct seep_site){.via = SEEP_VIA_MALLOC, .counters = {.allocations = allocations}};
    seep_profile_derive(profile);
    return profile;
}

static struct seep_session *three_processes(void) {
    struct seep_session *session;
    assert_null(seep_session_create(&session));
    add_process(session, 10, "/bin/a", 1);
    add_process(session, 11, "/bin/b", 2);
    add_process(session, 12, "/bin/b", 3);
    return session;
}

static void test_what_was_put_away_is_saved_and_comes_back(void **state) {
    (void)state;
    struct seep_session *session = three_processes();
    struct seep_store *store;
    assert_null(seep_store_create(&store));
    assert_null(seep_store_put(store, &session->profiles[2]));
    assert_null(seep_store_put(store, &session->profiles[1]));
    assert_non_null(session->profiles[1]->stored);
    assert_null(session->profiles[0]->stored);
    assert_int_equal(session->profiles[1]->nr_sites, 1); // only what it came to is still there
    assert_int_equal(session->profiles[1]->totals.allocations, 2);
    assert_string_equal(session->profiles[1]->process.args[1], "second");
    assert_null(seep_session_save(session, path));
    assert_null(seep_store_complete(session));
    for (uint64_t i = 0; i < 3; i++) {
        assert_null(session->profiles[i]->stored);
        assert_int_equal(session->profiles[i]->sites[1].counters.allocations, i + 1);
    }
    seep_session_destroy(session);
    assert_null(seep_session_load(path, &session));
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(session->profiles[i]->sites[1].counters.allocations, i + 1);
    seep_session_destroy(session);
    seep_store_destroy(store);
}

static void test_without_a_place_for_it_nothing_is_put_away(void **state) {
    (void)state;
    struct seep_session *session = three_processes();
    struct seep_store *store;
    setenv("TMPDIR", "/nonexistent", 1);
    assert_null(seep_store_create(&store));
    assert_null(seep_store_put(store, &session->profiles[1]));
    unsetenv("TMPDIR");
    assert_null(session->profiles[1]->stored);
    assert_int_equal(session->profiles[1]->nr_sites, 2);
    seep_session_destroy(session);
    seep_store_destroy(store);
}

// Breaks every group but that of the process at `keep`.
static void break_others(size_t keep) {
    FILE *file = fopen(path, "r+");
    unsigned char bytes[4096];
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    size_t nr = 0;
    for (size_t at = SEEP_TRACE_HEADER_BYTES; at < size;) {
        uint32_t type = seep_fetch32(bytes + at);
        nr += type == SEEP_TRACE_PROCESS;
        if (nr && nr - 1 != keep && type != SEEP_TRACE_INDEX && type != SEEP_TRACE_END) {
            assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
            assert_int_equal(fwrite("????", 1, 4, file), 4);
        }
        at += SEEP_TRACE_SECTION_BYTES + (size_t)seep_fetch64(bytes + at + 8);
    }
    assert_int_equal(nr, 3);
    fclose(file);
}

static void test_one_of_many_is_read_without_the_others(void **state) {
    (void)state;
    struct seep_session *session = three_processes();
    regex_t program;
    assert_int_equal(regcomp(&program, "/b$|first", REG_EXTENDED), 0);
    assert_null(seep_session_save(session, path));
    seep_session_destroy(session);
    assert_null(seep_session_load_some(path, 0, &program, &session));
    assert_int_equal(session->nr_profiles, 2);
    assert_int_equal(session->profiles[0]->process.pid, 11);
    seep_session_destroy(session);
    expect(seep_session_load_some(path, 10, &program, &session), SEEP_E_NOT_FOUND, "none of the 3 processes");
    break_others(1);
    assert_null(seep_session_load_some(path, 11, NULL, &session));
    assert_int_equal(session->nr_profiles, 1);
    assert_int_equal(session->profiles[0]->sites[1].counters.allocations, 2);
    seep_session_destroy(session);
    expect(seep_session_load_some(path, 12, NULL, &session), SEEP_E_FORMAT, "section header");
    regfree(&program);
}

static void *few(struct seep_profile *profile, size_t nr, size_t element_bytes) {
    void *array = seep_arena_alloc(&profile->arena, nr, element_bytes);
    assert_non_null(array);
    return array;
}

// A process with a stack, a thread's figures, the moment of its peak and a chain from thread `tid`.
static void give_parts(struct seep_profile *profile, uint64_t frame_off, uint32_t tid) {
    profile->nodes = few(profile, 2, sizeof(*profile->nodes));
    profile->nr_nodes = 2;
    profile->nodes[1].offset = frame_off;
    profile->sites[1].node = 1;
    profile->threads = few(profile, 1, sizeof(*profile->threads));
    profile->nr_threads = 1;
    profile->thread_sites = few(profile, 1, sizeof(*profile->thread_sites));
    profile->nr_thread_sites = 1;
    profile->thread_sites[0] = (struct seep_thread_site){.site = 1, .counters.size_min = 8};
    profile->at_peak = (struct seep_mark){.name = "peak",
                                          .counted = true,
                                          .sites = few(profile, 1, sizeof(struct seep_mark_site)),
                                          .nr_sites = 1};
    profile->at_peak.sites[0] = (struct seep_mark_site){.site = 1, .allocations = 1};
    struct seep_chain *chain = few(profile, 1, sizeof(*chain));
    *chain = (struct seep_chain){few(profile, 2, sizeof(*chain->links)), 2};
    struct seep_link_frame *frame = few(profile, 1, sizeof(*frame));
    profile->nr_modules = 2;
    profile->modules = few(profile, 2, sizeof(*profile->modules));
    profile->modules[0].path = profile->modules[1].path = "/bin/a";
    *frame = (struct seep_link_frame){.module = 1, .address = 0x1234, .reg = SEEP_LINK_NO_REGISTER};
    chain->links[0] = (struct seep_link){.kind = SEEP_LINK_STACK, .id = tid, .nr_frames = 1, .frames = frame};
    chain->links[1] = (struct seep_link){.kind = SEEP_LINK_BLOCK, .id = 1, .at = 64, .off = 8, .arrival = 17};
    profile->leaks.known = true;
    profile->sites[1].held = chain;
}

static void test_what_processes_have_in_common_is_there_once(void **state) {
    (void)state;
    struct seep_session *session = three_processes();
    give_parts(session->profiles[0], 0x100, 7);
    give_parts(session->profiles[1], 0x100, 7);
    give_parts(session->profiles[2], 0x200, 8);
    session->profiles[1]->thread_sites[0].slab_bytes = 96;
    assert_null(seep_session_save(session, path));
    seep_session_destroy(session);
    assert_null(seep_session_load(path, &session));
    struct seep_profile *a = session->profiles[0], *b = session->profiles[1], *c = session->profiles[2];
    assert_non_null(a->arena.from); // not a malloc for each piece of each process
    assert_ptr_equal(a->arena.from, c->arena.from);
    assert_ptr_equal(a->nodes, b->nodes);
    assert_ptr_equal(a->at_peak.sites, b->at_peak.sites);
    assert_ptr_equal(a->sites[1].held, b->sites[1].held);
    assert_ptr_not_equal(a->nodes, c->nodes);
    assert_ptr_not_equal(a->sites[1].held, c->sites[1].held);
    assert_int_equal(b->nodes[1].offset, 0x100);
    assert_int_equal(c->nodes[1].offset, 0x200);
    assert_int_equal(b->at_peak.sites[0].allocations, 1);
    // What a process has beside what is common is its own.
    assert_ptr_equal(a->thread_sites, c->thread_sites);
    assert_ptr_not_equal(a->thread_sites, b->thread_sites);
    assert_int_equal(a->thread_sites[0].slab_bytes, 0);
    assert_int_equal(b->thread_sites[0].slab_bytes, 96);
    assert_int_equal(b->thread_sites[0].counters.size_min, 8);
    // It lasts as long as one of them.
    seep_profile_destroy(a);
    seep_profile_destroy(b);
    session->profiles[0] = c;
    session->nr_profiles = 1;
    const struct seep_chain *chain = c->sites[1].held;
    assert_int_equal(chain->nr_links, 2);
    assert_int_equal(chain->links[0].id, 8);
    assert_int_equal(chain->links[0].frames[0].address, 0x1234);
    assert_int_equal(chain->links[1].arrival, 17);
    assert_int_equal(c->thread_sites[0].counters.size_min, 8);
    seep_session_destroy(session);
}

// Before the stacks of each process but the first a part of them without elements. No index: it has other places.
static void write_with_empty_parts(const unsigned char *bytes, size_t size) {
    static const unsigned char nothing[] = {1, 0}; // the first element that could follow, and how many do
    struct seep_trace_writer *writer;
    struct seep_trace_reader reader;
    struct seep_trace_section section;
    unsigned char *raw;
    size_t nr_processes = 0;
    assert_null(seep_trace_reader_init(bytes, size, "x", &reader));
    assert_null(seep_trace_writer_create(path, &writer));
    for (bool more; !seep_trace_reader_next(&reader, &section, &more) && more;) {
        nr_processes += section.type == SEEP_TRACE_PROCESS;
        if (section.type == SEEP_TRACE_INDEX)
            continue;
        if (section.type == SEEP_TRACE_NODES && nr_processes > 1)
            assert_null(
                seep_trace_writer_section(writer, section.type, section.version, nothing, sizeof(nothing)));
        assert_null(seep_trace_section_unpack(&reader, &section, &raw));
        assert_null(seep_trace_writer_section(writer, section.type, section.version, raw, section.raw_bytes));
        free(raw);
    }
    assert_null(seep_trace_writer_commit(writer, true));
    seep_trace_writer_destroy(writer);
}

static void test_what_is_in_parts_is_not_of_another_process(void **state) {
    (void)state;
    struct seep_session *session = three_processes();
    for (size_t i = 0; i < 3; i++)
        give_parts(session->profiles[i], 0x100, 7);
    assert_null(seep_session_save(session, path));
    seep_session_destroy(session);
    unsigned char *bytes;
    size_t size;
    read_back(&bytes, &size);
    write_with_empty_parts(bytes, size);
    free(bytes);
    assert_null(seep_session_load(path, &session));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(session->profiles[i]->nr_nodes, 2);
        assert_int_equal(session->profiles[i]->nodes[1].offset, 0x100);
    }
    seep_session_destroy(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_and_other_sections_round_trip),
        cmocka_unit_test(test_what_is_in_parts_is_not_of_another_process),
        cmocka_unit_test(test_what_processes_have_in_common_is_there_once),
        cmocka_unit_test(test_what_was_put_away_is_saved_and_comes_back),
        cmocka_unit_test(test_without_a_place_for_it_nothing_is_put_away),
        cmocka_unit_test(test_one_of_many_is_read_without_the_others),
        cmocka_unit_test(test_crc32),
        cmocka_unit_test(test_numbers_round_trip),
        cmocka_unit_test(test_zigzag_is_small_near_0),
        cmocka_unit_test(test_bad_numbers_fail_for_good),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_sections_round_trip),
        cmocka_unit_test(test_too_large_a_section_is_refused),
        cmocka_unit_test(test_without_commit_nothing_changes),
        cmocka_unit_test(test_a_profile_out_of_range_is_not_saved),
        cmocka_unit_test(test_what_the_library_gave_lies_in_the_library),
        cmocka_unit_test(test_load_bytes_keeps_nothing),
        cmocka_unit_test(test_what_was_taken_back_takes_no_room),
        cmocka_unit_test(test_of_a_recording_only_what_follows_its_events_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
