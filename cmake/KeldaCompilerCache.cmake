# Compiles through ccache when it is installed. Precompiled headers need the sloppiness (ccache manual,
# "Precompiled headers"); the inode cache saves hashing the large .gch file for every source.
option(KELDA_CCACHE "Compile through ccache when it is installed" ON)
find_program(KELDA_CCACHE_PROGRAM ccache)
if(KELDA_CCACHE AND KELDA_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=true "${KELDA_CCACHE_PROGRAM}")
endif()
