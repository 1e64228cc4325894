/** Runs when somebody opens the solution. `queryParams` has the parameters of the address. */
function onSolutionOpen(arg, queryParams) {
  eventsManager.addEventListener(EventType.greeted, noteGreeting)
  if (queryParams.name) forms.welcome.elements.name.value = queryParams.name
}

/** What it writes stands in the solution's log: see it with "solhost logs". */
function noteGreeting(event, name) {
  application.output(`greeted ${name}`)
  return true
}
