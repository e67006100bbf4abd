// Throws what is no error, with a text of ten megabytes.
// expect: script
throw { toString() { return "x".repeat(1e7); } };
