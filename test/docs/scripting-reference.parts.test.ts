import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guestEntries, type ReferenceEntry, scriptingEntries } from '../../docs/scripting-reference.ts'
import { openClient } from '../support/client-page.ts'
import { readLog } from '../support/guides/claims.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

const entries = scriptingEntries()
const globals = entries.filter(({ kind }) => kind === 'global')
/** Globals whose members are declared by scripts. The reference lists the members of all other globals. */
const OF_SCRIPTS = ['globals', 'scopes']
const isOpen = ({ name: of, members }: ReferenceEntry) =>
  OF_SCRIPTS.includes(of) || members.some(({ name }) => name.includes('['))

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

/** @returns the value of an expression in the scripts of an open client, passed as JSON */
async function valueInClient(expression: string): Promise<unknown> {
  const script = `function onSolutionOpen() { application.output(JSON.stringify(${expression})) }`
  const bundle = await bundleOf({ name: 'looks', authenticator: 'NONE' }, { 'globals.js': script })
  expect((await host.upload('looks', bundle)).ok).toBe(true)
  const before = (await readLog({ host, solution: 'looks' })).length
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/looks/index.html')
  const page = await openClient(host.url, 'looks', visitor)
  page.close()
  return waitUntil(async () => {
    const line = (await readLog({ host, solution: 'looks' }))[before]
    if (line === undefined) throw new Error('the log has no line yet')
    return JSON.parse(line.message) as unknown
  })
}

test('scripting reference: the members listed for each global are exactly those that exist in scripts', async () => {
  const listed = globals.filter((entry) => !isOpen(entry))
  const names = listed.map(({ name }) => `${JSON.stringify(name)}: Object.getOwnPropertyNames(${name}).sort()`)
  expect(await valueInClient(`{ ${names.join(', ')} }`)).toEqual(
    Object.fromEntries(listed.map(({ name, members }) => [name, members.map((member) => member.name).sort()])),
  )
})

test('scripting reference: every global that is not part of JavaScript is listed', async () => {
  const javaScript = new Set(runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[])
  const found = (await valueInClient('Object.getOwnPropertyNames(globalThis)')) as string[]
  const own = found.filter((name) => !javaScript.has(name) && name !== 'onSolutionOpen')
  const roots = new Set(globals.map(({ name }) => name.split('.')[0]))
  expect(own.sort()).toEqual([...roots].sort())
})

test('scripting reference: every global, member and type has a description', () => {
  const silent = entries.flatMap(({ name, doc, members }) => [
    ...(doc.text === '' ? [name] : []),
    ...members
      .filter((member) => !member.name.includes('[') && member.signatures.every((one) => one.doc.text === ''))
      .map((member) => `${name}.${member.name}`),
  ])
  expect(silent).toEqual([])
})

test('scripting reference: a function’s overloads are listed under one name', () => {
  const fire = globals
    .find(({ name }) => name === 'eventsManager')
    ?.members.find(({ name }) => name === 'fireEventListeners')
  expect(fire?.signatures.map(({ text }) => text.replace(/\s+/g, ' '))).toEqual([
    'fireEventListeners(eventType: string): boolean',
    'fireEventListeners(eventType: string, callbackArguments: unknown[]): boolean',
    'fireEventListeners(eventType: string, context: string | object | null, callbackArguments?: unknown[] | null): boolean',
    'fireEventListeners( eventType: string, context: string | object | null, callbackArguments: unknown[] | null, returnValueAggregationType: 0, ): boolean',
    'fireEventListeners( eventType: string, context: string | object | null, callbackArguments: unknown[] | null, returnValueAggregationType: 1, ): unknown[]',
  ])
  expect(fire?.signatures[0]?.doc).toMatchObject({
    returns: expect.stringContaining('logical AND'),
    throws: [expect.stringContaining('TypeError')],
  })
})

test('guest API: the reference documents the arguments of a plugin’s guest part', () => {
  expect(guestEntries().map(({ name }) => name)).toEqual(['GuestApi', 'Offers', 'DefaultEvent', 'SafeBuiltins'])
})
