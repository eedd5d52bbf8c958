# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C++ unit tests: every GoogleTest binary below the build's unittests/."""

import os
import sys

import lit.formats

sys.path.insert(0, os.path.join(config.moe_source_root, "test"))
import moe_lit

config.name = "MoE-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.moe_obj_root, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
moe_lit.set_environment(config, tool_dirs=[])
