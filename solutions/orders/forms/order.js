const FIELDS = ['customer', 'mail', 'ordered', 'amount', 'status', 'notes']

// What a script declares stays as long as the client is open, and is this form's own.
let order = null
let saved = ''
let warnedOf = ''

/** Other forms call it: `forms.order.edit(id)`. @param id null: a new order */
async function edit(id) {
  await fill(id === null ? newOrder() : await readOrder(id))
  tell(forms.order, '')
  forms.order.elements.pages.value = 'general'
  // Whoever may not change orders sees the same form. The button Save asks for the permission by itself.
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
  saved = entered()
}

async function fillHistory() {
  const changes = order.id === null ? [] : await readHistory(order.id)
  forms.order.elements.history.rows = changes.map((change) => {
    return { ...change, status: i18n.getI18NMessage(`status.${change.status}`) }
  })
}

/** All fields in one text, to compare. */
function entered() {
  return JSON.stringify(FIELDS.map((name) => forms.order.elements[name].value))
}

/** The form's own check. After it the module's listener is asked about the same change. */
function checkDate(oldValue, newValue, event) {
  return newValue <= today() || 'i18n:order.in_future'
}

function today() {
  return new Date().toISOString().slice(0, 10)
}

/** That all required fields are there, and well written, the platform has seen to. */
async function save() {
  const { elements } = forms.order
  const values = { ...order }
  for (const name of FIELDS) values[name] = elements[name].value
  const stored = await saveOrder(values)
  if (stored) await fill(stored)
  tell(forms.order, stored ? 'i18n:order.saved' : 'i18n:order.changed_meanwhile')
}

function goBack() {
  application.showForm('orders')
}

/** Unsaved changes keep the form once; whoever goes back again without another change means it. */
function onBeforeHide(event) {
  const now = entered()
  if (now === saved || now === warnedOf) return true
  warnedOf = now
  tell(forms.order, 'i18n:order.unsaved')
  return false
}
