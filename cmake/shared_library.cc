// libkelda.so is made of the static libraries of the core, linked whole; CMake wants one source of
// its own.
