# Unit tests of ir/graph, the interpreter and the pass manager. attnc_unit_test is the caller's.
set(ir_support graph_support.c)

attnc_unit_test(dim_terms SOURCES dim_terms.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(graph_build SOURCES graph_build.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(graph_text SOURCES graph_text.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(graph_wrong SOURCES graph_wrong.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(graph_manual SOURCES graph_manual.c ${ir_support} LIBS attnc_ir
                ARGS ${PROJECT_SOURCE_DIR}/ir/IR.md)
attnc_unit_test(interp_ops SOURCES interp_ops.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(interp_reduce SOURCES interp_reduce.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(interp_online SOURCES interp_online.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(interp_scan SOURCES interp_scan.c ${ir_support} LIBS attnc_ir)
attnc_unit_test(pass_fuse SOURCES pass_fuse.c ${ir_support} LIBS attnc_passes
                ARGS ${PROJECT_SOURCE_DIR}/tests/passes/fuse-softmax-sum)
attnc_unit_test(pass_manager SOURCES pass_manager.c ${ir_support} LIBS attnc_passes)
attnc_unit_test(pass_simplify SOURCES pass_simplify.c ${ir_support} LIBS attnc_passes)
