// expect: closed
function onSolutionOpen() {
  throw new Error('nobody comes in')
}
