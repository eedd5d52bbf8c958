# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Wrappers around the LLVM and MLIR build functions. They make three decisions
# in one place:
#  - upstream MLIR and LLVM come from the dylibs only;
#  - nothing is installed into MLIR's own export set;
#  - every target gets the project's warning and sanitizer flags.

include_guard()

# Applies the project's compile and link flags to target `name`.
function(moe_set_target_flags name)
  target_compile_options(${name} PRIVATE
    -Wall -Wextra -Wno-unused-parameter
    $<$<BOOL:${MOE_WARNINGS_AS_ERRORS}>:-Werror>
    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
  if(MOE_ENABLE_SANITIZERS)
    # LLVM_USE_SANITIZER leaves UBSan off outside LLVM's own tree, hence our own
    # flags. `vptr` would need the typeinfo of classes in the uninstrumented
    # dylib. With their code in between, g++ takes much for uninitialized that is
    # not, in LLVM's headers and the standard library's.
    set(flags -fsanitize=address -fsanitize=undefined
        -fno-sanitize=vptr -fno-sanitize-recover=undefined)
    target_compile_options(${name} PRIVATE ${flags} -fno-omit-frame-pointer
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${name} PUBLIC ${flags})
  endif()
endfunction()

# Adds a static (or with SHARED, shared) library.
#
#   moe_add_library(MoEFoo Foo.cpp ...
#     [SHARED]
#     [DEPENDS target...]            extra build-order dependencies
#     [LINK_LIBS PUBLIC lib...]      libraries of this project or of the system
#     [MLIR_LIBS lib...]             upstream MLIR libraries; all stand for the
#                                    one dylib, and document what is used
#     [LINK_COMPONENTS component...] LLVM components; likewise)
#
# All tablegen targets of the project are built first, so that a header
# included from another library is never missing.
function(moe_add_library name)
  cmake_parse_arguments(ARG "SHARED" ""
    "DEPENDS;LINK_LIBS;MLIR_LIBS;LINK_COMPONENTS" ${ARGN})
  set(shared)
  if(ARG_SHARED)
    set(shared SHARED)
  endif()
  add_mlir_library(${name} ${shared} ${ARG_UNPARSED_ARGUMENTS}
    DISABLE_INSTALL
    EXCLUDE_FROM_LIBMLIR
    DEPENDS mlir-headers ${ARG_DEPENDS}
    LINK_COMPONENTS ${ARG_LINK_COMPONENTS}
    LINK_LIBS ${ARG_LINK_LIBS})
  mlir_target_link_libraries(${name} PUBLIC MLIRIR ${ARG_MLIR_LIBS})
  moe_set_target_flags(${name})
  set_target_properties(${name} PROPERTIES FOLDER "MoE/Libraries")
  set_property(GLOBAL APPEND PROPERTY MOE_ALL_LIBS ${name})
endfunction()

# Adds a dialect library; see moe_add_library.
function(moe_add_dialect_library name)
  set_property(GLOBAL APPEND PROPERTY MOE_DIALECT_LIBS ${name})
  moe_add_library(${name} ${ARGN})
endfunction()

# Adds a conversion library; see moe_add_library.
function(moe_add_conversion_library name)
  set_property(GLOBAL APPEND PROPERTY MOE_CONVERSION_LIBS ${name})
  moe_add_library(${name} ${ARGN})
endfunction()

# Adds an executable, which lands in <build>/bin.
#
#   moe_add_tool(moe-foo moe-foo.cpp ...
#     [DEPENDS target...] [LINK_LIBS lib...] [MLIR_LIBS lib...]
#     [LINK_COMPONENTS component...])
function(moe_add_tool name)
  cmake_parse_arguments(ARG "" ""
    "DEPENDS;LINK_LIBS;MLIR_LIBS;LINK_COMPONENTS" ${ARGN})
  set(LLVM_LINK_COMPONENTS Support ${ARG_LINK_COMPONENTS})
  list(APPEND LLVM_COMMON_DEPENDS mlir-headers ${ARG_DEPENDS})
  add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  # The dylib goes first: a static archive that names upstream symbols must find
  # them there.
  mlir_target_link_libraries(${name} PRIVATE MLIRIR ${ARG_MLIR_LIBS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  moe_set_target_flags(${name})
  set_target_properties(${name} PROPERTIES FOLDER "MoE/Tools")
  set_property(GLOBAL APPEND PROPERTY MOE_TEST_DEPENDS ${name})
endfunction()

# Adds a GoogleTest binary `name`, which must end in `Tests`, and registers it
# with the unit test suite.
#
#   moe_add_unittest(MoEFooTests FooTest.cpp ... [LINK_LIBS lib...])
function(moe_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;LINK_COMPONENTS" ${ARGN})
  set(LLVM_LINK_COMPONENTS Support ${ARG_LINK_COMPONENTS})
  list(APPEND LLVM_COMMON_DEPENDS mlir-headers)
  # lit searches the unit test folder for binaries, so keep them there instead
  # of <build>/bin.
  set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_CURRENT_BINARY_DIR})
  add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  mlir_target_link_libraries(${name} PRIVATE MLIRIR)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main)
  moe_set_target_flags(${name})
  set_target_properties(${name} PROPERTIES FOLDER "MoE/Unit Tests")
  set_property(GLOBAL APPEND PROPERTY MOE_TEST_DEPENDS ${name})
endfunction()
