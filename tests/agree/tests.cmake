# The passes agree with each other and with the interpreter. A selection as tests; the whole, which
# takes two processors half an hour, as the target `agree`: all forms, and the cases of ATTNC_GOLDEN_DIR.
set(agree_tools --attnc $<TARGET_FILE:attnc> --host $<TARGET_FILE:golden_aot_host>)
set(agree_run ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run ${agree_tools})
set(agree_sizes ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/sizes ${agree_tools})
set(agree_forms ${CMAKE_CURRENT_LIST_DIR}/forms.attn)

set(agree_some)
foreach(model run_causal run_sliding_wide run_global_sliding run_length run_statistics run_grouped run_decode
        run_both_ways run_looking_back run_products)
    list(APPEND agree_some ${agree_forms}:${model})
endforeach()

attnc_add_test(agree.own golden ${agree_run} ${CMAKE_CURRENT_LIST_DIR}/../golden/cases)
set_tests_properties(agree.own PROPERTIES TIMEOUT 900)
attnc_add_test(agree.sizes golden ${agree_sizes} --count 4 ${agree_some})
attnc_add_test(agree.choices golden ${agree_sizes} --count 2 --disable-pass domains,fuse-maps ${agree_some})
attnc_add_test(agree.sums golden ${agree_sizes} --count 5 ${CMAKE_CURRENT_LIST_DIR}/sums.attn)

add_custom_target(agree USES_TERMINAL VERBATIM DEPENDS attnc golden_aot_host
    COMMAND ${agree_run} -j2 ${CMAKE_CURRENT_LIST_DIR}/../golden/cases ${ATTNC_GOLDEN_DIR}
    COMMAND ${agree_sizes} --count 4 --disable-pass domains,fuse-maps ${agree_forms}
    COMMAND ${agree_sizes} --count 4 --disable-pass tiles ${agree_forms}
    COMMAND ${agree_sizes} --count 40 --routes aot,jit ${CMAKE_CURRENT_LIST_DIR}/sums.attn
    COMMAND ${agree_sizes} --count 12 --routes aot,step,prefill ${agree_forms}
        --examples ${CMAKE_CURRENT_LIST_DIR}/../golden/cases "$<$<BOOL:${ATTNC_GOLDEN_DIR}>:--examples;${ATTNC_GOLDEN_DIR}>"
    COMMAND_EXPAND_LISTS)
