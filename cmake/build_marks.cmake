# A source file selects how it is compiled by a comment line of its own near the top:
#   // build: small     for size: the time is not spent in its own code, or it runs rarely
#   // build: hot       for speed; linked first, so that the linker keeps its copies of functions defined in headers
#   // build: vectors   loops that the compiler should vectorize, for the baseline instruction set
#   // build: unrolled  kernels of one instruction set that need -O3 to unroll their inner loops
#   // build: scalar_tails  vectorized loops whose last elements are computed one by one, without narrower vectors: their
#                          elements cost little, and the loops become a quarter smaller
# A source whose name ends in .isa.cpp is compiled once per instruction set. A changed mark takes effect when CMake runs
# again.

# Sets `out` to the sources in ARGN that have the mark.
function(sources_marked mark out)
  set(found)
  foreach(source ${ARGN})
    file(STRINGS ${source} line REGEX "^// build: ${mark}$" LIMIT_INPUT 2048 LIMIT_COUNT 1)
    if(line)
      list(APPEND found ${source})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
