# Whether the documents still tell the truth: docs.py runs their commands with the programs of the
# release build, and looks up the names in them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    find_program(TAPEGRAD_PYTHON3 python3)
    if(TAPEGRAD_PYTHON3)
        add_test(NAME docs
                 COMMAND "${TAPEGRAD_PYTHON3}" "${CMAKE_CURRENT_SOURCE_DIR}/docs.py"
                         "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}" "${CMAKE_C_COMPILER}")
    else()
        add_test(NAME docs COMMAND "${CMAKE_COMMAND}" -E echo "docs: skipped: there is no python3")
        set_tests_properties(docs PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")
    endif()
    set_tests_properties(docs PROPERTIES TIMEOUT 120)
endif()
