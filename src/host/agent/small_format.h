// SPDX-License-Identifier: BSD-2-Clause
//
// printf and scanf of the agent, see small_format.c: they stand for libc's by their names. A test has them
// under other names, beside libc's own.
#ifndef SEEP_AGENT_SMALL_FORMAT_H
#define SEEP_AGENT_SMALL_FORMAT_H

#ifdef SEEP_FORMAT_OTHER_NAMES
#define vsnprintf small_vsnprintf
#define snprintf  small_snprintf
#define vasprintf small_vasprintf
#define asprintf  small_asprintf
#define vfprintf  small_vfprintf
#define fprintf   small_fprintf
#define printf    small_printf
#define sscanf    small_sscanf
#define fscanf    small_fscanf

#include <stdarg.h>
#include <stdio.h>

// As in <stdio.h>, for the conversions that small_format.c has.
int vsnprintf(char *to, size_t room, const char *format, va_list arguments);
int snprintf(char *to, size_t room, const char *format, ...);
int vasprintf(char **ret_text, const char *format, va_list arguments);
int asprintf(char **ret_text, const char *format, ...);
int vfprintf(FILE *file, const char *format, va_list arguments);
int fprintf(FILE *file, const char *format, ...);
int printf(const char *format, ...);
int sscanf(const char *text, const char *format, ...);
int fscanf(FILE *file, const char *format, ...);
#endif

#endif
