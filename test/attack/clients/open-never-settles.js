// expect: closed
// alone: yes
function onSolutionOpen() {
  return new Promise(() => {})
}
