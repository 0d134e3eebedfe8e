// SPDX-License-Identifier: BSD-2-Clause
// PAGEMAP_SCAN, see page_scan.h. The headers of older kernels do not have it.
#include <sys/ioctl.h>

#include "base/page_scan.h"

struct request {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end; // out
    uint64_t regions;
    uint64_t nr_regions;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};
#define SCAN_IOCTL _IOWR('f', 16, struct request)

int seep_page_scan(int pagemap_fd, uint64_t start, uint64_t end, uint64_t categories,
                   struct seep_page_region *ret_regions, size_t nr_regions, uint64_t *ret_walk_end) {
    struct request request = {.size = sizeof(request),
                              .start = start,
                              .end = end,
                              .regions = (uint64_t)(uintptr_t)ret_regions,
                              .nr_regions = nr_regions,
                              .category_anyof_mask = categories,
                              .return_mask = categories};
    int nr = pagemap_fd < 0 ? -1 : ioctl(pagemap_fd, SCAN_IOCTL, &request);
    if (nr < 0 || (size_t)nr > nr_regions)
        return -1;
    *ret_walk_end = request.walk_end;
    return nr;
}
