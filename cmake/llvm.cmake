# LLVM, through llvm-config: its CMake package would ask for the development files of every library that
# LLVM itself was linked with. The shared libLLVM is used; static linking costs a hundred megabytes.
#
# Gives the target attnc_llvm (include path, definitions, library; only backend/ links it), ATTNC_LLVM_BIN
# (the folder of FileCheck, not, ld.lld) and ATTNC_LLVM_VERSION.

find_program(ATTNC_LLVM_CONFIG
    NAMES llvm-config-${ATTNC_LLVM} llvm-config
    HINTS /usr/lib/llvm-${ATTNC_LLVM}/bin
    DOC "llvm-config of LLVM ${ATTNC_LLVM}")
if(NOT ATTNC_LLVM_CONFIG)
    attnc_missing("LLVM ${ATTNC_LLVM}" llvm-${ATTNC_LLVM}-dev)
endif()

function(attnc_ask_llvm result)
    execute_process(COMMAND ${ATTNC_LLVM_CONFIG} ${ARGN}
        OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "'${ATTNC_LLVM_CONFIG} ${ARGN}' failed.\n"
            "On Debian or Ubuntu: apt-get install llvm-${ATTNC_LLVM}-dev")
    endif()
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

attnc_ask_llvm(ATTNC_LLVM_VERSION --version)
if(NOT ATTNC_LLVM_VERSION MATCHES "^${ATTNC_LLVM}\\.")
    message(FATAL_ERROR "${ATTNC_LLVM_CONFIG} is LLVM ${ATTNC_LLVM_VERSION}, but ATTNC_LLVM is ${ATTNC_LLVM}.\n"
        "On Debian or Ubuntu: apt-get install llvm-${ATTNC_LLVM}-dev\n"
        "Or choose the version that is there: cmake -DATTNC_LLVM=NN")
endif()
if(ATTNC_LLVM_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "LLVM ${ATTNC_LLVM_VERSION} is too old; 19 is the oldest that works.")
endif()
attnc_ask_llvm(llvm_include --includedir)
attnc_ask_llvm(llvm_libdir --libdir)
attnc_ask_llvm(llvm_libs --link-shared --libs)
attnc_ask_llvm(ATTNC_LLVM_BIN --bindir)

add_library(attnc_llvm INTERFACE)
target_include_directories(attnc_llvm SYSTEM INTERFACE ${llvm_include})
target_link_directories(attnc_llvm INTERFACE ${llvm_libdir})
separate_arguments(llvm_libs)
target_link_libraries(attnc_llvm INTERFACE ${llvm_libs})
message(STATUS "LLVM ${ATTNC_LLVM_VERSION} from ${llvm_libdir}")
