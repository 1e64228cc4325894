/** Loads the orders each time the form is shown, because they may have changed in the meantime. */
async function onShow(firstShow, event) {
  await load()
}

function onHide(event) {
  showMessage(forms.orders, '')
}

/** Also called when the search or the status changes. It returns nothing, so it accepts the change. */
async function load() {
  const { search, status, list } = forms.orders.elements
  const found = await findOrders(search.value, status.value)
  list.rows = found.map(({ id, number, customer, ordered, amount, status }) => {
    return { id, number, customer, ordered, amount, status }
  })
  const sum = found.reduce((total, { amount }) => total + amount, 0)
  list.label = i18n.getI18NMessage('orders.totals', [found.length, money(sum)])
  // Update the buttons, because rows that are no longer in the list are not selected any more.
  select(list.selected)
}

function select(ids) {
  forms.orders.elements.open.enabled = ids.length === 1
  forms.orders.elements.approve.enabled = ids.length > 0
  forms.orders.elements.remove.enabled = ids.length > 0
}

function createOrder() {
  return forms.order.edit(null)
}

function openSelected() {
  return openOrder(forms.orders.elements.list.selected[0])
}

/** `edit` is a function in the script of the form `order`. */
function openOrder(id) {
  return forms.order.edit(id)
}

async function approveSelected() {
  const { list } = forms.orders.elements
  const ids = list.selected
  const refused = []
  for (const id of ids) {
    const problems = await approveOrder(id)
    if (problems.length > 0) refused.push(problems[0])
  }
  list.selected = []
  await load()
  const done = i18n.getI18NMessage('orders.approved', [ids.length - refused.length, ids.length])
  // Show at most three reasons in one message.
  showMessage(forms.orders, [done, ...refused.slice(0, 3)].join(' '))
}

/**
 * If the user has to confirm their identity, the page asks and shows the reason given here. Then this function runs
 * again.
 */
async function removeSelected() {
  const { list } = forms.orders.elements
  const ids = list.selected
  const reason = ids.length === 1 ? 'orders.confirm_removal_one' : 'orders.confirm_removal'
  if (!security.confirm(i18n.getI18NMessage(reason, [ids.length]))) return
  const removed = await removeOrders(ids)
  list.selected = []
  await load()
  showMessage(forms.orders, i18n.getI18NMessage('orders.removed', [removed.length, ids.length]))
}

/** The endpoint that responds checks the user's session and permission again. */
function downloadReport() {
  application.showURL('/solution/orders/api/orders.csv')
}

/**
 * When the language changes, the platform translates the text in the forms. This script has to update the text that it
 * added itself.
 */
async function switchLanguage() {
  i18n.setLocale(i18n.getI18NMessage('language.switch_to'))
  showMessage(forms.orders, '')
  await load()
}
