// SPDX-License-Identifier: BSD-2-Clause
//
// Recognition of the instruction before a return address, on each CPU: calls as compilers and assemblers write them
// (bytes from objdump), and similar instructions that set no return address as the ABI defines it.

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "unwind/calls_aarch64.h"
#include "unwind/calls_arm.h"
#include "unwind/calls_mips64.h"
#include "unwind/calls_ppc64.h"
#include "unwind/calls_riscv64.h"
#include "unwind/calls_s390x.h"
#include "unwind/calls_x86.h"

// The code ends `more` bytes behind a multiple of 16.
static bool ends_call(bool follows_call(uint64_t address), size_t more, unsigned thumb, const char *code,
                      size_t length) {
    alignas(16) static unsigned char bytes[64];
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes + 32 + more - length, code, length);
    return follows_call((uintptr_t)(bytes + 32 + more) | thumb);
}

#define ENDS(cpu, code)     assert_true(ends_call(seep_##cpu##_follows_call, 0, 0, code, sizeof(code) - 1))
#define ENDS_NOT(cpu, code) assert_false(ends_call(seep_##cpu##_follows_call, 0, 0, code, sizeof(code) - 1))
#define ENDS_AT(cpu, at, code)                                                                               \
    assert_true(ends_call(seep_##cpu##_follows_call, at, 0, code, sizeof(code) - 1))
#define NOT_AT(cpu, at, code)                                                                                \
    assert_false(ends_call(seep_##cpu##_follows_call, at, 0, code, sizeof(code) - 1))
#define THUMB_ENDS(at, code) assert_true(ends_call(seep_arm_follows_call, at, 1, code, sizeof(code) - 1))
#define THUMB_NOT(at, code)  assert_false(ends_call(seep_arm_follows_call, at, 1, code, sizeof(code) - 1))

static void test_x86(void **state) {
    (void)state;
    ENDS(x86, "\xe8\x11\x22\x33\x44");                 // call rel32
    ENDS_AT(x86, 5, "\xff\xd0");                       // call *%rax
    ENDS_AT(x86, 3, "\x41\xff\xd4");                   // call *%r12
    ENDS(x86, "\xff\x50\x18");                         // call *0x18(%rax)
    ENDS(x86, "\xff\x15\x12\x34\x05\x00");             // call *0x53412(%rip)
    ENDS(x86, "\xff\x94\xc3\x00\x01\x00\x00");         // call *0x100(%rbx,%rax,8)
    ENDS(x86, "\x65\xff\x15\x10\x00\x00\x00");         // call *%gs:0x10
    ENDS_NOT(x86, "\xe9\x11\x22\x33\x44");             // jmp rel32
    ENDS_NOT(x86, "\xff\xe0");                         // jmp *%rax
    ENDS_NOT(x86, "\x55\x48\x89\xe5\x48\x83\xec\x10"); // a function begins
    ENDS_NOT(x86, "\x48\x8b\x45\xf8\xc9\xc3");         // mov; leave; ret
}

static void test_aarch64(void **state) {
    (void)state;
    ENDS(aarch64, "\x10\x00\x00\x94");                     // bl, forward
    ENDS_AT(aarch64, 4, "\xf0\xff\xff\x97");               // bl, backward
    ENDS(aarch64, "\x60\x02\x3f\xd6");                     // blr x19
    ENDS(aarch64, "\xc0\x03\x3f\xd6");                     // blr x30
    ENDS(aarch64, "\x22\x08\x3f\xd7");                     // blraa x1, x2
    ENDS(aarch64, "\x7f\x0c\x3f\xd7");                     // blrab x3, sp
    ENDS(aarch64, "\x9f\x08\x3f\xd6");                     // blraaz x4
    ENDS(aarch64, "\xbf\x0c\x3f\xd6");                     // blrabz x5
    ENDS_NOT(aarch64, "\x00\x00\x00\x14");                 // b
    ENDS_NOT(aarch64, "\x60\x00\x1f\xd6");                 // br x3
    ENDS_NOT(aarch64, "\x22\x08\x1f\xd7");                 // braa x1, x2
    ENDS_NOT(aarch64, "\xc0\x03\x5f\xd6");                 // ret
    ENDS_NOT(aarch64, "\xff\x0b\x5f\xd6");                 // retaa
    ENDS_NOT(aarch64, "\x01\x00\x00\xd4");                 // svc #0
    ENDS_NOT(aarch64, "\xfd\x7b\xbe\xa9");                 // stp x29, x30, [sp, #-32]!
    NOT_AT(aarch64, 2, "\x10\x00\x00\x94");                // no address of code
    ENDS_NOT(aarch64, "\x10\x00\x00\x94\x1f\x20\x03\xd5"); // bl; nop
}

static void test_arm(void **state) {
    (void)state;
    ENDS(arm, "\xfe\xff\xff\xeb");            // bl
    ENDS(arm, "\x10\x00\x00\x0b");            // bleq
    ENDS(arm, "\x10\x00\x00\xfa");            // blx to Thumb code
    ENDS_AT(arm, 4, "\x33\xff\x2f\xe1");      // blx r3
    ENDS_NOT(arm, "\x10\x00\x00\xea");        // b
    ENDS_NOT(arm, "\x1e\xff\x2f\xe1");        // bx lr
    ENDS_NOT(arm, "\x0f\xe0\xa0\xe1");        // mov lr, pc
    ENDS_NOT(arm, "\xf0\x80\xbd\xe8");        // pop {r4-r7, pc}
    NOT_AT(arm, 2, "\xfe\xff\xff\xeb");       // no address of ARM code
    THUMB_ENDS(0, "\xff\xf7\xfe\xff");        // bl
    THUMB_ENDS(2, "\x4a\xf0\x12\xe9");        // blx to ARM code
    THUMB_ENDS(2, "\xa8\x47");                // blx r5
    THUMB_ENDS(0, "\xf0\x47");                // blx lr
    THUMB_NOT(0, "\x70\x47");                 // bx lr
    THUMB_NOT(0, "\x38\xbd");                 // pop {r3, r4, r5, pc}
    THUMB_NOT(2, "\x00\xf0\x12\xb8");         // b.w
    THUMB_NOT(0, "\xff\xf7\xfe\xff\x00\xbf"); // bl; nop
}

static void test_riscv64(void **state) {
    (void)state;
    ENDS(riscv64, "\x97\x00\x00\x00\xe7\x80\x80\x00");     // auipc ra; jalr ra
    ENDS_AT(riscv64, 2, "\xef\x00\x40\x01");               // jal ra
    ENDS(riscv64, "\xe7\x80\x07\x00");                     // jalr a5
    ENDS_AT(riscv64, 2, "\x02\x94");                       // c.jalr s0
    ENDS(riscv64, "\x82\x97");                             // c.jalr a5
    ENDS_NOT(riscv64, "\x02\x90");                         // c.ebreak
    ENDS_NOT(riscv64, "\x82\x80");                         // ret
    ENDS_NOT(riscv64, "\x82\x87");                         // c.jr a5
    ENDS_NOT(riscv64, "\x67\x00\x03\x00");                 // jr t1
    ENDS_NOT(riscv64, "\x6f\x00\x40\x01");                 // j
    ENDS_NOT(riscv64, "\x73\x00\x00\x00");                 // ecall
    ENDS_NOT(riscv64, "\xba\x97");                         // c.add a5, a4
    ENDS_NOT(riscv64, "\xef\x00\x40\x01\x13\x00\x00\x00"); // jal ra; nop
}

static void test_s390x(void **state) {
    (void)state;
    ENDS(s390x, "\xc0\xe5\x00\x00\x12\x34");             // brasl %r14
    ENDS_AT(s390x, 2, "\xa7\xe5\x00\x10");               // bras %r14
    ENDS_AT(s390x, 6, "\x4d\xe0\x10\x00");               // bas %r14, 0(%r1)
    ENDS(s390x, "\x0d\xeb");                             // basr %r14, %r11
    ENDS_AT(s390x, 4, "\x0d\xe1");                       // basr %r14, %r1
    ENDS_NOT(s390x, "\x0d\xe0");                         // basr %r14, 0: no branch
    ENDS_NOT(s390x, "\x0d\xd1");                         // basr %r13, %r1
    ENDS_NOT(s390x, "\xc0\xf4\x00\x00\x12\x34");         // jg
    ENDS_NOT(s390x, "\xc0\xd5\x00\x00\x12\x34");         // brasl %r13
    ENDS_NOT(s390x, "\x07\xfe");                         // br %r14
    ENDS_NOT(s390x, "\xeb\xbf\xf0\x58\x00\x24");         // stmg %r11, %r15, 88(%r15)
    ENDS_NOT(s390x, "\xc0\xe5\x00\x00\x12\x34\x07\x00"); // brasl; nopr
}

// Instructions as numbers of this machine's byte order.
static void test_ppc64(void **state) {
    (void)state;
    static const uint32_t calls[] = {
        0x4bfffe01, // bl
        0x4e800421, // bctrl
        0x4e800021, // blrl
        0x429f0005, // bcl 20, 31
    };
    static const uint32_t others[] = {
        0x4bfffe00, // b
        0x4e800420, // bctr
        0x4e800020, // blr
        0x419e0010, // beq
        0xe8410018, // ld r2, 24(r1)
        0x7c0802a7, // no branch, with the last bit set
        0x44000002, // sc
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        assert_true(seep_ppc64_follows_call((uintptr_t)(&calls[i] + 1)));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(seep_ppc64_follows_call((uintptr_t)(&others[i] + 1)));
    assert_false(seep_ppc64_follows_call((uintptr_t)(&calls[0] + 1) + 2));
}

static void test_mips64(void **state) {
    (void)state;
    ENDS(mips64, "\x09\xf8\x20\x03\x00\x00\x00\x00");                     // jalr t9; nop
    ENDS_AT(mips64, 4, "\x09\xfc\x20\x03\x25\x20\x00\x02");               // jalr.hb t9; move a0, s0
    ENDS(mips64, "\x34\x12\x00\x0c\x00\x00\x00\x00");                     // jal; nop
    ENDS(mips64, "\x08\x00\x11\x04\x00\x00\x00\x00");                     // bal; nop
    ENDS(mips64, "\x08\x00\x50\x04\x00\x00\x00\x00");                     // bltzal v0; nop
    ENDS(mips64, "\x08\x00\x53\x04\x00\x00\x00\x00");                     // bgezall v0; nop
    ENDS(mips64, "\x00\x00\x00\x00\x08\x00\x00\xe8");                     // balc
    ENDS(mips64, "\x00\x00\x00\x00\x00\x00\x19\xf8");                     // jialc t9
    ENDS_NOT(mips64, "\x09\xf8\x20\x03");                                 // jalr t9, its delay slot missing
    ENDS_NOT(mips64, "\x09\xf8\x20\x03\x00\x00\x00\x00\x00\x00\x00\x00"); // jalr t9; nop; nop
    ENDS_NOT(mips64, "\x08\x00\xe0\x03\x00\x00\x00\x00");                 // jr ra; nop
    ENDS_NOT(mips64, "\x09\x10\x20\x03\x00\x00\x00\x00");                 // jalr v0, t9; nop
    ENDS_NOT(mips64, "\x34\x12\x00\x08\x00\x00\x00\x00");                 // j; nop
    ENDS_NOT(mips64, "\x08\x00\x41\x04\x00\x00\x00\x00");                 // bgez v0; nop
    ENDS_NOT(mips64, "\x00\x00\x00\x00\x08\x00\x40\xf8");                 // bnezc v0
    ENDS_NOT(mips64, "\x00\x00\x00\x00\x0c\x00\x00\x00");                 // syscall
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86),     cmocka_unit_test(test_aarch64), cmocka_unit_test(test_arm),
        cmocka_unit_test(test_riscv64), cmocka_unit_test(test_s390x),   cmocka_unit_test(test_ppc64),
        cmocka_unit_test(test_mips64),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
