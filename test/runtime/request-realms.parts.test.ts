import { afterAll, describe, expect, test } from 'vitest'
import { readEndpointAnswer } from '../../plugins/http/answer.ts'
import type { HttpPorts } from '../../plugins/http/host.ts'
import { REALMS } from '../../runtime/bundle/manifest-schema.ts'
import type { Json } from '../../runtime/plugin.ts'
import { findDifferences } from '../../runtime/sandbox/realm-differences.ts'
import { namesOf, readTopLevel } from '../../runtime/sandbox/realm-names.ts'
import { directory } from '../attack/directory/host.ts'
import { createScriptLab, manifestOf, type ScriptLab } from '../support/solutions.ts'

// Tests endpoints in both realms. A call must have the same result in both, and must not see what another call left
// behind.

const http: HttpPorts = { granted: async () => [], send: () => Promise.reject(new Error()), onRefused: () => {} }

const SCRIPT = `let calls = 0
var kept = null
function count(request) { kept = request.params.id; globalThis.left = (globalThis.left || 0) + 1; return { calls: ++calls, left } }
function echo(request) { return request }
function located(request) { return plugins.http.answer(201, { id: request.params.id }, { location: '/orders/' + request.params.id }) }
function nothing() {}
function fails() { throw new RangeError('too many') }
function notJson() { return () => 1 }
function refused() {
  return [() => security.login('anna', 'u1', ['Users']), () => security.logout(), () => security.setTenantValue(1), () => application.showURL('/a')]
    .map((attempt) => { try { return attempt() ?? null } catch (error) { return error.name } })
}
async function slow(request) {
  kept = request.params.id
  for (let turn = 0; turn < 3; turn++) await directory.find('slow')
  return { id: kept }
}
function hang() { for (;;); }
function leave(request) {
  const ways = [() => { Array.prototype.left = 1 }, () => { JSON.parse = () => ({ left: 1 }) }, () => { plugins.left = 1 }, () => { plugins.http.answer.left = 1 },
    () => { request.constructor.prototype.left = 1 }, () => { Object.getPrototypeOf(function* () {}).left = 1 }]
  for (const way of ways) try { way() } catch (error) { /* Refused. */ }
  return null
}
function find(request) {
  return [[].left, JSON.parse('{}').left, plugins.left, plugins.http.answer.left, ({}).left, Object.getPrototypeOf(function* () {}).left, typeof left, kept]
}`

const labs: ScriptLab[] = []
afterAll(() => {
  for (const lab of labs) lab.stop()
})

function callerIn(realm: (typeof REALMS)[number]) {
  const lab = createScriptLab({ needs: { http }, limits: { REQUEST_TIME: 3000 }, plugins: [directory(() => {})] })
  labs.push(lab)
  const names = realm === 'hardened' ? { realm: namesOf(readTopLevel('', SCRIPT, undefined)) } : {}
  const solution = lab.solution({
    manifest: manifestOf({ name: 'shop', realm }),
    scripts: [{ module: null, file: 'globals.js', source: SCRIPT, ...names }],
  })
  return async (entry: string, params: Readonly<Record<string, Json>> = {}) => {
    const { failure, result = null } = await lab.runEntry(solution, {
      entry,
      args: [{ params }],
      secrets: new Map(),
      call: {
        kind: 'request',
        correlationId: 'TEST0-00000',
        user: null,
        account: null,
        address: '127.0.0.1',
        locale: 'en',
        serverUrl: 'http://127.0.0.1:8080',
      },
    })
    if (failure !== null) return { failure: failure.code, message: failure.message }
    const { status, headers, body } = readEndpointAnswer(result, 1_000_000)
    return { status, headers: Object.fromEntries(headers), body: body === null ? null : JSON.parse(body) }
  }
}

function declaredIn(source: string): string[] {
  const { globals, lexicals } = namesOf(readTopLevel('', source, undefined))
  return [...globals, ...lexicals]
}

test('the check accepts the script, except for the code that changes built-in objects', () => {
  const found = findDifferences(SCRIPT, new Set(declaredIn(SCRIPT)))
  expect(found.map(({ message }) => message.split(' ')[0])).toEqual([
    '"Array.prototype.left"',
    '"JSON.parse"',
    '"plugins.left"',
    '"plugins.http.answer.left"',
  ])
})

describe.each(REALMS)('endpoints in the realm %s', (realm) => {
  const call = callerIn(realm)
  const ok = (body: unknown) => ({ status: 200, headers: {}, body })

  test('endpoints get the request, and return JSON, a response, nothing or an error', async () => {
    expect(await call('echo', { id: 'ü' })).toEqual(ok({ params: { id: 'ü' } }))
    expect(await call('located', { id: 7 })).toEqual({
      status: 201,
      headers: { location: '/orders/7' },
      body: { id: 7 },
    })
    expect(await call('nothing')).toEqual({ status: 204, headers: {}, body: null })
    expect(await call('fails')).toEqual({ failure: 'script_error', message: 'RangeError: too many' })
    expect(await call('notJson')).toMatchObject({ failure: 'script_error' })
    expect(await call('missing')).toMatchObject({ failure: 'script_error' })
  })

  test('endpoints can’t sign anyone in, and the bindings of pages throw', async () => {
    expect(await call('refused')).toEqual(ok([false, 'TypeError', 'TypeError', 'TypeError']))
  })

  test('endpoints run their top-level code for each call, and see nothing that an earlier call left behind', async () => {
    for (let turn = 0; turn < 3; turn++) expect(await call('count', { id: turn })).toEqual(ok({ calls: 1, left: 1 }))
    for (let turn = 0; turn < 2; turn++) {
      expect(await call('leave')).toMatchObject({ status: 204 })
      expect(await call('find')).toEqual(ok([null, null, null, null, null, null, 'undefined', null]))
    }
  })

  test('endpoint calls that wait at the same time keep their own variables', async () => {
    const ids = ['a', 'b', 'c', 'd']
    expect(await Promise.all(ids.map((id) => call('slow', { id })))).toEqual(ids.map((id) => ok({ id })))
  })

  test('endpoints work again after a call that never ends', async () => {
    expect(await call('hang')).toMatchObject({ failure: 'script_timeout' })
    expect(await call('count', { id: 1 })).toEqual(ok({ calls: 1, left: 1 }))
  })
})
