const MARCO = { username: 'marco', permissions: ['Orders', 'Edit', 'Approve'] }

async function selectFirst(client) {
  const [{ id }] = client.elements.list.rows
  await client.select('list', id)
  return id
}

const hasRow = (client, id) => client.elements.list.rows.some((row) => row.id === id)

test('orders are deleted once the user has confirmed; the next ones need no confirmation', async () => {
  const client = await solution.open({ user: MARCO })
  const first = await selectFirst(client)
  await client.click('remove')
  assert.equal(client.confirming, 'Delete the selected order')
  assert(hasRow(client, first))
  await client.confirm()
  assert(!hasRow(client, first))
  assert.equal(client.elements.message.label, '1 of 1 deleted.')
  const second = await selectFirst(client)
  await client.click('remove')
  assert.equal(client.confirming, null)
  assert(!hasRow(client, second))
})

test('an API token with the permission adds an order, which can then be read', async () => {
  const token = { permissions: ['Orders', 'Edit'] }
  const body = { customer: 'Greyfriars', mail: 'orders@greyfriars.example', amount: 12.5 }
  const added = await solution.request('POST /orders', { body, token })
  assert.equal(added.status, 201)
  const path = added.headers.location.replace('/solution/orders/api', '')
  const { body: order } = await solution.request(`GET ${path}`, { token })
  assert.equal([order.customer, order.status, order.notes], ['Greyfriars', 'new', ''])
  assert.equal((await solution.request('POST /orders', { body })).status, 401)
  assert.equal((await solution.request('POST /orders', { body, token: {} })).status, 403)
  const refused = await solution.request('POST /orders', { body: { ...body, amount: -1, discount: 5 }, token })
  assert.equal([refused.status, refused.faults.map(({ path }) => path)], [422, ['body.amount', 'body']])
})

test('signed-in users download the orders; the carrier reports shipped ones', async () => {
  const { headers, body } = await solution.request('GET /orders.csv', { user: MARCO })
  assert.equal(headers['content-type'], 'text/csv')
  const approved = body.split('\r\n').find((line) => line.endsWith('"approved"'))
  const order = Number(/O-(\d+)/.exec(approved)[1]) - 1000
  assert.equal((await solution.request('POST /hooks/shipped', { body: { order }, signed: true })).status, 204)
  const { body: after } = await solution.request(`GET /orders/${order}`, { user: MARCO })
  assert.equal(after.status, 'shipped')
  assert.equal((await solution.request('GET /orders/0', { user: MARCO })).status, 404)
  assert.equal((await solution.request('GET /version')).body, { version: solution.version })
})

test('if the user refuses the confirmation, nothing is deleted', async () => {
  const client = await solution.open({ user: MARCO })
  const id = await selectFirst(client)
  await client.click('remove')
  await client.refuse()
  assert.equal(client.confirming, null)
  assert(hasRow(client, id))
})

test('a shipped order queues one run, which thanks the customer', async () => {
  const shipped = { body: { order: 1 }, signed: true }
  await solution.request('POST /hooks/shipped', shipped)
  const [run] = await solution.enqueued()
  assert.equal([run.name, run.data, run.key], ['thankCustomer', { order: 1 }, 'order 1'])
  const { result, log } = await solution.runJob('thankCustomer', run.data)
  assert.match(result.mail, '@')
  assert.match(log[0].message, 'is on its way')
})

test('orders are counted by status', async () => {
  const { result } = await solution.runJob('countOrders', null, { scheduledFor: 0 })
  assert(result.every(({ orders }) => orders > 0))
})
