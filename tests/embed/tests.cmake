# One shared object used as an embedder would.
add_executable(embed_host ${CMAKE_CURRENT_LIST_DIR}/host.c)
target_include_directories(embed_host PRIVATE ${PROJECT_SOURCE_DIR})
find_package(Threads REQUIRED)
target_link_libraries(embed_host PRIVATE attn_runtime Threads::Threads ${CMAKE_DL_LIBS})
attnc_add_test(embed.bahdanau embed ${CMAKE_CURRENT_LIST_DIR}/run.sh $<TARGET_FILE:attnc> $<TARGET_FILE:embed_host>
    ${CMAKE_CURRENT_BINARY_DIR}/embed)
