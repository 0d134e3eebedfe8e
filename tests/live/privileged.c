// SPDX-License-Identifier: BSD-2-Clause
//
// For test_privileges.py: allocates, and says as whom it runs and whether libseep.so has an image in it. Linked
// with the library, so that it is there also where the loader ignores LD_PRELOAD.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    char line[512];
    int has_image = 0, has_library = 0;
    char *volatile block = malloc(100);
    free(block);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        has_image |= strstr(line, "seep-image") != NULL;
        has_library |= strstr(line, "libseep.so") != NULL;
    }
    printf("effective user %d, library: %d, image: %d\n", (int)geteuid(), has_library, has_image);
    return 0;
}
