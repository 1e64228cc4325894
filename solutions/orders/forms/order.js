const FIELDS = ['customer', 'mail', 'ordered', 'amount', 'status', 'notes']

// A variable in a form's script belongs to that form, and keeps its value while the client is open.
let order = null

/** Called by other forms: `forms.order.edit(id)`. @param id null for a new order */
async function edit(id) {
  await fill(id === null ? newOrder() : await readOrder(id))
  showMessage(forms.order, '')
  forms.order.elements.pages.value = 'general'
  // Users without the permission Edit see the same form, read-only. The Save button's definition requires the
  // permission.
  forms.order.elements.fields.enabled = security.hasPermission('Edit')
  application.showForm('order')
}

function newOrder() {
  return { id: null, number: '', customer: '', mail: '', ordered: today(), amount: null, status: 'new', notes: '' }
}

async function fill(values) {
  const { elements } = forms.order
  order = values
  for (const name of FIELDS) {
    elements[name].value = order[name]
    elements[name].error = ''
  }
  forms.order.title = order.id === null ? 'i18n:order.new' : i18n.getI18NMessage('order.title', [order.number])
  if (security.hasPermission('Approve')) await fillHistory()
}

async function fillHistory() {
  forms.order.elements.history.rows = order.id === null ? [] : await readHistory(order.id)
}

/** Checks the date. Afterwards, the module's listener checks the same change. */
function checkDate(oldValue, newValue, event) {
  return newValue <= today() || 'i18n:order.in_future'
}

function today() {
  return new Date().toISOString().slice(0, 10)
}

/**
 * The platform has already checked that all required fields have valid values. Once this function has returned, the
 * platform treats the user's changes as saved, unless the function returned false.
 */
async function save() {
  const { elements } = forms.order
  const values = { ...order }
  for (const name of FIELDS) values[name] = elements[name].value
  const stored = await saveOrder(values)
  if (stored) await fill(stored)
  showMessage(forms.order, stored ? 'i18n:order.saved' : 'i18n:order.changed_meanwhile')
  return Boolean(stored)
}

/** If there are unsaved changes, the platform asks the user before it shows the other form. */
function goBack() {
  application.showForm('orders')
}
