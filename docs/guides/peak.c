// SPDX-License-Identifier: BSD-2-Clause
// Loads a picture, scales it, and is left with the small one: the peak is when both are there, and a copy.
#include <stdlib.h>
#include <string.h>

static unsigned char *load(size_t side) {
    unsigned char *picture = malloc(side * side * 4);
    memset(picture, 7, side * side * 4);
    return picture;
}

static unsigned char *padded(const unsigned char *picture, size_t side) {
    unsigned char *copy = malloc((side + 2) * (side + 2) * 4);
    memcpy(copy, picture, side * side * 4);
    return copy;
}

static unsigned char *half(const unsigned char *picture, size_t side) {
    unsigned char *small = malloc(side * side);
    for (size_t i = 0; i < side * side; i++)
        small[i] = picture[i * 4];
    return small;
}

int main(void) {
    size_t side = 1000;
    unsigned char *picture = load(side);
    unsigned char *copy = padded(picture, side);
    free(picture); // too late: the copy was made beside it
    unsigned char *small = half(copy, side);
    free(copy);
    int sum = small[12345];
    free(small);
    return sum != 7;
}
