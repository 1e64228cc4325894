import { afterEach, expect, test } from 'vitest'
import { type ClientLab, createClientLab } from '../../support/clients.ts'

let lab: ClientLab
afterEach(() => lab.stop())

test('clients: a script’s variables persist between calls', async () => {
  lab = createClientLab()
  const client = await lab.open(lab.version('let count = 0; function click() { return String(++count) }'))
  expect([await client.result('click'), await client.result('click'), await client.result('click')]).toEqual([
    '1',
    '2',
    '3',
  ])
})

test('clients: any global function can be called, in whatever way it is declared; a missing one is an error', async () => {
  lab = createClientLab()
  const client = await lab.open(
    lab.version("function a(x) { return 'a' + x } const b = (x) => 'b' + x; globalThis.c = (x) => 'c' + x"),
  )
  expect([await client.result('a', '1'), await client.result('b', '2'), await client.result('c', '3')]).toEqual([
    'a1',
    'b2',
    'c3',
  ])
  expect(await client.result('a', '4')).toBe('a4')
  expect(await client.run('d')).toMatchObject({
    code: 'script_error',
    message: 'TypeError: the scripts have no function d',
  })
  expect(await client.run('a(1)')).toMatchObject({ code: 'script_error' })
})

test('clients: commands belong to their call, and a failed call leaves the client usable', async () => {
  lab = createClientLab()
  const client = await lab.open(
    lab.version(`let said = 0
      function keep(text) { probe.keep(text); said++; return String(said) }
      function fail(text) { probe.keep(text); said++;
        throw new TypeError('no') }`),
  )
  expect(await client.run('keep', 'one')).toMatchObject({
    result: '1',
    commands: [{ plugin: 'probe', method: 'keep', args: ['one'] }],
  })
  expect(await client.run('fail', 'two')).toMatchObject({
    code: 'script_error',
    message: 'TypeError: no',
    position: { file: 'globals.js', line: 4, column: 15 },
  })
  expect(await client.run('keep', 'three')).toMatchObject({
    result: '3',
    commands: [{ plugin: 'probe', method: 'keep', args: ['three'] }],
  })
})

test('clients: two clients in one isolate never see each other’s data', async () => {
  lab = createClientLab()
  const version = lab.version(`let own = null
    function set(text) { own = text; globalThis.shared = text; Array.prototype.mark = text; Object.prototype.leak = text; return own }
    function get() { return JSON.stringify([own, typeof shared, [].mark ?? null, ({}).leak ?? null]) }`)
  const [anna, bram] = [await lab.open(version), await lab.open(version)]
  await anna.result('set', 'anna')
  expect(await bram.result('get')).toBe('[null,"undefined",null,null]')
  await bram.result('set', 'bram')
  expect(await anna.result('get')).toBe('["anna","string","anna","anna"]')
  expect(lab.pids()).toHaveLength(1)
})

test('clients: a client’s calls run in order, even while one is waiting for a response', async () => {
  lab = createClientLab()
  const client = await lab.open(
    lab.version(`const seen = []
      async function slow(text) { seen.push(text); await probe.ask(text); seen.push(text + ' end'); return seen.join() }
      function quick(text) { seen.push(text); return seen.join() }`),
  )
  const slow = client.run('slow', 'a')
  const rest = [client.run('quick', 'b'), client.run('quick', 'c')]
  const [asked] = await lab.asked(1)
  asked?.answer(null)
  expect(await slow).toMatchObject({ result: 'a,a end' })
  expect(await Promise.all(rest)).toMatchObject([{ result: 'a,a end,b' }, { result: 'a,a end,b,c' }])
})

test('clients: a call that is waiting for a response does not delay other clients in its isolate', async () => {
  lab = createClientLab()
  const version = lab.version('async function ask() { return await probe.ask("x") } function quick() { return "done" }')
  const [anna, bram] = [await lab.open(version), await lab.open(version)]
  const ends: string[] = []
  const waiting = anna.run('ask').then(() => ends.push('anna'))
  const [asked] = await lab.asked(1)
  for (let call = 0; call < 20; call++) expect(await bram.result('quick')).toBe('done')
  ends.push('bram')
  asked?.answer(null)
  await waiting
  expect(ends).toEqual(['bram', 'anna'])
})

test('clients: a handler that uses the CPU does not delay a client in another isolate', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 10_000 } })
  const version = lab.version(
    'function busy() { const end = Date.now() + 1000; while (Date.now() < end); } function quick() { return "done" }',
  )
  // An isolate has room for 24 clients, so the last client is in a second isolate.
  const clients = []
  for (let count = 0; count < 25; count++) clients.push(await lab.open(version))
  const ends: string[] = []
  const busy = clients[0]?.run('busy').then(() => ends.push('busy'))
  const shares = clients[1]?.run('quick').then(() => ends.push('beside it'))
  for (let call = 0; call < 5; call++) await clients[24]?.result('quick')
  ends.push('elsewhere')
  await Promise.all([busy, shares])
  expect(ends).toEqual(['elsewhere', 'busy', 'beside it'])
  expect(lab.pids()).toHaveLength(1)
})

