# Whether every build and every kernel table trains to the same bits. Once is enough: in the release
# build, whose own tests take the least time.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(NAME same_bits
             COMMAND "${CMAKE_COMMAND}" -E env "CMAKE=${CMAKE_COMMAND}" "GENERATOR=${CMAKE_GENERATOR}"
                     sh "${CMAKE_CURRENT_SOURCE_DIR}/same_bits.sh" "${PROJECT_SOURCE_DIR}"
                     "${CMAKE_CURRENT_SOURCE_DIR}/golden/article_checksum.txt"
                     ${tapegrad_kernel_tables})
    set_tests_properties(same_bits PROPERTIES TIMEOUT 300 PROCESSORS 2)
endif()
