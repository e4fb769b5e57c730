# Flags by compiler and system. A flag that the compiler does not know, or only warns about, is left out.
include(CheckCXXCompilerFlag)

# Sets `out` to the flags in ARGN that the compiler accepts without a warning.
function(flags_known out)
  set(found)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_FLAGS -Werror)  # Clang only warns about an argument that it does not use
  foreach(flag ${ARGN})
    string(MAKE_C_IDENTIFIER "UNDERTOW_HAS${flag}" variable)
    check_cxx_compiler_flag(${flag} ${variable})
    if(${variable})
      list(APPEND found ${flag})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

if(WIN32)
  message(FATAL_ERROR "Undertow does not support Windows yet: the core shares thread-local variables between its library and the "
                      "extension module, and uses POSIX threads and fork handlers. Use Linux in WSL.")
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "Undertow needs GCC or Clang, whose vector types its kernels are written in; this is ${CMAKE_CXX_COMPILER_ID}.")
endif()

# Tables of what nodes saved contain offsets of members: see core/graph/saved_fields.h.
set(WARNING_FLAGS -Wall -Wextra -Wno-invalid-offsetof)
if(UNDERTOW_WERROR)
  list(APPEND WARNING_FLAGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Warnings to disable, in this order:
  # - GCC's ivdep states that the pointers of a loop do not overlap; Clang compares them at run time.
  # - Conditions in vectorized loops are joined by | and &, which have no branches.
  # - std::stable_sort of GCC 12's library uses a function that it marks as deprecated itself; GCC does not report it.
  list(APPEND WARNING_FLAGS -Wno-unknown-pragmas -Wno-bitwise-instead-of-logical -Wno-deprecated-declarations)
endif()
flags_known(COMMON_FLAGS -Wno-psabi -fno-semantic-interposition -fno-plt -fcx-limited-range)
flags_known(VECTORIZE -ftree-vectorize -fvect-cost-model=dynamic)
flags_known(FLOAT_FLAGS -fno-math-errno -fno-trapping-math)
flags_known(SCALAR_TAILS --param=vect-epilogues-nomask=0)
flags_known(PEEL_LOOPS -fpeel-loops)
# No unwind table for a function that cannot throw: 0.3 MB in the kernels. GCC leaves them out only if it writes the
# tables itself, not the assembler.
flags_known(FEW_UNWIND_TABLES -fno-asynchronous-unwind-tables -fno-dwarf2-cfi-asm)

# Calls inside the library are bound directly, and unused sections are removed. Symbol names stay for profilers; debug
# information is removed.
if(APPLE)
  set(LIBRARY_LINK_FLAGS -Wl,-dead_strip)
  set(STRIP_LINK_FLAGS -Wl,-S)
  set(LOADER_PATH "@loader_path")
else()
  set(LIBRARY_LINK_FLAGS -Wl,-Bsymbolic -Wl,--gc-sections)
  set(STRIP_LINK_FLAGS -Wl,--strip-debug)
  set(LOADER_PATH "$ORIGIN")
  # If libstdc++ is linked statically, its symbols stay inside: some are unique in a process and would replace those of
  # other libraries.
  add_link_options(-Wl,--exclude-libs,ALL)
endif()
