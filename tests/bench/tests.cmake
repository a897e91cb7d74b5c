# bench-worker: the programs of this folder as a contestant of a side-by-side benchmark (README.md).
file(GLOB bench_programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.attn)
attnc_embed(${CMAKE_CURRENT_BINARY_DIR}/bench_programs.c HEADER tests/bench/worker.h
    TYPE "struct workload" TABLE workloads COUNT n_workloads FILES ${bench_programs})

add_executable(bench-worker
    ${CMAKE_CURRENT_LIST_DIR}/worker.c ${CMAKE_CURRENT_LIST_DIR}/case.c ${CMAKE_CURRENT_LIST_DIR}/kinds.c
    ${CMAKE_CURRENT_LIST_DIR}/model.c ${CMAKE_CURRENT_BINARY_DIR}/bench_programs.c)
set_target_properties(bench-worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_include_directories(bench-worker PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bench-worker PRIVATE
    attnc_warnings attnc_frontend attnc_passes attnc_backend attnc_ir attnc_base attn_runtime Threads::Threads m)
attnc_add_test(bench.answers bench ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check.py
    $<TARGET_FILE:bench-worker>)

# One call by a host that is nothing else, for measure.py.
add_executable(bench-call ${CMAKE_CURRENT_LIST_DIR}/call.c)
set_target_properties(bench-call PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_include_directories(bench-call PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(bench-call PRIVATE attnc_warnings attn_runtime ${CMAKE_DL_LIBS})
