// expect: error
// presses: 5
function attack() {
  console.log('x'.repeat(1_000_000))
  const error = new Error('y'.repeat(5_000_000))
  error.stack = { toString: () => 'ESCAPED' }
  throw error
}
