/// <reference path="./.solhost/test.d.ts" />

const PAYMENT = {
  id: 'evt_1',
  type: 'payment_intent.succeeded',
  data: { object: { id: 'pi_1', amount: 1250, currency: 'eur' } },
}
const PUSH = { repository: { full_name: 'acme/shop' }, commits: [{ id: 'a1', message: 'first' }] }

test('a payment queues one run with the event’s id as its key, and is stored once', async () => {
  const { body } = await solution.request('POST /stripe', { body: PAYMENT, signed: true })
  assert.equal(body, { received: true })
  const [run] = await solution.enqueued()
  assert.equal([run.name, run.key], ['processPayment', 'evt_1'])
  assert.equal((await solution.runJob(run.name, run.data)).result, { payment: 'pi_1', isNew: true })
  assert.equal((await solution.runJob(run.name, run.data, { attempt: 2 })).result, { payment: 'pi_1', isNew: false })
})

test('a push queues a run with the id of the delivery; other events queue nothing', async () => {
  const headers = { 'x-github-delivery': 'd1', 'x-github-event': 'push' }
  await solution.request('POST /github', { body: PUSH, headers, signed: true })
  await solution.request('POST /github', { body: {}, headers: { ...headers, 'x-github-event': 'ping' }, signed: true })
  const [run, ...others] = await solution.enqueued()
  assert.equal([run.key, others], ['d1', []])
  assert.equal((await solution.runJob(run.name, run.data)).result, { commits: 1, isNew: true })
})

test('requests without a valid signature are refused', async () => {
  assert.equal((await solution.request('POST /stripe', { body: PAYMENT })).status, 401)
})
