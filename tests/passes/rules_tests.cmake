# Every rewrite rule is reached by some test or example.
attnc_add_test(passes.rules ir ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rules.py ${PROJECT_SOURCE_DIR})
# Every softmax of the examples is fused, but for a list of reasons.
attnc_add_test(passes.fused ir ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/fused.py ${PROJECT_SOURCE_DIR})
