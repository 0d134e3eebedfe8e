// SPDX-License-Identifier: BSD-2-Clause
//
// Every form of operator new and delete: plain, array, nothrow, sized, aligned; one block of each
// pair is freed and one leaked. A constructor that throws gives its block back. A failing new throws.
// EXPECT:
// {
//   "rounds_sizes": true,
//   "sites": [
//     {"in": "plain", "via": "operator new", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 24},
//     {"in": "array", "via": "operator new[]", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 30},
//     {"in": "nothrow_plain", "via": "operator new", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 31},
//     {"in": "nothrow_array", "via": "operator new[]", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 32},
//     {"in": "sized_plain", "via": "operator new", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 33},
//     {"in": "sized_array", "via": "operator new[]", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 34},
//     {"in": "aligned_plain", "via": "operator new", "allocations": 3, "frees": 2, "live_blocks": 1,
//      "live_bytes": 128},
//     {"in": "aligned_array", "via": "operator new[]", "allocations": 3, "frees": 2, "live_blocks": 1,
//      "live_bytes": 130},
//     {"in": "aligned_nothrow", "via": "operator new", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 131},
//     {"in": "aligned_nothrow", "via": "operator new[]", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 132},
//     {"in": "broken_constructor", "via": "operator new", "allocations": 1, "frees": 1, "live_blocks": 0},
//     {"in": "broken_constructor", "via": "malloc", "live_blocks": 0, "optional": true},
//     {"in": "Broken", "live_blocks": 0, "optional": true},
//     {"in": "nothing", "via": "operator new", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 0}
//   ]
// }
#include "program.h"
#include <new>
#include <stdexcept>

using std::align_val_t;
using std::nothrow;

APART static void plain() {
    ::operator delete(keep(::operator new(24)));
    keep(::operator new(24));
}

APART static void array() {
    ::operator delete[](keep(::operator new[](30)));
    keep(::operator new[](30));
}

APART static void nothrow_plain() {
    ::operator delete(keep(::operator new(31, nothrow)), nothrow);
    keep(::operator new(31, nothrow));
}

APART static void nothrow_array() {
    ::operator delete[](keep(::operator new[](32, nothrow)), nothrow);
    keep(::operator new[](32, nothrow));
}

APART static void sized_plain() {
    ::operator delete(keep(::operator new(33)), size_t(33));
    keep(::operator new(33));
}

APART static void sized_array() {
    ::operator delete[](keep(::operator new[](34)), size_t(34));
    keep(::operator new[](34));
}

APART static void aligned_plain() {
    ::operator delete(keep(::operator new(128, align_val_t(64))), align_val_t(64));
    ::operator delete(keep(::operator new(128, align_val_t(64))), size_t(128), align_val_t(64));
    CHECK(uintptr_t(keep(::operator new(128, align_val_t(1024)))) % 1024 == 0);
}

APART static void aligned_array() {
    ::operator delete[](keep(::operator new[](130, align_val_t(64))), align_val_t(64));
    ::operator delete[](keep(::operator new[](130, align_val_t(64))), size_t(130), align_val_t(64));
    CHECK(uintptr_t(keep(::operator new[](130, align_val_t(256)))) % 256 == 0);
}

APART static void aligned_nothrow() {
    ::operator delete(keep(::operator new(131, align_val_t(64), nothrow)), align_val_t(64), nothrow);
    keep(::operator new(131, align_val_t(64), nothrow));
    ::operator delete[](keep(::operator new[](132, align_val_t(64), nothrow)), align_val_t(64), nothrow);
    keep(::operator new[](132, align_val_t(64), nothrow));
}

struct Broken {
    char space[200];
    APART Broken() {
        if (hide(1))
            throw std::runtime_error("broken");
    }
};

APART static void broken_constructor() {
    try {
        keep(new Broken);
        CHECK(!"the constructor threw");
    } catch (const std::runtime_error &) {
    }
}

APART static void too_much() {
    // Of 32 bits an emulator may have as much as half of all addresses.
    size_t huge = hide(size_t(PTRDIFF_MAX) + (sizeof(size_t) == 8 ? -4096 : 4096));
    bool caught = false;
    try {
        keep(::operator new(huge));
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    CHECK(caught);
    caught = false;
    try {
        keep(::operator new[](huge, align_val_t(128)));
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    CHECK(caught);
    CHECK(keep(::operator new(huge, nothrow)) == nullptr);
    CHECK(keep(::operator new[](huge, nothrow)) == nullptr);
    CHECK(keep(::operator new(huge, align_val_t(64), nothrow)) == nullptr);

    // A new-handler is asked until it gives up.
    static int asked;
    std::set_new_handler([] {
        if (++asked == 3)
            std::set_new_handler(nullptr);
    });
    caught = false;
    try {
        keep(::operator new(huge));
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    CHECK(caught && asked == 3);
}

APART static void nothing() {
    void *p = keep(::operator new(hide(0)));
    CHECK(p != nullptr);
    ::operator delete(p);
    CHECK(keep(::operator new(hide(0))) != nullptr);
}

APART static void null() {
    void *volatile p = nullptr;
    ::operator delete(p);
    ::operator delete[](p);
    ::operator delete(p, size_t(8));
    ::operator delete(p, align_val_t(64));
    ::operator delete(p, nothrow);
}

int main(int argc, char **) {
    plain();
    array();
    nothrow_plain();
    nothrow_array();
    sized_plain();
    sized_array();
    aligned_plain();
    aligned_array();
    aligned_nothrow();
    broken_constructor();
    if (argc == 1) // some allocators end the program here
        too_much();
    nothing();
    null();
    return 0;
}
