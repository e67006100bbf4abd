// Wants all memory there is.
// expect: script or timeout
const kept = [];
for (;;) kept.push(Buffer.alloc(10_000_000, 1));
