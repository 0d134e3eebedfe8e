// SPDX-License-Identifier: BSD-2-Clause
// Shapes that are lost with the large blocks that only they lead to, and text that a wrapper allocated.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

static void *xmalloc(size_t size) {
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

struct shape {
    std::map<int, int> tags;
    std::vector<double> corners;
    explicit shape(int nr) : corners(static_cast<size_t>(nr)) {
        for (int i = 0; i < 10; i++)
            tags[i] = i;
    }
};

static char *volatile text;
static shape *volatile made;

static void __attribute__((noinline)) name_shapes() {
    text = static_cast<char *>(xmalloc(300)); // the wrapper's caller
    text[0] = 0;
    text = nullptr;
}

static void __attribute__((noinline)) make_shapes() {
    for (int i = 0; i < 10; i++)
        made = new shape(2000); // the owner
    made = nullptr;
}

int main() {
    volatile char stale[4096];
    make_shapes();
    name_shapes();
    for (size_t i = 0; i < sizeof(stale); i++)
        stale[i] = 0;
    return stale[100];
}
