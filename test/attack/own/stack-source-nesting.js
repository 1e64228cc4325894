// expect: error
// shared: yes
// why: source text that is nested so deeply that the parser fails
function onSolutionOpen(arg, queryParams) { try { (0, eval)('['.repeat(2e5) + ']'.repeat(2e5)); } catch (e) { Function('return ' + '!'.repeat(1e6) + '1'); } return '{}'; }
