# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main lit suite.

Features: `ptxas` (the CUDA assembler was found; `%ptxas` is its path and
`%cuda_home` the toolkit's directory), `nvcc` (the toolkit has the compiler,
too), `cuda-sm90` (a Hopper GPU is present), `asan` (built with the sanitizers),
`git-checkout` (git can list the sources), `clang-format` (the version of it that
the sources are formatted with).
"""

import os
import shutil
import sys

import lit.formats

sys.path.insert(0, os.path.join(config.moe_source_root, "test"))
import moe_lit

config.name = "MoE"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = ["Inputs", "lit.cfg.py", "lit.site.cfg.py", "moe_lit.py"]
config.test_source_root = os.path.join(config.moe_source_root, "test")
config.test_exec_root = os.path.join(config.moe_obj_root, "test")

moe_lit.set_environment(
    config, tool_dirs=[config.moe_tools_dir, config.llvm_tools_dir]
)

config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%moe_src_root", config.moe_source_root))
config.substitutions.append(("%moe_obj_root", config.moe_obj_root))

if config.moe_sanitizers:
    config.available_features.add("asan")

ptxas = moe_lit.find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
    cuda_home = os.path.dirname(os.path.dirname(os.path.realpath(ptxas)))
    config.substitutions.append(("%cuda_home", cuda_home))
    if shutil.which("nvcc", path=os.path.join(cuda_home, "bin")):
        config.available_features.add("nvcc")

if moe_lit.has_sm90_gpu():
    config.available_features.add("cuda-sm90")

if moe_lit.is_git_checkout(config.moe_source_root):
    config.available_features.add("git-checkout")
if shutil.which("clang-format-22", path=config.environment["PATH"]):
    config.available_features.add("clang-format")
