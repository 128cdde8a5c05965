# Libraries, public headers and the package that find_package(trifold) reads. Headers lie in include/trifold as they do in
# the source tree; include/trifold/trifold.hpp and trifold.h are what users include. docs/abi.md says what may change.
include(CMakePackageConfigHelpers)

set(headers
    generator/cost.hpp generator/error.hpp generator/program.hpp generator/resources.hpp generator/schedule.hpp generator/spec.hpp generator/target.hpp
    runtime/binary.hpp runtime/device.hpp runtime/error.hpp runtime/plan.hpp runtime/solver.hpp runtime/trifold.h runtime/trifold.hpp runtime/version.h
    templates/args.h)
foreach(header IN LISTS headers)
    get_filename_component(directory ${header} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trifold/${directory})
endforeach()
foreach(name IN ITEMS trifold.hpp trifold.h)
    file(CONFIGURE OUTPUT ${name} CONTENT "#include \"runtime/${name}\"\n")
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trifold)
endforeach()

# Before 1.0 a new minor version may break the binary interface, so it is part of the name.
set_target_properties(trifold trifold_generator PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                           INSTALL_RPATH "$ORIGIN")
set_target_properties(trifold_generator PROPERTIES EXPORT_NAME generator)
target_compile_features(trifold_generator PUBLIC cxx_std_20)
target_include_directories(trifold_generator INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trifold>)
install(TARGETS trifold trifold_generator EXPORT trifoldTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/trifold)
install(EXPORT trifoldTargets NAMESPACE trifold:: DESTINATION ${package})
configure_package_config_file(trifoldConfig.cmake.in trifoldConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(trifoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/trifoldConfigVersion.cmake DESTINATION ${package})
