// expect: closed
function onSolutionOpen() {
  return new Promise(() => {})
}
