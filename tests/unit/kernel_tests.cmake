# Tests of the kernel IR and of the scheduler. The scheduler's run kernels in kernel_eval.c.
set(schedule_support schedule_support.c kernel_eval.c)

attnc_unit_test(kernel_text SOURCES kernel_text.c LIBS attnc_ir)
attnc_unit_test(kernel_build SOURCES kernel_build.c LIBS attnc_ir)
attnc_unit_test(schedule_elem SOURCES schedule_elem.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_norm SOURCES schedule_norm.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_online SOURCES schedule_online.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_read SOURCES schedule_read.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_tiles SOURCES schedule_tiles.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_scan SOURCES schedule_scan.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_large SOURCES schedule_large.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_random SOURCES schedule_random.c ${schedule_support} LIBS attnc_passes)
attnc_unit_test(schedule_manual SOURCES schedule_manual.c ${schedule_support} LIBS attnc_passes
                ARGS ${PROJECT_SOURCE_DIR}/ir/IR.md)
attnc_unit_test(schedule_step SOURCES schedule_step.c step_support.c kernel_eval.c
                LIBS attnc_passes attnc_backend)
attnc_unit_test(domains SOURCES domains.c LIBS attnc_passes)
attnc_unit_test(schedule_online_tile SOURCES schedule_online_tile.c ${schedule_support}
                LIBS attnc_passes)
