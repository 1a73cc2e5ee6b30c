# Whether the manual pages say what the programs say. Once is enough: in the release build.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(NAME man COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/man.sh" "${PROJECT_SOURCE_DIR}"
                              "${PROJECT_BINARY_DIR}/examples")
    set_tests_properties(man PROPERTIES TIMEOUT 60)
endif()
