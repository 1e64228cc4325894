import { get as httpGet } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOf, codeOf } from '../support/api.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: TestHost
const { send, get, items } = apiOf(() => host)
const SCRIPT = `function onSolutionOpen(arg, queryParams) {
  application.output('asked for ' + queryParams.username)
  console.warn('Beware of ' + queryParams.username)
  if (queryParams.username === 'broken') throw new Error('no')
  security.login(queryParams.username, queryParams.username, ['Users'])
}`

beforeAll(async () => {
  host = await startTestHost({ SERVLET_USERNAME: 'admin', THROTTLE_ACCOUNT: '999999', TIMEZONE: 'Europe/Brussels' })
  const manifest = { authenticator: 'AUTHENTICATOR', modules: ['auth'] }
  const auth = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': SCRIPT }
  for (const name of ['crm', 'shop']) await host.upload(name, await bundleOf({ name, ...manifest }, auth))
  for (const username of ['anna', '=cmd()', 'broken']) await signIn('crm', username)
  await signIn('shop', 'anna')
})
afterAll(() => host.stop())

async function signIn(solution: string, username: string): Promise<void> {
  const visitor = createVisitor(host.url)
  const page = `/solution/${solution}/index.html`
  await visitor.get(page)
  await visitor.post(page, { username, password: 'x' })
}

test('sessions: they can be searched by solution and by username, case-sensitively', async () => {
  const found = async (query: string) => {
    return (await items(`/sessions?${query}`)).map(({ solution, username }) => `${solution} ${username}`).sort()
  }
  expect(await found('username=anna')).toEqual(['crm anna', 'shop anna'])
  expect(await found('username=anna&solution=shop')).toEqual(['shop anna'])
  expect(await found('username=Anna')).toEqual([])
})

test('log: lines can be searched by level, part of the message, code and reference', async () => {
  const messages = async (query: string) => (await items(`/solutions/crm/log?${query}`)).map(({ message }) => message)
  expect(await messages('level=warn')).toEqual(['Beware of anna', 'Beware of =cmd()', 'Beware of broken'])
  expect(await messages('text=BEWARE%20of%20a')).toEqual(['Beware of anna'])
  expect(await messages('code=script_error')).toHaveLength(1)
  const [warned] = await items('/solutions/crm/log?level=warn')
  expect(await messages(`correlationId=${warned?.correlationId}`)).toEqual(['asked for anna', 'Beware of anna'])
  expect(codeOf(await send('GET', '/solutions/crm/log?level=loud'))).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('log: each page of results continues where the last one ended', async () => {
  const first = await get('/solutions/crm/log?level=warn&limit=2')
  const second = await get(`/solutions/crm/log?level=warn&limit=2&before=${first.next}`)
  const messages = ({ items: found }: Record<string, unknown>) =>
    (found as { message: string }[]).map((one) => one.message)
  expect([messages(first), messages(second)]).toEqual([['Beware of =cmd()', 'Beware of broken'], ['Beware of anna']])
  expect(second.next).toBeUndefined()
})

test('log: the stream contains only matching lines', async () => {
  const lines: string[] = []
  const headers = { authorization: host.admin, accept: 'text/event-stream' }
  const request = httpGet(`${host.url}/admin/api/solutions/crm/log?level=warn`, { headers }, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => void lines.push(...text.split('\n')))
  })
  await waitUntil(() => expect(lines[0]).toBe(': new log lines follow'))
  for (const username of ['first', 'second']) await signIn('crm', username)
  const sent = () => lines.flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)).message] : []))
  await waitUntil(() => expect(sent()).toEqual(['Beware of first', 'Beware of second']))
  request.destroy()
})

test('audit log: entries can be searched by outcome, reference and time', async () => {
  const [failed, ...others] = await items('/audit?outcome=script_error')
  expect([failed?.actor, others]).toEqual(['user:broken', []])
  expect(await items(`/audit?correlationId=${failed?.correlationId}`)).toEqual([failed])
  const { time } = failed as { time: number }
  expect(await items(`/audit?actor=user:broken&from=${time}&to=${time}`)).toEqual([failed])
  expect(await items(`/audit?actor=user:broken&from=${time + 1}`)).toEqual([])
})

test('audit.csv: the file contains the matching entries with times in UTC, and the export is recorded', async () => {
  const answer = await send('GET', '/audit.csv?action=sign-in&solution=crm&to=9999999999999')
  expect(answer.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="audit.csv"',
  })
  const [head, ...lines] = answer.text.trimEnd().split('\r\n')
  expect(head).toBe('time,actor,action,target,solution,outcome,address,correlationId')
  const formula = lines.find((line) => line.includes('cmd'))
  expect(formula).toMatch(
    /^\d{4}-\d\d-\d\dT[\d:.]{12}Z,user:=cmd\(\),sign-in,,crm,ok,127\.0\.0\.1,[0-9A-Z]{5}-[0-9A-Z]{5}$/,
  )
  expect(await items('/audit?action=audit-export')).toMatchObject([{ actor: 'admin', outcome: 'ok' }])
})

test('audit.csv: the file contains no more than the requested number of entries', async () => {
  const answer = await send('GET', '/audit.csv?limit=2')
  expect(answer.text.trimEnd().split('\r\n')).toHaveLength(3)
  expect(codeOf(await send('GET', '/audit.csv?limit=100001'))).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('settings: each is listed with its value and source; for secrets, only whether they are set', async () => {
  const all = await items('/settings')
  const one = (wanted: string) => {
    const { what: _, ...rest } = all.find(({ name }) => name === wanted) ?? {}
    return rest
  }
  expect(one('TIMEZONE')).toEqual({
    name: 'TIMEZONE',
    kind: 'property',
    value: 'Europe/Brussels',
    isSet: true,
    isSecret: false,
    source: 'environment',
    default: 'Etc/UTC',
  })
  expect(one('SERVLET_PASSWORD')).toEqual({
    name: 'SERVLET_PASSWORD',
    kind: 'property',
    value: null,
    isSet: true,
    isSecret: true,
    source: 'environment',
    default: null,
  })
  expect(one('PLATFORM_KEY')).toMatchObject({ value: null, isSet: false, source: 'default' })
  expect(one('THROTTLE_ACCOUNT')).toMatchObject({
    kind: 'limit',
    value: '999999',
    source: 'environment',
    default: '20',
  })
  expect(one('CALL_TIME')).toMatchObject({ value: '2s', isSet: true, source: 'default' })
})
