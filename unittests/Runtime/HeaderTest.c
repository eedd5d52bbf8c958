/*===- HeaderTest.c - The runtime's header is plain C ---------------------===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    */
/*===----------------------------------------------------------------------===*/

#include "moe/Runtime/MoERuntime.h"

int useRuntimeFromC(void);

/* Returns the status of a call that fails in a known way. */
int useRuntimeFromC(void) {
  const int64_t dims[2] = {4, 8};
  MoEBuffer buffer = {NULL, MOE_ELEMENT_BF16, 2, dims};
  return moeProgramLaunch(NULL, &buffer, 1, NULL);
}
