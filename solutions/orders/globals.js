/** Runs once for each client, before its first form is shown. */
async function onSolutionOpen(arg, queryParams) {
  requireApproval(forms.order)
  await setUpDatabase()
}

/** Approves an order unless a listener refuses. @returns the reasons for the refusal; empty if approved */
async function approveOrder(id) {
  const order = await readOrder(id)
  const problems = []
  // Listeners add the reasons why the order cannot be approved. The module `approval` declares the event type.
  if (!eventsManager.fireEventListeners(EventType.orderApproving, [order, problems])) return problems
  const isDone = await setApproved(order)
  return isDone ? [] : [i18n.getI18NMessage('orders.changed_meanwhile', [order.number])]
}

/** Formats an amount in the user's language, for use in a text. Fields and tables format amounts automatically. */
function money(amount) {
  return amount.toLocaleString(i18n.getCurrentLanguage(), { style: 'currency', currency: 'EUR' })
}

/** Shows text, or "i18n:" followed by a key, in the form's message line. Empty text hides the line. */
function showMessage(form, text) {
  form.elements.message.label = text
  form.elements.message.visible = Boolean(text)
}
