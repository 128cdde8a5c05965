# Libraries, public headers, the package that find_package(trifold) reads, and what pkg-config reads. Headers lie in one folder,
# include/trifold, and include one another by it; trifold/trifold.hpp and trifold/trifold.h are what users include. docs/users/abi.md says what
# may change.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/generator/trifold ${PROJECT_SOURCE_DIR}/runtime/trifold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(libraries trifold trifold_generator)
set(trifold_default static) # the library that trifold::trifold names
set_target_properties(trifold PROPERTIES EXPORT_NAME static)
set_target_properties(trifold_generator PROPERTIES EXPORT_NAME generator)
target_compile_features(trifold_generator PUBLIC cxx_std_20)
target_include_directories(trifold_generator INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(TRIFOLD_SHARED)
    list(APPEND libraries trifold_shared)
    # Before 1.0 a new minor version may break the binary interface, so it is part of the name.
    set_target_properties(trifold_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                    EXPORT_NAME shared)
    if(BUILD_SHARED_LIBS)
        set(trifold_default shared)
    endif()
endif()
install(TARGETS ${libraries} EXPORT trifoldTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/trifold)
install(EXPORT trifoldTargets NAMESPACE trifold:: DESTINATION ${package})
configure_package_config_file(trifoldConfig.cmake.in trifoldConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(trifoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfigVersion.cmake DESTINATION ${package})

# Libraries that the static ones need are named here rather than as packages: pkg-config would ask for those of users of the shared library too.
set(pc_needed "-lfmt -lcrypto -lstdc++ -lm -ldl -pthread")
if(TRIFOLD_STATIC)
    string(REPLACE "-lfmt " "" pc_needed ${pc_needed})
endif()
if(TRIFOLD_SHARED)
    set(pc_libs_private "-ltrifold_generator ${pc_needed}")
else()
    set(pc_libs "-ltrifold_generator ${pc_needed}")
endif()
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(trifold.pc.in trifold.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trifold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
