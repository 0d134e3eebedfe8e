// SPDX-License-Identifier: BSD-2-Clause
// Writes the first inputs of fuzz_image into a folder: make_image_seeds tests/fuzz/corpus/image
#include "image_builder.h"

static int write_seed(const char *folder, const char *name, const unsigned char *bytes, size_t nr_bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, nr_bytes, file) != nr_bytes || fclose(file)) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make_image_seeds FOLDER\n");
        return 2;
    }
    struct image_builder *image = image_build();
    image->header->pid = 1000; // the same in every run
    size_t nr_bytes;
    unsigned char *bytes = image_to_raw(image, &nr_bytes);
    int failed = write_seed(argv[1], "whole", bytes, nr_bytes);
    failed |= write_seed(argv[1], "cut_in_record", bytes, nr_bytes - 6000);
    failed |= write_seed(argv[1], "cut_in_header", bytes, 100);
    free(bytes);
    image_add_thread(image);
    image->header->state = SEEP_STATE_LIVE;
    bytes = image_to_raw(image, &nr_bytes);
    failed |= write_seed(argv[1], "two_threads", bytes, nr_bytes);
    free(bytes);
    image_annotate(image);
    bytes = image_to_raw(image, &nr_bytes);
    failed |= write_seed(argv[1], "annotated", bytes, nr_bytes);
    free(bytes);
    image->nodes[1].parent = 4;
    image->sites[2].next = 3;
    image->sites[3].next = 2;
    image->dir[9] = PAGES_LEAF;
    image->header->nr_args = UINT32_MAX;
    image->header->areas[SEEP_AREA_THREADS].used = 8;
    bytes = image_to_raw(image, &nr_bytes);
    failed |= write_seed(argv[1], "lies", bytes, nr_bytes);
    free(bytes);
    free(image);
    return failed;
}
