const MARCO = { username: 'marco', permissions: ['Orders', 'Edit', 'Approve'] }

async function selectFirst(client) {
  const [{ id }] = client.elements.list.rows
  await client.select('list', id)
  return id
}

const hasRow = (client, id) => client.elements.list.rows.some((row) => row.id === id)

test('orders are deleted once the user has confirmed, and the next ones without a question', async () => {
  const client = await solution.open({ user: MARCO })
  const first = await selectFirst(client)
  await client.click('remove')
  assert.equal(client.confirming, 'Delete 1 selected orders')
  assert(hasRow(client, first))
  await client.confirm()
  assert(!hasRow(client, first))
  assert.equal(client.elements.message.label, '1 of 1 deleted.')
  const second = await selectFirst(client)
  await client.click('remove')
  assert.equal(client.confirming, null)
  assert(!hasRow(client, second))
})

test('if the user closes the question, nothing is deleted', async () => {
  const client = await solution.open({ user: MARCO })
  const id = await selectFirst(client)
  await client.click('remove')
  await client.refuse()
  assert.equal(client.confirming, null)
  assert(hasRow(client, id))
})
