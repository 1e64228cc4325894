/// <reference path="./.solhost/test.d.ts" />
// Run with "solhost test". Tests are never uploaded.

test('greets the user named in the URL', async () => {
  const client = await solution.open({ params: { name: 'Ada' } })
  assert.equal(client.form, 'welcome')
  await client.click('greet')
  assert.equal(client.elements.answer.label, 'Hello, Ada!')
  assert.equal(
    client.log.map(({ message }) => message),
    ['greeted Ada'],
  )
})

test('requires a name', async () => {
  const client = await solution.open()
  await client.click('greet')
  assert.equal(client.elements.name.error, 'Please fill in this field.')
  assert.equal(client.log, [])
})
