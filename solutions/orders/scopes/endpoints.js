// The functions that solution.json names under "endpoints". Each call has fresh globals and no forms.

/** Anyone can call this endpoint without signing in. It is intended for monitoring tools. */
function getVersion() {
  return { version: application.getSolutionVersion() }
}

async function getOrder({ params }) {
  await setUpDatabase()
  const order = await readOrder(Number(params.id))
  return order ?? plugins.http.answer(404, { message: `There is no order with the id ${params.id}.` })
}

/** The host has checked the body with the schema in solution.json. */
async function addOrder({ body }) {
  await setUpDatabase()
  const ordered = new Date().toISOString().slice(0, 10)
  const order = await saveOrder({ notes: '', ...body, ordered, status: 'new' })
  return plugins.http.answer(201, order, { location: `/solution/orders/api/orders/${order.id}` })
}

/** Returns the report as a CSV file. The form opens the endpoint's URL, so the browser downloads the file. */
async function getReport() {
  await setUpDatabase()
  const orders = await findOrders('', null)
  const lines = orders.map(({ number, customer, ordered, amount, status }) => {
    return [number, customer, ordered, amount, status].map(cell).join(',')
  })
  return plugins.http.answer(200, ['number,customer,ordered,amount,status', ...lines, ''].join('\r\n'), {
    'content-type': 'text/csv',
    'content-disposition': 'attachment; filename="orders.csv"',
  })
}

/**
 * Escapes a value for CSV. A spreadsheet would evaluate text that looks like a formula, so such text is prefixed with
 * an apostrophe.
 */
function cell(value) {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return `"${text.replaceAll('"', '""')}"`
}

/** Called by the carrier's webhook. The host has already checked the signature. */
async function orderShipped({ body }) {
  await setUpDatabase()
  await setShipped(body.order)
  plugins.jobs.enqueue('thankCustomer', { order: body.order }, { key: `order ${body.order}` })
}
