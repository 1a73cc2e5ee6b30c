# tapegrad_library(name): the library from the sources of all layers. Sources are found, not listed,
# so that a new operation is one file.
find_package(ZLIB REQUIRED)

function(tapegrad_library name)
    set(sources)
    foreach(layer tensor autograd autograd/ops nn optim train)
        file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${layer}/*.c")
        list(APPEND sources ${found})
    endforeach()
    list(APPEND sources "${PROJECT_SOURCE_DIR}/tensor/kernels/kernels.c")

    add_library(${name} STATIC ${sources})
    foreach(table ${tapegrad_kernel_tables})
        set(object ${name}_kernels_${table})
        add_library(${object} OBJECT "${PROJECT_SOURCE_DIR}/tensor/kernels/table.c")
        target_compile_definitions(${object} PRIVATE TGI_KERNELS_NAME=${table})
        target_compile_options(${object} PRIVATE ${tapegrad_flags_${table}} -fno-math-errno
                                                 -fno-trapping-math)
        string(TOUPPER ${table} upper)
        target_compile_definitions(${name} PRIVATE TGI_KERNELS_${upper}=1)
        if(name MATCHES "_f64$")
            target_compile_definitions(${object} PRIVATE TG_F64=1)
        endif()
        target_include_directories(${object} PRIVATE "${PROJECT_SOURCE_DIR}")
        target_link_libraries(${object} PRIVATE tapegrad_compiler)
        set_target_properties(${object} PROPERTIES C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
        if(NOT TAPEGRAD_IS_TOP_LEVEL)
            set_target_properties(${object} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
        target_sources(${name} PRIVATE $<TARGET_OBJECTS:${object}>)
    endforeach()

    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200809L
                                               TGI_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${name} PRIVATE tapegrad_compiler ZLIB::ZLIB m)
    set_target_properties(${name} PROPERTIES C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
    if(NOT TAPEGRAD_IS_TOP_LEVEL) # a project that contains this one builds what it links
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endfunction()
