// Never gets to the end of what it has promised.
// expect: timeout
// timeout: 1
const again = () => Promise.resolve().then(again);
again();
setTimeout(() => {}, 1e9);
