# undertow-config.cmake: find_package(undertow) provides the target undertow::undertow.
include("${CMAKE_CURRENT_LIST_DIR}/undertow-targets.cmake")
get_filename_component(_undertow_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set_target_properties(undertow::undertow PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_undertow_root}/include")
target_compile_features(undertow::undertow INTERFACE cxx_std_20)
