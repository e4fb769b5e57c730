# Toolchain: cross-compiles for 64-bit ARM on Linux with Debian's compiler; programs run in QEMU.
# tools/aarch64.sh uses it and creates the folder UNDERTOW_TARGET_SYSTEM with the target's libraries and Python.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES UNDERTOW_TARGET_SYSTEM)

find_program(UNDERTOW_QEMU NAMES qemu-aarch64-static qemu-aarch64 REQUIRED)
if(UNDERTOW_TARGET_SYSTEM)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${UNDERTOW_QEMU};-L;${UNDERTOW_TARGET_SYSTEM})
  # Python's headers include some that depend on the architecture. They come after the compiler's own, which match its C
  # library.
  set(CMAKE_CXX_FLAGS_INIT "-idirafter ${UNDERTOW_TARGET_SYSTEM}/usr/include")
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR ${UNDERTOW_QEMU};-L;/usr/aarch64-linux-gnu)
endif()
