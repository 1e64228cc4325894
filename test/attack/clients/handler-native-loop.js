// expect: reopened
// also: error
// alone: yes
function attack() {
  ;/(a+)+$/.test(`${'a'.repeat(60)}b`)
  Array.prototype.indexOf.call({ length: Number.MAX_SAFE_INTEGER }, 1)
}
