# Libraries, public headers and the package that find_package(trifold) reads. Headers lie in one folder, include/trifold, and include one
# another by it; trifold/trifold.hpp and trifold/trifold.h are what users include. docs/abi.md says what may change.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/generator/trifold ${PROJECT_SOURCE_DIR}/runtime/trifold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Before 1.0 a new minor version may break the binary interface, so it is part of the name.
set_target_properties(trifold trifold_generator PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                           INSTALL_RPATH "$ORIGIN")
set_target_properties(trifold_generator PROPERTIES EXPORT_NAME generator)
target_compile_features(trifold_generator PUBLIC cxx_std_20)
target_include_directories(trifold_generator INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS trifold trifold_generator EXPORT trifoldTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/trifold)
install(EXPORT trifoldTargets NAMESPACE trifold:: DESTINATION ${package})
configure_package_config_file(trifoldConfig.cmake.in trifoldConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(trifoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfigVersion.cmake DESTINATION ${package})
