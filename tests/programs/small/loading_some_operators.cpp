// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <cstdlib>
#include <new>
extern long born, gone;
#ifdef POOL // keeps blocks that are deleted, and hands them out again
static void *kept[1000]; static int nr_kept;
void *operator new(size_t size) { born++; return size <= 64 && nr_kept ? kept[--nr_kept] : malloc(size < 64 ? 64 : size); }
void operator delete(void *block) noexcept { gone++; if (block && nr_kept < 1000) kept[nr_kept++] = block; }
#elif defined(HEADER)
void *operator new(size_t size) { born++; return (char *)malloc(size + 16) + 16; }
void operator delete(void *block) noexcept { gone++; if (block) free((char *)block - 16); }
#elif defined(ARRAY)
void *operator new[](size_t size) { born++; return (char *)malloc(size + 16) + 16; }
void operator delete[](void *block) noexcept { gone++; if (block) free((char *)block - 16); }
#elif defined(NEW)
void *operator new(size_t size) { born++; return malloc(size); }
#elif defined(DELETE)
void operator delete(void *block) noexcept { gone++; free(block); }
#elif defined(NOTHROW)
void *operator new(size_t size, const std::nothrow_t &) noexcept { born++; return malloc(size); }
#elif defined(ALL) // of new, with a header, and those of delete that the others call
#define BORN(...) { born++; return (char *)malloc(size + 64) + 64; }
void *operator new(size_t size) BORN()
void *operator new[](size_t size) BORN()
void *operator new(size_t size, const std::nothrow_t &) noexcept BORN()
void *operator new[](size_t size, const std::nothrow_t &) noexcept BORN()
static void *aligned(size_t size, size_t alignment) { born++; return (char *)aligned_alloc(alignment, (size + 2 * alignment - 1) & -alignment) + alignment; }
void *operator new(size_t size, std::align_val_t a) { return aligned(size, (size_t)a); }
void *operator new[](size_t size, std::align_val_t a) { return aligned(size, (size_t)a); }
void *operator new(size_t size, std::align_val_t a, const std::nothrow_t &) noexcept { return aligned(size, (size_t)a); }
void *operator new[](size_t size, std::align_val_t a, const std::nothrow_t &) noexcept { return aligned(size, (size_t)a); }
void operator delete(void *block) noexcept { gone++; if (block) free((char *)block - 64); }
void operator delete[](void *block) noexcept { gone++; if (block) free((char *)block - 64); }
void operator delete(void *block, std::align_val_t a) noexcept { gone++; if (block) free((char *)block - (size_t)a); }
void operator delete[](void *block, std::align_val_t a) noexcept { gone++; if (block) free((char *)block - (size_t)a); }
#elif defined(DELETE_NOTHROW)
void operator delete(void *block, const std::nothrow_t &) noexcept { gone++; free(block); }
#elif defined(SIZE_TOLD) // the size that was asked for comes with the block
void *operator new(size_t size) { born++; return malloc(size); }
void operator delete(void *block, size_t size) noexcept { gone += size; free(block); }
#elif defined(SIZED)
void operator delete(void *block, size_t) noexcept { gone++; free(block); }
#endif
