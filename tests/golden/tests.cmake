# Recorded cases by every route: golden.own runs the few that the repository holds (cases/),
# golden.more a folder of further ones (-D ATTNC_GOLDEN_DIR=..., skipped where there is none).
add_executable(golden_aot_host ${CMAKE_CURRENT_LIST_DIR}/aot_host.c)
target_link_libraries(golden_aot_host PRIVATE attn_io attn_runtime ${CMAKE_DL_LIBS})
if(TARGET attnc_warnings)
    target_link_libraries(golden_aot_host PRIVATE attnc_warnings)
endif()
set_target_properties(golden_aot_host PROPERTIES
    OUTPUT_NAME aot_host RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/golden)

set(ATTNC_GOLDEN_DIR "" CACHE PATH "Folder of further recorded cases, for the test golden.more")

set(golden_run ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run -j2
    --attnc $<TARGET_FILE:attnc> --host $<TARGET_FILE:golden_aot_host>)
attnc_add_test(golden.own golden ${golden_run} --routes interp,jit,aot,step,prefill ${CMAKE_CURRENT_LIST_DIR}/cases)
attnc_add_test(golden.more golden ${golden_run} -q --routes interp,jit,aot,step,prefill --if-present ${ATTNC_GOLDEN_DIR})
set_tests_properties(golden.more PROPERTIES TIMEOUT 3600)
