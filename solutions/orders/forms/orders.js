/** Each time: others may have changed orders since, and so may this user in the other form. */
async function onShow(firstShow, event) {
  await load()
}

function onHide(event) {
  tell(forms.orders, '')
}

/** Also called when the search or the status changes; what it returns then refuses nothing. */
async function load() {
  const { search, status, list } = forms.orders.elements
  const found = await findOrders(search.value, status.value)
  list.rows = found.map(({ id, number, customer, ordered, amount, status }) => {
    return { id, number, customer, ordered, amount, status: i18n.getI18NMessage(`status.${status}`) }
  })
  const sum = found.reduce((total, { amount }) => total + amount, 0)
  list.label = i18n.getI18NMessage('orders.totals', [found.length, money(sum)])
  // Rows that are not found any more are no longer selected.
  select(list.selected)
}

function select(ids) {
  forms.orders.elements.open.enabled = ids.length === 1
  forms.orders.elements.approve.enabled = ids.length > 0
}

function createOrder() {
  return forms.order.edit(null)
}

function openSelected() {
  return openOrder(forms.orders.elements.list.selected[0])
}

/** `edit` is a function of the other form's script. */
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
  // A few reasons are enough to go on with.
  tell(forms.orders, [done, ...refused.slice(0, 3)].join(' '))
}

/** All texts of the forms change by themselves; those that this script put together are made anew. */
async function switchLanguage() {
  i18n.setLocale(i18n.getI18NMessage('language.switch_to'))
  tell(forms.orders, '')
  await load()
}
