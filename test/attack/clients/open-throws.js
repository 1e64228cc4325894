// expect: closed
// alone: yes
function onSolutionOpen() {
  throw new Error('nobody comes in')
}
