# forwarding_headers.cmake: write_forwarding_headers(TABLE FOLDER) writes the small headers that TABLE names: after a line
# <target.h>, each path is a header that includes only this target.
function(write_forwarding_headers table folder)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    if(line MATCHES "^<(.+)>$")
      set(target ${CMAKE_MATCH_1})
    else()
      file(CONFIGURE OUTPUT ${folder}/${line} CONTENT "#pragma once\n#include <${target}>\n" @ONLY)
    endif()
  endforeach()
endfunction()
