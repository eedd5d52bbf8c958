# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks launch files with libMoERuntime, as it does when it loads a program.

load_launch_file.py TEST_SOURCE_ROOT BUILD FILE...
"""

import sys
from ctypes import byref, c_void_p

tests, build, *files = sys.argv[1:]
sys.path.insert(0, tests + "/Runtime/Inputs")
import moe_runtime

MOE_NO_DEVICE = -1

runtime = moe_runtime.open_library(build)
for file in files:
    program = c_void_p()
    status = runtime.moeProgramLoad(
        file.encode(), MOE_NO_DEVICE, byref(program)
    )
    assert status == 0, runtime.moeRuntimeLastError().decode()
    runtime.moeProgramDestroy(program)
    print("accepted")
