# What is installed and packed, in three components: the program, the libraries that other programs load, and what it
# takes to build against those. Every file says where it lies relative to the others, so that a tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(regtune_components program library dev)
set(regtune_packages regtune libregtune${PROJECT_VERSION_MAJOR} libregtune-dev)
set(regtune_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/regtune)

install(TARGETS regtune RUNTIME COMPONENT program)

# What the program says about itself, in the places where shells and man look for it.
set(shown ${CMAKE_CURRENT_BINARY_DIR}/shown)
file(MAKE_DIRECTORY ${shown})
add_custom_command(TARGET regtune POST_BUILD VERBATIM
  COMMAND sh -c "\"$1\" completion bash >regtune && \"$1\" completion zsh >_regtune && \"$1\" completion fish >regtune.fish && \"$1\" help man >regtune.1"
    regtune $<TARGET_FILE:regtune>
  WORKING_DIRECTORY ${shown})
install(FILES ${shown}/regtune DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${shown}/_regtune DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
install(FILES ${shown}/regtune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(FILES ${shown}/regtune.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)

set_target_properties(regtune_db_shared PROPERTIES EXPORT_NAME db)
set_target_properties(regtune_db PROPERTIES EXPORT_NAME db_static)
set_target_properties(regtune_jit_shared PROPERTIES EXPORT_NAME jit)
install(TARGETS regtune_db_shared regtune_db regtune_jit_shared EXPORT regtune_targets
  LIBRARY COMPONENT library NAMELINK_COMPONENT dev
  ARCHIVE COMPONENT dev
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY db/include/ jit/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

install(EXPORT regtune_targets NAMESPACE regtune:: FILE regtune_targets.cmake
  DESTINATION ${regtune_cmake_folder} COMPONENT dev)
configure_package_config_file(cmake/regtuneConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/packaging/regtuneConfig.cmake
  INSTALL_DESTINATION ${regtune_cmake_folder} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/packaging/regtuneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)  # until 1.0.0 a minor version may break
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/packaging/regtuneConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/packaging/regtuneConfigVersion.cmake
  cmake/regtune_target.cmake
  DESTINATION ${regtune_cmake_folder} COMPONENT dev)

foreach(component package IN ZIP_LISTS regtune_components regtune_packages)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${component})
endforeach()

# From <libdir>/pkgconfig to the prefix, wherever that is by then.
file(RELATIVE_PATH REGTUNE_UP_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" REGTUNE_UP_TO_PREFIX ${REGTUNE_UP_TO_PREFIX})
foreach(library IN ITEMS regtune-db regtune-jit)
  configure_file(cmake/${library}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/packaging/${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packaging/${library}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

# cpack -G DEB
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME regtune)
set(CPACK_PACKAGE_VENDOR regtune)
set(CPACK_PACKAGE_CONTACT "the regtune maintainers <maintainers@regtune.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "register budgets for CUDA kernels, measured")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${regtune_components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
find_program(DPKG_SHLIBDEPS_PROGRAM dpkg-shlibdeps)
if(DPKG_SHLIBDEPS_PROGRAM)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
endif()
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "regtune compiles a CUDA kernel under every register budget, times each distinct machine code on the GPU, checks every
output, and keeps the fastest budget.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME regtune)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "cuda-nvrtc-13-0, libnvjitlink-13-0")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
  "Answers at run time which register budget was tuned for a CUDA kernel on this GPU, from regtune's cache files.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libregtune${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "Headers, static library, and the files for CMake and pkg-config, to build programs that ask regtune's cache.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libregtune-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libregtune${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libsqlite3-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS regtune)
include(CPack)
