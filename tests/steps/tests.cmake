# Recurrences step by step (see run): every one among the examples, and programs that look back in odd ways.
file(GLOB steps CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.attn)
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.attn)
attnc_add_test(steps.programs programs ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run ${steps})
attnc_add_test(steps.one_step programs ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run T=1 M=2 ${steps})
attnc_add_test(steps.long programs ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run T=9 M=12 ${steps})
attnc_add_test(steps.examples programs ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run ${examples})
set_tests_properties(steps.examples PROPERTIES TIMEOUT 900)