test('clients: the number of waiting calls per client is limited', async () => {
  lab = createClientLab()
  const client = await lab.open(lab.version('async function ask() { return await probe.ask("x") } function quick() {}'))
  const first = client.run('ask')
  const waiting = Array.from({ length: 100 }, () => client.run('quick'))
  expect(await client.run('quick')).toMatchObject({ code: 'sandbox_busy' })
  const [asked] = await lab.asked(1)
  asked?.answer(null)
  await first
  const ends = await Promise.all(waiting)
  expect(ends.every(({ code }) => code === 'returned')).toBe(true)
  expect(await client.run('quick')).toMatchObject({ code: 'returned' })
})

test('clients: quotas are counted per call, but listeners across all calls', async () => {
  lab = createClientLab({ limits: { CALL_REQUESTS: 3, LOG_LINES: 2, LISTENERS: 3 } })
  const client = await lab.open(
    lab.version(`function keep() { for (let i = 0; i < 3; i++) probe.keep(i) }
      function keepMore() { for (let i = 0; i < 4; i++) probe.keep(i) }
      function askAll() { return Promise.all(Array.from({ length: 9 }, () => probe.ask('x'))) }
      function say() { for (let i = 0; i < 5; i++) console.log('line ' + i) }
      function listen() { eventsManager.addEventListener(EventType.onShow, () => {}) }`),
  )
  for (let call = 0; call < 3; call++) expect(await client.run('keep')).toMatchObject({ code: 'returned' })
  expect(await client.run('keepMore')).toMatchObject({
    code: 'script_quota',
    limit: { name: 'CALL_REQUESTS', used: 4 },
  })
  expect(await client.run('askAll')).toMatchObject({ code: 'script_quota', limit: { name: 'CALL_REQUESTS', used: 4 } })
  for (let call = 0; call < 2; call++) await client.run('say')
  expect(lab.lines.map(({ message }) => message)).toEqual([
    ...['line 0', 'line 1', 'further log lines of this call are dropped, because it exceeded LOG_LINES or LOG_SIZE'],
    ...['line 0', 'line 1', 'further log lines of this call are dropped, because it exceeded LOG_LINES or LOG_SIZE'],
  ])
  for (let call = 0; call < 3; call++) expect(await client.run('listen')).toMatchObject({ code: 'returned' })
  expect(await client.run('listen')).toMatchObject({ code: 'script_quota', limit: { name: 'LISTENERS' } })
})

test('clients: an error while scripts are loading is reported with its position, and their log lines are kept', async () => {
  lab = createClientLab()
  expect(await lab.tryOpen(lab.version('let a = 1\nlet b = ;'))).toMatchObject({
    code: 'script_error',
    position: { file: 'globals.js', line: 2 },
  })
  const throws = lab.version("console.log('here')\nthrow new TypeError('not today')")
  for (let tries = 0; tries < 2; tries++) {
    expect(await lab.tryOpen(throws)).toMatchObject({
      code: 'script_error',
      message: expect.stringContaining('not today'),
      position: { file: 'globals.js', line: 2 },
    })
  }
  expect(lab.lines.map(({ message }) => message)).toEqual(['here', 'here'])
  expect(lab.supervisor.processes().every(({ clients = 0 }) => clients === 0)).toBe(true)
})

test('clients: when a client is closed, its running and waiting calls end', async () => {
  lab = createClientLab()
  const version = lab.version('async function ask() { return await probe.ask("x") } function quick() { return "done" }')
  const [anna, bram] = [await lab.open(version), await lab.open(version)]
  const running = anna.run('ask')
  const waiting = anna.run('quick')
  const [asked] = await lab.asked(1)
  anna.close()
  await anna.gone
  expect(await running).toMatchObject({ code: 'client_gone', started: true, changedSomething: false })
  expect(await waiting).toMatchObject({ code: 'client_gone', started: false })
  asked?.answer(null)
  expect(await anna.run('quick')).toMatchObject({ code: 'client_gone' })
  expect(await bram.result('quick')).toBe('done')
})

test('clients: settling an earlier call’s promise can end only that call, and only while it is waiting', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700 } })
  const client = await lab.open(
    lab.version(`let free
      function hold() { return new Promise((resolve) => { free = resolve }) }
      async function release() { free('of the first'); await probe.ask('x'); return 'of the second' }`),
  )
  expect(await client.run('hold')).toMatchObject({ code: 'script_timeout' })
  const second = client.run('release')
  const [asked] = await lab.asked(1)
  asked?.answer(null)
  expect(await second).toMatchObject({ code: 'returned', result: 'of the second' })
})
