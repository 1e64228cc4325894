const APPROVAL_LIMIT = 10000

/** Called once by the solution that uses this module. @param form must have the elements `status` and `amount` */
function requireApproval(form) {
  eventsManager.addEventListener(EventType.orderApproving, mayBeApproved)
  // With the form as context, the listener is called only for changes in this form.
  eventsManager.addEventListener(EventType.onElementDataChange, mayBeChanged, form)
}

/** Adds the reason for a refusal to `problems`. The code that fired the event shows it to the user. */
function mayBeApproved(event, order, problems) {
  const problem = problemOf(order)
  if (problem) problems.push(i18n.getI18NMessage(problem, [order.number, money(APPROVAL_LIMIT)]))
  // All listeners must return true. A listener that returns nothing rejects the approval.
  return !problem
}

function problemOf(order) {
  if (order.status !== 'new') return 'approval.not_new'
  if (order.amount <= APPROVAL_LIMIT) return null
  if (!security.hasPermission('Approve')) return 'approval.needs_permission'
  return order.notes.trim() === '' ? 'approval.needs_note' : null
}

/** Runs after the form's own function for the same event, with the same arguments. */
function mayBeChanged(event, oldValue, newValue) {
  const { status, amount } = forms[event.formName].elements
  if (event.elementName === 'status' && oldValue === 'new') return refuse(status, 'i18n:approval.only_by_button')
  if (event.elementName === 'amount' && status.value !== 'new') return refuse(amount, 'i18n:approval.amount_stays')
  return true
}

function refuse(element, text) {
  element.error = text
  return false
}
