// SPDX-License-Identifier: BSD-2-Clause
// strerror() with the errors that occur in the agent, in the words of glibc: musl has three times as many.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifndef __GLIBC__
#define ERRORS(ERROR)                                                                                        \
    ERROR(EPERM, "Operation not permitted")                                                                  \
    ERROR(ENOENT, "No such file or directory")                                                               \
    ERROR(ESRCH, "No such process")                                                                          \
    ERROR(EINTR, "Interrupted system call")                                                                  \
    ERROR(EIO, "Input/output error")                                                                         \
    ERROR(ENXIO, "No such device or address")                                                                \
    ERROR(E2BIG, "Argument list too long")                                                                   \
    ERROR(ENOEXEC, "Exec format error")                                                                      \
    ERROR(EBADF, "Bad file descriptor")                                                                      \
    ERROR(ECHILD, "No child processes")                                                                      \
    ERROR(EAGAIN, "Resource temporarily unavailable")                                                        \
    ERROR(ENOMEM, "Cannot allocate memory")                                                                  \
    ERROR(EACCES, "Permission denied")                                                                       \
    ERROR(EFAULT, "Bad address")                                                                             \
    ERROR(EBUSY, "Device or resource busy")                                                                  \
    ERROR(EEXIST, "File exists")                                                                             \
    ERROR(EXDEV, "Invalid cross-device link")                                                                \
    ERROR(ENODEV, "No such device")                                                                          \
    ERROR(ENOTDIR, "Not a directory")                                                                        \
    ERROR(EISDIR, "Is a directory")                                                                          \
    ERROR(EINVAL, "Invalid argument")                                                                        \
    ERROR(ENFILE, "Too many open files in system")                                                           \
    ERROR(EMFILE, "Too many open files")                                                                     \
    ERROR(ENOTTY, "Inappropriate ioctl for device")                                                          \
    ERROR(ETXTBSY, "Text file busy")                                                                         \
    ERROR(EFBIG, "File too large")                                                                           \
    ERROR(ENOSPC, "No space left on device")                                                                 \
    ERROR(ESPIPE, "Illegal seek")                                                                            \
    ERROR(EROFS, "Read-only file system")                                                                    \
    ERROR(EMLINK, "Too many links")                                                                          \
    ERROR(EPIPE, "Broken pipe")                                                                              \
    ERROR(ENAMETOOLONG, "File name too long")                                                                \
    ERROR(ENOSYS, "Function not implemented")                                                                \
    ERROR(ENOTEMPTY, "Directory not empty")                                                                  \
    ERROR(ELOOP, "Too many levels of symbolic links")                                                        \
    ERROR(EOVERFLOW, "Value too large for defined data type")                                                \
    ERROR(ELIBBAD, "Accessing a corrupted shared library")                                                   \
    ERROR(ENOTSOCK, "Socket operation on non-socket")                                                        \
    ERROR(EOPNOTSUPP, "Operation not supported")                                                             \
    ERROR(EAFNOSUPPORT, "Address family not supported by protocol")                                          \
    ERROR(EADDRINUSE, "Address already in use")                                                              \
    ERROR(EADDRNOTAVAIL, "Cannot assign requested address")                                                  \
    ERROR(ENETDOWN, "Network is down")                                                                       \
    ERROR(ENETUNREACH, "Network is unreachable")                                                             \
    ERROR(ECONNABORTED, "Software caused connection abort")                                                  \
    ERROR(ECONNRESET, "Connection reset by peer")                                                            \
    ERROR(ENOBUFS, "No buffer space available")                                                              \
    ERROR(ENOTCONN, "Transport endpoint is not connected")                                                   \
    ERROR(ETIMEDOUT, "Connection timed out")                                                                 \
    ERROR(ECONNREFUSED, "Connection refused")                                                                \
    ERROR(EHOSTUNREACH, "No route to host")                                                                  \
    ERROR(EALREADY, "Operation already in progress")                                                         \
    ERROR(EINPROGRESS, "Operation now in progress")                                                          \
    ERROR(ESTALE, "Stale file handle")                                                                       \
    ERROR(EDQUOT, "Disk quota exceeded")

#define AS_TEXT(number, words)   words "\0"
#define AS_NUMBER(number, words) number,

char *strerror(int wanted) {
    static const unsigned char numbers[] = {ERRORS(AS_NUMBER)};
    static const char texts[] = ERRORS(AS_TEXT);
    static char other[24];
    const char *text = texts;
    for (size_t i = 0; i < sizeof(numbers); i++, text += strlen(text) + 1)
        if (numbers[i] == wanted)
            return (char *)text;
    snprintf(other, sizeof(other), "error %d", wanted);
    return other;
}
#endif
