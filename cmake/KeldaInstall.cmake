# libkelda.so and the install rules. The pinned libraries go into <libdir>/kelda, out of the way of the
# system's own; with a system Arrow or DuckDB (KELDA_ARROW_ROOT, KELDA_DUCKDB_LIB) nothing is bundled.
set(_private_libdir "${CMAKE_INSTALL_LIBDIR}/kelda")
set(_cmakedir "${CMAKE_INSTALL_LIBDIR}/cmake/kelda")
set(_third_party "${CMAKE_INSTALL_INCLUDEDIR}/kelda/third_party")

# --- libkelda.so: the core and the C ABI, without the SQL door ---
set(_libraries kelda_build_info)
foreach(folder IN LISTS KELDA_CORE_FOLDERS ITEMS capi)
  if(TARGET kelda_${folder})
    list(APPEND _libraries kelda_${folder})
  endif()
endforeach()
add_library(kelda_shared SHARED "${PROJECT_SOURCE_DIR}/cmake/shared_library.cc")
list(JOIN _libraries "," _joined)
# A static library is linked whole here although it is also a plain dependency of its neighbours.
set_target_properties(kelda_shared PROPERTIES
  OUTPUT_NAME kelda VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}"
  LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${_joined}"
  INSTALL_RPATH "$ORIGIN/kelda")
target_link_libraries(kelda_shared PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${_joined}>")

# --- What is installed ---
foreach(target IN ITEMS kelda_cli kelda_program kelda)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../${_private_libdir}")
    install(TARGETS ${target} RUNTIME)
  endif()
endforeach()
install(TARGETS kelda_shared LIBRARY)
if(KELDA_BUNDLED_LIBRARIES)
  install(FILES ${KELDA_BUNDLED_LIBRARIES} DESTINATION "${_private_libdir}")
endif()
if(KELDA_BUNDLED_ARROW_INCLUDE)
  install(DIRECTORY "${KELDA_BUNDLED_ARROW_INCLUDE}/arrow" "${KELDA_BUNDLED_ARROW_INCLUDE}/parquet"
          DESTINATION "${_third_party}"
          PATTERN "flight" EXCLUDE PATTERN "python" EXCLUDE PATTERN "*test*" EXCLUDE)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kelda" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(folder IN LISTS KELDA_CORE_FOLDERS)
  if(TARGET kelda_${folder})
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/kelda/${folder}"
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/kelda"
            FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" REGEX "(/|_)test[_.][^/]*$" EXCLUDE)
  endif()
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/kelda")

# --- For those who build against it ---
include(CMakePackageConfigHelpers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kelda-config.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/kelda-config.cmake"
  INSTALL_DESTINATION "${_cmakedir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/kelda-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH KELDA_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
if(KELDA_ARROW_ROOT)
  set(KELDA_PC_ARROW_CFLAGS "-isystem ${KELDA_SYSTEM_ARROW_INCLUDE}")
  set(KELDA_PC_ARROW_LIBDIR "${KELDA_SYSTEM_ARROW_LIBDIR}")
else()
  set(KELDA_PC_ARROW_CFLAGS "-isystem \${includedir}/kelda/third_party")
  set(KELDA_PC_ARROW_LIBDIR "\${libdir}/kelda")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/kelda.pc.in" "${PROJECT_BINARY_DIR}/generated/kelda.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/kelda-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/kelda-config-version.cmake" DESTINATION "${_cmakedir}")
install(FILES "${PROJECT_BINARY_DIR}/generated/kelda.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
