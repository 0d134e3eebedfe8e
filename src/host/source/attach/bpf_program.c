// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel can do with BPF programs, and attaching them, see bpf_program.h. The structure of the
// bpf() call is written down here, because the headers of a distribution are often older than its kernel.
// Source: Linux uapi linux/bpf.h, union bpf_attr, link_create.uprobe_multi (6.6; session: 6.13).
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/attach/bpf_program.h"

bool seep_bpf_is_built(void) {
    return true;
}

#define COMMAND_LINK_CREATE 28
#define MULTI_FLAG_RETURN   1u

struct link_create_multi {
    uint32_t program_fd;
    uint32_t target_fd;
    uint32_t attach_type;
    uint32_t flags;
    uint64_t path;
    uint64_t offsets;
    uint64_t ref_ctr_offsets;
    uint64_t cookies;
    uint32_t nr;
    uint32_t multi_flags;
    uint32_t pid;
    uint32_t zero;
};

static int create_link(int program_fd, int attach_type, const struct seep_bpf_places *places, bool returns) {
    struct link_create_multi attr = {
        .program_fd = (uint32_t)program_fd,
        .attach_type = (uint32_t)attach_type,
        .path = (uintptr_t)places->path,
        .offsets = (uintptr_t)places->offsets,
        .ref_ctr_offsets = (uintptr_t)places->semaphores,
        .cookies = (uintptr_t)places->cookies,
        .nr = places->nr,
        .multi_flags = returns ? MULTI_FLAG_RETURN : 0,
        .pid = (uint32_t)places->pid,
    };
    int fd = (int)syscall(SYS_bpf, COMMAND_LINK_CREATE, &attr, sizeof(attr));
    return fd < 0 ? -errno : fd;
}

struct seep_error *seep_bpf_attach_multi(int program_fd, int attach_type,
                                         const struct seep_bpf_places *places, bool returns, int *ret_link) {
    int fd = create_link(program_fd, attach_type, places, returns);
    if (fd < 0)
        return seep_error_system(-fd, "cannot put probes on %s", places->path);
    *ret_link = fd;
    return NULL;
}

// ---- what can be done ----

// `return 0`, which is valid everywhere.
static const struct bpf_insn nothing[] = {
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
    {.code = BPF_JMP | BPF_EXIT},
};

static int load_nothing(int attach_type) {
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    options.expected_attach_type = (enum bpf_attach_type)attach_type;
    return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "seep_nothing", "Dual BSD/GPL", nothing,
                         SEEP_ARRAY_SIZE(nothing), &options);
}

// A kernel that knows the type says that a folder is no place for probes; others do not know what is asked.
static bool can_attach(int attach_type) {
    unsigned long offset = 1;
    struct seep_bpf_places places = {.path = "/", .offsets = &offset, .nr = 1};
    int program = load_nothing(attach_type);
    if (program < 0)
        return false;
    int link = create_link(program, attach_type, &places, false);
    close(program);
    if (link >= 0)
        close(link);
    return link == -EBADF;
}

static bool is_locked_down(void) {
    char text[128] = "";
    int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t nr = read(fd, text, sizeof(text) - 1);
    close(fd);
    return nr > 0 && strstr(text, "[confidentiality]");
}

static void probe_kernel_functions(struct seep_bpf_features *features) {
    struct btf *btf = btf__load_vmlinux_btf();
    if (libbpf_get_error(btf))
        return;
    features->can[SEEP_BPF_CAN_CAST] = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
    features->can[SEEP_BPF_CAN_SLAB] = btf__find_by_name_kind(btf, "bpf_get_kmem_cache", BTF_KIND_FUNC) > 0;
    btf__free(btf);
}

void seep_bpf_features_probe(struct seep_bpf_features *ret_features) {
    struct seep_bpf_features features = {.lockdown = is_locked_down()};
    libbpf_print_fn_t print = libbpf_set_print(NULL);
    int program = load_nothing(0);
    features.can[SEEP_BPF_CAN_LOAD] = program >= 0;
    features.load_errno = program < 0 ? -program : 0;
    if (program >= 0)
        close(program);
    features.can[SEEP_BPF_CAN_BTF] = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    if (features.can[SEEP_BPF_CAN_LOAD]) {
        features.can[SEEP_BPF_CAN_RING] = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 1;
        features.can[SEEP_BPF_CAN_STORAGE] = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
        features.can[SEEP_BPF_CAN_LOOP] =
            libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1;
        features.can[SEEP_BPF_CAN_VMA] =
            libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_find_vma, NULL) == 1;
        features.can[SEEP_BPF_CAN_MULTI] = can_attach(SEEP_BPF_ATTACH_MULTI);
        features.can[SEEP_BPF_CAN_SESSION] = can_attach(SEEP_BPF_ATTACH_SESSION);
    }
    probe_kernel_functions(&features);
    libbpf_set_print(print);
    *ret_features = features;
}

struct seep_error *seep_bpf_features_check(const struct seep_bpf_features *features) {
    if (!features->can[SEEP_BPF_CAN_LOAD] && features->lockdown)
        return seep_error_hint(
            seep_error_create(SEEP_E_PERMISSION,
                              "the kernel is locked down (confidentiality): no BPF programs"),
            "boot without lockdown=confidentiality, or trace from the start with 'seep run'");
    if (!features->can[SEEP_BPF_CAN_LOAD])
        return seep_error_hint(seep_error_system(features->load_errno, "cannot load BPF programs"),
                               "be root, or have CAP_BPF and CAP_PERFMON; 'seep run' needs no right");
    for (int i = SEEP_BPF_CAN_BTF; i <= SEEP_BPF_CAN_STORAGE; i++)
        if (!features->can[i])
            return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "this kernel has no %s",
                                                     seep_bpf_feature_name((enum seep_bpf_feature)i)),
                                   "%s", seep_bpf_feature_cost((enum seep_bpf_feature)i));
    return NULL;
}
