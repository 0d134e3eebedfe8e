// SPDX-License-Identifier: BSD-2-Clause
// The areas of the image, see areas.h.
#include "preload/areas.h"
#include "preload/heap_map.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

// Where a process has 2 to 4 GiB of addresses, the image is to have a part of them.
#if SEEP_ARCH_WORD == 8
#define OF_WORD(wide, narrow) (wide)
#else
#define OF_WORD(wide, narrow) (narrow)
#endif

#define FILLED  .is_filled = true
#define SPARSE  .is_filled = false
#define SHRINKS .shrinks = true
#define COPIED  .is_inherited = true // for a child of fork
// Steps: small enough not to matter to mlockall, large enough to be rare.
#define OF(type, nr, step, ...)                                                                              \
    {                                                                                                        \
        .most_bytes = (uint64_t)(nr) * sizeof(type), .step_bytes = (step), .element_bytes = sizeof(type),    \
        __VA_ARGS__                                                                                          \
    }

const struct seep_area_plan seep_areas[SEEP_AREA_PAGED_NR] = {
    [SEEP_AREA_STRINGS] = OF(char, OF_WORD(16, 4) * MIB, 64 * KIB, FILLED, COPIED),
    [SEEP_AREA_MODULES] =
        OF(struct seep_image_module, OF_WORD(UINT64_C(65536), 4096), 64 * KIB, FILLED, COPIED),
    [SEEP_AREA_NODES] =
        OF(struct seep_image_node, UINT64_C(1) << OF_WORD(25, 21), MIB, FILLED, SHRINKS, COPIED),
    [SEEP_AREA_SITES] =
        OF(struct seep_image_site, OF_WORD(SEEP_MAX_SITES, 1u << 18), 256 * KIB, FILLED, SHRINKS, COPIED),
    [SEEP_AREA_THREADS] =
        OF(struct seep_image_thread, OF_WORD(UINT64_C(65536), 8192), 64 * KIB, FILLED, SHRINKS),
    [SEEP_AREA_ODD] = OF(struct seep_image_odd, SEEP_ODD_SLOTS, 2 * MIB, SPARSE),
    [SEEP_AREA_DIR] = OF(uint32_t, UINT64_C(1) << (SEEP_ADDRESS_BITS - SEEP_LEAF_SHIFT + SEEP_PLANE_SHIFT),
                         256 * KIB, SPARSE),
    [SEEP_AREA_PAGES] =
        OF(char[SEEP_IMAGE_PAGE], OF_WORD(256 * GIB, 512 * MIB) / SEEP_IMAGE_PAGE, MIB, FILLED),
    [SEEP_AREA_MAPPINGS] = OF(struct seep_image_mapping, SEEP_MAPPING_SLOTS, 64 * KIB, SPARSE, COPIED),
    [SEEP_AREA_MAP_SITES] = OF(struct seep_image_mapping_site, SEEP_MAP_SITES, 64 * KIB, SPARSE, COPIED),
    [SEEP_AREA_MISUSES] = OF(struct seep_image_misuse, SEEP_MISUSE_SLOTS, 192 * KIB, SPARSE),
    [SEEP_AREA_CUSTOM_POOLS] = OF(struct seep_image_custom_pool, OF_WORD(SEEP_CUSTOM_POOLS, 1u << 15),
                                  64 * KIB, FILLED, SHRINKS, COPIED),
    [SEEP_AREA_PIECES] =
        OF(struct seep_image_piece, OF_WORD(SEEP_PIECES, 1u << 18), 256 * KIB, FILLED, SHRINKS, COPIED),
    [SEEP_AREA_REGIONS] = OF(struct seep_image_region, SEEP_REGIONS, 64 * KIB, FILLED, COPIED),
    [SEEP_AREA_MARKS] = OF(char, OF_WORD(64, 4) * MIB, 64 * KIB, FILLED, SHRINKS, COPIED),
    [SEEP_AREA_TOOL_MARKS] = OF(char, MIB, MIB, SPARSE, COPIED),
};
