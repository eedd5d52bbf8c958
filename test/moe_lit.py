# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the lit suites share: the tests' environment and hardware probes."""

import ctypes
import os
import shutil
import subprocess

# From cuda.h.
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


def find_ptxas():
    """The path of ptxas, from CUDA_HOME or PATH, or None."""
    home = os.environ.get("CUDA_HOME")
    if home:
        found = shutil.which("ptxas", path=os.path.join(home, "bin"))
        if found:
            return found
    return shutil.which("ptxas")


def has_sm90_gpu():
    """True if the CUDA driver lists a device of compute capability 9.0."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False
    return any(_capability(cuda, i) == (9, 0) for i in range(count.value))


def _capability(cuda, ordinal):
    device = ctypes.c_int(0)
    if cuda.cuDeviceGet(ctypes.byref(device), ordinal) != 0:
        return None
    result = []
    for attribute in (
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ):
        value = ctypes.c_int(0)
        if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device) != 0:
            return None
        result.append(value.value)
    return tuple(result)


def is_git_checkout(folder):
    """True if git, which refuses a folder of another user, can list it."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, "ls-files", "--error-unmatch", "LICENSE"],
            capture_output=True,
        )
    except OSError:
        return False
    return done.returncode == 0


def set_environment(config, tool_dirs):
    """Gives the tests an environment that does not depend on the caller's.

    PATH holds `tool_dirs` and the system's directories only, so that no test
    finds a CUDA toolkit by accident.
    """
    environment = config.environment
    environment.update(
        PATH=os.pathsep.join(list(tool_dirs) + ["/usr/bin", "/bin"]),
        FILECHECK_OPTS="-enable-var-scope --allow-unused-prefixes=false",
        LC_ALL="C",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONNOUSERSITE="1",
    )
    for name in ("CUDA_HOME", "CUDA_ROOT", "CUDA_PATH", "PYTHONPATH"):
        environment.pop(name, None)
    if config.moe_sanitizers:
        # handle_abort=1 lets a tool catch an abort of LLVM, while a finding of
        # the sanitizer itself still ends the process by a signal, which `not`
        # does not accept. MLIR's own allocations live until exit; the dylib is
        # not instrumented, so poisoning by its headers must be off.
        environment["ASAN_OPTIONS"] = (
            "abort_on_error=1:handle_abort=1:detect_leaks=0:"
            "allow_user_poisoning=0:detect_stack_use_after_return=0"
        )
        environment["UBSAN_OPTIONS"] = (
            "abort_on_error=1:handle_abort=1:halt_on_error=1:"
            "print_stacktrace=1"
        )
