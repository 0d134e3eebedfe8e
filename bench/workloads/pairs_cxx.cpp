// SPDX-License-Identifier: BSD-2-Clause
//
// The micro benchmark with operator new and delete.
#include <new>

#include "pairs.c"
