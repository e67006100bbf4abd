// Computes for ever.
// expect: timeout
// timeout: 1
for (;;) {}
