// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include "preload/sys.h"
