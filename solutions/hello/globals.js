/** Greets the user who opens the solution, in their language. The greeting is written to the solution's log. */
function onSolutionOpen(arg, queryParams) {
  eventsManager.addEventListener(EventType.greeted, (event, greeting) => {
    application.output(greeting)
    return true
  })
  const name = queryParams.name || i18n.getI18NMessage('hello.stranger')
  eventsManager.fireEventListeners(EventType.greeted, [i18n.getI18NMessage('hello.greeting', [name])])
}
