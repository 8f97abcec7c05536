# HUDDLE_SANITIZE: what the presets asan and tsan add to every target, and the settings under which their tests run.
#
# libtorch itself is not instrumented, so a sanitizer sees Huddle's own code, what it inlines from libtorch's headers,
# and every allocation. Tried with models trained in several threads and tensors handed between them:
#
# address  runs clean without any exception, leaks included. Use of a dead stack frame is not looked for by default;
#          programs that run beside their worker invite just that mistake, so it is switched on.
# thread   reports races inside libtorch: its OpenMP barriers and its caches synchronise by atomics that nobody
#          instrumented. ignore_noninstrumented_modules drops what happens inside such libraries but keeps the order
#          that their locks establish. So a race on a tensor's memory is seen where Huddle's code touches the memory
#          itself, not where two libtorch operations do. Huddle's code must not run inside at::parallel_for: the
#          sanitizer does not know OpenMP's barriers and would report races that are none.

set(HUDDLE_TEST_ENVIRONMENT "")
if(HUDDLE_SANITIZE)
  # Instrumented code hides from GCC 12 that an optional is looked at before its value is.
  target_compile_options(huddle_settings INTERFACE
    -fsanitize=${HUDDLE_SANITIZE} -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(huddle_settings INTERFACE -fsanitize=${HUDDLE_SANITIZE})
  if(HUDDLE_SANITIZE STREQUAL "address")
    set(HUDDLE_TEST_ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=1")
  elseif(HUDDLE_SANITIZE STREQUAL "thread")
    set(HUDDLE_TEST_ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1")
  else()
    message(FATAL_ERROR "HUDDLE_SANITIZE is '${HUDDLE_SANITIZE}': it must be address or thread")
  endif()
endif()
