// SPDX-License-Identifier: BSD-2-Clause
// Compiler attributes and the few expressions that every room uses. Freestanding.
#ifndef SEEP_CORE_ATTR_H
#define SEEP_CORE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SEEP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#ifdef SEEP_AGENT // small before quick
#define SEEP_INLINE static inline __attribute__((unused))
#else
#define SEEP_INLINE static inline __attribute__((always_inline))
#endif
#define SEEP_NOINLINE                 __attribute__((noinline))
#define SEEP_COLD                     __attribute__((noinline, cold))
#define SEEP_MUST_CHECK               __attribute__((warn_unused_result))
#define SEEP_PRINTF(text_at, args_at) __attribute__((format(printf, text_at, args_at)))
// A function that reads what other threads write meanwhile, each word by itself, and may.
#define SEEP_NO_TSAN __attribute__((no_sanitize("thread")))
#define SEEP_EXPORT  __attribute__((visibility("default")))

// 1 where the sanitizer is compiled in: gcc defines a macro, clang has a question.
#ifdef __has_feature
#define SEEP_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SEEP_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SEEP_HAS_FEATURE(address_sanitizer)
#define SEEP_WITH_ASAN 1
#else
#define SEEP_WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || SEEP_HAS_FEATURE(thread_sanitizer)
#define SEEP_WITH_TSAN 1
#else
#define SEEP_WITH_TSAN 0
#endif

#define SEEP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SEEP_MIN(a, b)     ((a) < (b) ? (a) : (b))
#define SEEP_MAX(a, b)     ((a) > (b) ? (a) : (b))

#endif
