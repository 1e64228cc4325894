import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

/** A service that checks passwords, like a customer's own service. */
const service = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const { password } = JSON.parse(body) as { password: string }
  response.statusCode = password === 'right' ? 200 : 403
  response.end(JSON.stringify({ uid: 'a-1', permissions: ['Users'] }))
})

let host: TestHost
let place: string
let other: string
beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  place = `127.0.0.1:${(service.address() as AddressInfo).port}`
  host = await startTestHost({ HTTP_ALLOWED_HOSTS: place })
  // The operator has granted access to the platform's own API by mistake, but HTTP_ALLOWED_HOSTS does not include it.
  other = new URL(host.url).host
  const manifest = { name: 'asks', authenticator: 'AUTHENTICATOR', modules: ['auth'], http: [place, other] }
  const files = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': script() }
  expect((await host.upload('asks', await bundleOf(manifest, files))).status).toBe(201)
})
afterAll(async () => {
  await host.stop()
  await new Promise((resolve) => service.close(resolve))
})

function script(): string {
  return `async function onSolutionOpen(arg, { username, password, custom_to }) {
    if (!username) return
    const to = custom_to === 'platform' ? ${JSON.stringify(other)} : ${JSON.stringify(place)}
    const answer = await plugins.http.fetch('http://' + to + '/check', { method: 'POST', body: JSON.stringify({ password }) })
    if (!answer.ok) return
    const { uid, permissions } = answer.json()
    security.login(username, uid, permissions)
  }`
}

const PAGE = '/solution/asks/index.html'

async function signIn(fields: Record<string, string>): Promise<number> {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  return (await visitor.post(PAGE, { username: 'anna', ...fields })).status
}

async function api(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; items: { message?: string }[] }> {
  const answer = await ask(`${host.url}/admin/api${path}`, {
    method,
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, items: (answer.json() as { items?: { message?: string }[] }).items ?? [] }
}

async function lastLine(): Promise<string | undefined> {
  return (await api('GET', '/solutions/asks/log')).items.at(-1)?.message
}

test('plugins.http.fetch: an authenticator can send requests to another server only after the operator has granted it', async () => {
  expect(await signIn({ password: 'right' })).toBe(401)
  await expect.poll(lastLine).toContain(`the operator has not granted ${place} to this solution`)
  const audited = await api('GET', '/audit?solution=asks&action=script-request')
  expect(audited.items).toEqual([expect.objectContaining({ actor: 'solution:asks', outcome: 'refused' })])

  expect(
    (await api('PUT', '/solutions/asks/grants', { databases: {}, http: [place, other], users: false })).status,
  ).toBe(200)
  expect(await signIn({ password: 'right' })).toBe(303)
  expect(await signIn({ password: 'wrong' })).toBe(401)
})

test('plugins.http.fetch: requests to the platform itself are blocked, even if they were granted', async () => {
  await api('PUT', '/solutions/asks/grants', { databases: {}, http: [place, other], users: false })
  expect(await signIn({ password: 'right', custom_to: 'platform' })).toBe(401)
  await expect
    .poll(lastLine)
    .toContain('is in a private network or on this machine: to allow it, the operator can add it to HTTP_ALLOWED_HOSTS')
})

test('plugins.http.fetch: the password in the request is not logged', async () => {
  expect(await signIn({ password: 'a wrong password of 30 letters' })).toBe(401)
  expect(host.logged()).not.toContain('a wrong password of 30 letters')
})
