import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { apiOf } from '../support/api.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'

const SECRETS = { STRIPE: 'whsec_of_the_test', GITHUB: 'a secret of the test' }
const PAYMENT = {
  id: 'evt_7',
  type: 'payment_intent.succeeded',
  data: { object: { id: 'pi_7', amount: 1250, currency: 'eur' } },
}
const PUSH = { repository: { full_name: 'acme/shop' }, commits: [{ id: 'a1', message: 'first' }] }

type Run = { readonly id: string; readonly state: string; readonly result?: unknown }

let host: TestHost
const api = apiOf(() => host)

function send(path: string, body: string, headers: Record<string, string>) {
  const type = { 'content-type': 'application/json' }
  return ask(`${host.url}/solution/webhooks/api${path}`, { method: 'POST', headers: { ...type, ...headers }, body })
}

function stripe(body: string, offset = 0) {
  const time = Math.floor(Date.now() / 1000) + offset
  const mac = createHmac('sha256', SECRETS.STRIPE).update(`${time}.${body}`).digest('hex')
  return { 'stripe-signature': `t=${time},v1=${mac}` }
}

function github(body: string, event: string) {
  const mac = createHmac('sha256', SECRETS.GITHUB).update(body).digest('hex')
  return { 'x-hub-signature-256': `sha256=${mac}`, 'x-github-event': event, 'x-github-delivery': 'delivery-7' }
}

/** Waits until all runs of the job have succeeded. @returns their results */
const resultsOf = (job: string) =>
  waitUntil(async () => {
    const runs = (await api.items(`/solutions/webhooks/runs?job=${job}`)) as Run[]
    expect(runs.map(({ state }) => state)).toEqual(runs.map(() => 'succeeded'))
    const shown = runs.map(({ id }) => api.get(`/solutions/webhooks/runs/${id}`) as Promise<Run>)
    return (await Promise.all(shown)).map(({ result }) => result)
  })

beforeAll(async () => {
  host = await startTestHost()
  const uploaded = await host.upload('webhooks', await packFolder(exampleFolder('webhooks')))
  expect(uploaded.status, await uploaded.text()).toBe(201)
  for (const [name, value] of Object.entries(SECRETS)) {
    await api.send('PUT', `/solutions/webhooks/secrets/${name}`, { value, hosts: [] })
  }
})
afterAll(() => host.stop())

test('webhooks: a payment that Stripe reports twice is processed once', async () => {
  const body = JSON.stringify(PAYMENT)
  expect((await send('/stripe', body, stripe(body))).json()).toEqual({ received: true })
  // Stripe signs a repeated event with a new time.
  expect((await send('/stripe', body, stripe(body, 1))).status).toBe(200)
  expect((await send('/stripe', body.replace('1250', '9250'), stripe(body))).status).toBe(401)
  expect(await resultsOf('processPayment')).toEqual([{ payment: 'pi_7', isNew: true }])
})

test('webhooks: a push that GitHub delivers again is processed once, and other events queue nothing', async () => {
  const body = JSON.stringify(PUSH)
  for (let turn = 0; turn < 2; turn++) expect((await send('/github', body, github(body, 'push'))).status).toBe(200)
  expect((await send('/github', '{}', github('{}', 'ping'))).status).toBe(200)
  expect(await resultsOf('processPush')).toEqual([{ commits: 1, isNew: true }])
})
