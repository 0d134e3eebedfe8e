// SPDX-License-Identifier: BSD-2-Clause
// Which pages of this very process are in memory, against mincore() and against what was touched; with
// PAGEMAP_SCAN, where this kernel has it, and without.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/resident.h"

#define PAGE      4096ul
#define NR_PAGES  20000ul
#define TEBIBYTES (8ul << 40)

static unsigned long next_random(unsigned long *state) {
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

static char *reserve(size_t bytes) {
    char *start =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(start, MAP_FAILED);
    // A huge page would make neighbours present that were not touched.
    assert_int_equal(madvise(start, bytes, MADV_NOHUGEPAGE), 0);
    return start;
}

static struct seep_resident *open_self(bool scans) {
    if (getpagesize() != (int)PAGE)
        skip();
    struct seep_resident *resident = NULL;
    assert_null(seep_resident_open(getpid(), &resident));
    assert_true(resident->pagemap_fd >= 0);
    resident->scans = scans;
    return resident;
}

// Runs of pages of random lengths; ranges of random places, forward and back.
static void check_random(bool scans) {
    char *start = reserve(NR_PAGES * PAGE);
    static unsigned char touched[NR_PAGES];
    unsigned long state = 1;
    for (unsigned long page = 0; page < NR_PAGES;) {
        unsigned long run = 1 + next_random(&state) % 5;
        bool touches = next_random(&state) & 1;
        for (; run-- && page < NR_PAGES; page++) {
            touched[page] = touches;
            if (touches)
                start[page * PAGE] = 1;
        }
    }
    static unsigned char kernel[NR_PAGES];
    assert_int_equal(mincore(start, NR_PAGES * PAGE, kernel), 0);
    for (unsigned long page = 0; page < NR_PAGES; page++)
        assert_int_equal(kernel[page] & 1, touched[page]);

    struct seep_resident *resident = open_self(scans);
    uint64_t base = (uint64_t)(uintptr_t)start;
    for (int round = 0; round < 3000; round++) {
        uint64_t from = next_random(&state) % (NR_PAGES * PAGE);
        uint64_t bytes = next_random(&state) % (round % 10 ? 3 * PAGE : NR_PAGES * PAGE - from + 1);
        uint64_t to = SEEP_MIN(from + bytes, NR_PAGES * PAGE);
        uint64_t expected = 0;
        for (uint64_t page = from / PAGE; page * PAGE < to; page++)
            if (touched[page])
                expected += SEEP_MIN(to, (page + 1) * PAGE) - SEEP_MAX(from, page * PAGE);
        assert_int_equal(seep_resident_bytes(resident, base + from, base + to), expected);
    }
    seep_resident_close(resident);
    munmap(start, NR_PAGES * PAGE);
}

static void random_ranges(void **state) {
    (void)state;
    check_random(true);
}

static void random_ranges_by_entries(void **state) {
    (void)state;
    check_random(false);
}

// What is reserved and not touched costs no reads.
static void terabytes_cost_nothing(void **state) {
    (void)state;
    char *start = reserve(TEBIBYTES);
    start[0] = start[TEBIBYTES / 2] = start[TEBIBYTES - 1] = 1;
    struct seep_resident *resident = open_self(true);
    uint64_t base = (uint64_t)(uintptr_t)start;
    assert_int_equal(seep_resident_bytes(resident, base, base + PAGE), PAGE);
    if (!resident->scans) {
        print_message("skipped: this kernel has no PAGEMAP_SCAN\n");
        seep_resident_close(resident);
        munmap(start, TEBIBYTES);
        skip();
    }
    assert_int_equal(seep_resident_bytes(resident, base, base + TEBIBYTES), 3 * PAGE);
    assert_int_equal(seep_resident_bytes(resident, base + PAGE, base + TEBIBYTES - PAGE), PAGE);
    assert_true(resident->nr_reads < 20);
    seep_resident_close(resident);
    munmap(start, TEBIBYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_ranges),
                                       cmocka_unit_test(random_ranges_by_entries),
                                       cmocka_unit_test(terabytes_cost_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
