# Checks of the source tree itself, run and counted with the other tests.
kelda_command_test(NAME check_floors COMMAND "${PROJECT_SOURCE_DIR}/tools/check_floors.py" LABELS check)
kelda_command_test(NAME check_format COMMAND "${PROJECT_SOURCE_DIR}/tools/format.py" --check LABELS check)
kelda_command_test(NAME tools_test COMMAND "${PROJECT_SOURCE_DIR}/tools/tools_test.py" LABELS check)
kelda_command_test(NAME install_test LABELS check
  COMMAND "${PROJECT_SOURCE_DIR}/tools/install_test/run.sh" "${PROJECT_BINARY_DIR}")
