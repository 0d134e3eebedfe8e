// SPDX-License-Identifier: BSD-2-Clause
// Reads by io_uring into a buffer that is registered with the kernel, which pins its memory. A block of 333 bytes is known
// only to a request that waits. Each line of input is one read: "good" if the program sees the read bytes, and its own
// bytes around them. 77: no io_uring.
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, READ_BYTES = 100 };

static int ring, ends[2];
static char *submissions, *completions;
static struct io_uring_params params;
static struct io_uring_sqe *requests;
static char *volatile buffer;

static unsigned *at(char *start, unsigned offset) {
    return (unsigned *)(start + offset);
}

static void submit(uint64_t data) {
    unsigned *tail = at(submissions, params.sq_off.tail);
    unsigned index = *tail & *at(submissions, params.sq_off.ring_mask);
    memset(&requests[index], 0, sizeof(*requests));
    requests[index].opcode = IORING_OP_READ_FIXED;
    requests[index].fd = ends[0];
    requests[index].addr = (uintptr_t)buffer;
    requests[index].len = READ_BYTES;
    requests[index].user_data = data;
    at(submissions, params.sq_off.array)[index] = index;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
}

// Returns the user data of the request.
static uint64_t complete(int *ret_result) {
    unsigned *head = at(completions, params.cq_off.head);
    syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    const struct io_uring_cqe *all = (const struct io_uring_cqe *)(completions + params.cq_off.cqes);
    const struct io_uring_cqe *one = &all[*head & *at(completions, params.cq_off.ring_mask)];
    uint64_t data = one->user_data;
    *ret_result = one->res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return data;
}

static void *map(size_t bytes, off_t what) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
    if (start == MAP_FAILED)
        exit(77);
    return start;
}

static int is_good(char letter, int result) {
    int good = result == READ_BYTES && buffer[READ_BYTES] == 'y';
    for (int i = 0; i < READ_BYTES; i++)
        good &= buffer[i] == letter;
    return good;
}

int main(void) {
    ring = (int)syscall(SYS_io_uring_setup, 8, &params);
    if (ring < 0)
        return 77;
    submissions = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    completions =
        map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    requests = map(params.sq_entries * sizeof(*requests), IORING_OFF_SQES);
    buffer = malloc(BUFFER_BYTES);
    struct iovec range = {buffer, BUFFER_BYTES};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &range, 1) != 0 || pipe(ends) != 0)
        return 77;
    submit((uintptr_t)malloc(333));
    puts("ready");
    fflush(stdout);
    char line[16], message[READ_BYTES], letter = 'a';
    while (fgets(line, sizeof(line), stdin)) {
        int result;
        memset(buffer, 'y', BUFFER_BYTES);
        memset(message, letter, sizeof(message));
        if (write(ends[1], message, sizeof(message)) != sizeof(message))
            return 1;
        uint64_t data = complete(&result);
        puts(is_good(letter, result) ? "good" : "bad");
        fflush(stdout);
        submit(data);
        letter = letter == 'w' ? 'a' : (char)(letter + 1);
    }
    return 0;
}
