// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Which of the largest sizes operator new with an alignment gives memory for, by overflow or not.
#include <cstdint>
#include <cstdio>
#include <new>

int main() {
    for (size_t alignment = 1; alignment <= 64; alignment *= 2)
        for (size_t less = 0; less < 70; less++) {
            volatile size_t size = SIZE_MAX - less;
            try {
                void *volatile block = ::operator new(size, std::align_val_t(alignment));
                printf("%zu %zu %d\n", alignment, less, block != nullptr);
            } catch (const std::bad_alloc &) {
            }
        }
}
