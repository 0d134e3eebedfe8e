// SPDX-License-Identifier: BSD-2-Clause
// Compiler attributes and the few expressions that every room uses. Freestanding.
#ifndef SEEP_CORE_ATTR_H
#define SEEP_CORE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEP_LIKELY(x)                __builtin_expect(!!(x), 1)
#define SEEP_UNLIKELY(x)              __builtin_expect(!!(x), 0)
#define SEEP_INLINE                   static inline __attribute__((always_inline))
#define SEEP_NOINLINE                 __attribute__((noinline))
#define SEEP_COLD                     __attribute__((noinline, cold))
#define SEEP_MUST_CHECK               __attribute__((warn_unused_result))
#define SEEP_PRINTF(text_at, args_at) __attribute__((format(printf, text_at, args_at)))
#define SEEP_EXPORT                   __attribute__((visibility("default")))

#define SEEP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SEEP_MIN(a, b)     ((a) < (b) ? (a) : (b))
#define SEEP_MAX(a, b)     ((a) > (b) ? (a) : (b))

#endif
