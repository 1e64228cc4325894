/** Called when a user opens the solution. `queryParams` contains the parameters of the URL. */
function onSolutionOpen(arg, queryParams) {
  eventsManager.addEventListener(EventType.greeted, noteGreeting)
  if (queryParams.name) forms.welcome.elements.name.value = queryParams.name
}

/** Writes to the solution's log, which "solhost logs" shows. */
function noteGreeting(event, name) {
  application.output(`greeted ${name}`)
  return true
}
