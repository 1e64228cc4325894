/** Runs once for each client, before its first form is shown. */
async function onSolutionOpen(arg, queryParams) {
  requireApproval(forms.order)
  await setUpDatabase()
}

/** Asks whoever listens, then approves. @returns why not; an empty list when it is approved */
async function approveOrder(id) {
  const order = await readOrder(id)
  const problems = []
  // Listeners add what keeps the order from being approved. The event's type comes from the module `approval`.
  if (!eventsManager.fireEventListeners(EventType.orderApproving, [order, problems])) return problems
  const isDone = await setApproved(order)
  return isDone ? [] : [i18n.getI18NMessage('orders.changed_meanwhile', [order.number])]
}

/** An amount within a text, as the user's language writes it. Fields and tables do that by themselves. */
function money(amount) {
  return amount.toLocaleString(i18n.getCurrentLanguage(), { style: 'currency', currency: 'EUR' })
}

/** Shows a text, or "i18n:" and a key, in the form's line for messages; without a text the line goes. */
function tell(form, text) {
  form.elements.message.label = text
  form.elements.message.visible = Boolean(text)
}
