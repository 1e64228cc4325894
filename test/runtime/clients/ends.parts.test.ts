import { afterEach, expect, test } from 'vitest'
import type { Loadable } from '../../../runtime/supervisor.ts'
import { type ClientLab, createClientLab, type LabClient } from '../../support/clients.ts'
import { killProcess } from '../../support/kill-process.ts'
import { waitUntil } from '../../support/wait-until.ts'

// Tests what happens to a misbehaving client, and whether other clients are affected.

let lab: ClientLab
afterEach(() => lab.stop())

const LOOP = 'for (;;);'
/** A loop in native code. No timeout inside the process can interrupt it. */
const NATIVE_LOOP = 'Array.prototype.indexOf.call(new Proxy({ length: 2 ** 53 - 1 }, {}), 1)'
const STATE = 'let count = 0; function click() { return String(++count) }'

async function open(count: number, script: string): Promise<LabClient[]> {
  const version = lab.version(script)
  const clients = []
  for (let made = 0; made < count; made++) clients.push(await lab.open(version))
  return clients
}

async function pair(script: string): Promise<[LabClient, LabClient]> {
  const [anna, bram] = await open(2, script)
  return [anna as LabClient, bram as LabClient]
}

test.each([
  ['a loop', LOOP],
  ['a loop of microtasks', '(function again() { Promise.resolve().then(again) })()'],
  ['a regular expression with catastrophic backtracking', "/^(a+)+$/.test('a'.repeat(40) + 'b')"],
])(
  'clients: %s ends at its time limit; neither its client nor another client in the isolate loses its state',
  async (_what, code) => {
    lab = createClientLab({ limits: { CALL_TIME: 700 } })
    const [anna, bram] = await pair(`${STATE} function bad() { count = 10;\n${code} }`)
    await bram.result('click')
    expect(await anna.run('bad')).toMatchObject({
      code: 'script_timeout',
      limit: { name: 'CALL_TIME', allowed: 700 },
      position: { line: 2 },
    })
    expect(await anna.result('click')).toBe('11')
    expect(await bram.result('click')).toBe('2')
    expect(lab.pids()).toHaveLength(1)
  },
)

test('clients: a call that waits too long for a response ends at its time limit, and a late response has no effect', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700 } })
  const [anna] = await pair(`${STATE} async function ask() { await probe.ask('x'); count = 100 }`)
  expect(await anna.run('ask')).toMatchObject({ code: 'script_timeout' })
  const [asked] = await lab.asked(1)
  asked?.answer(null)
  expect(await anna.result('click')).toBe('1')
})

test('clients: tasks that a terminated call left in the queue count for its own client, never for the next one', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700 } })
  const [anna, bram] = await pair(`${STATE}
    function bad() { for (let i = 0; i < 5; i++) Promise.resolve().then(() => { ${LOOP} }); ${LOOP} }
    function quick() { return 'done' }`)
  for (let round = 0; round < 2; round++) {
    const bad = anna.run('bad')
    const next = bram.run('click')
    expect(await bad).toMatchObject({ code: 'script_timeout' })
    expect(await next).toMatchObject({ code: 'returned', result: `${round + 1}` })
  }
  expect(await anna.run('quick')).toMatchObject({ code: 'returned' })
})

test('clients: endless promises after the response end with the call, and don’t affect other clients', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700 } })
  const [anna, bram] = await pair(`${STATE}
    async function later() { await probe.ask('x'); (function again() { Promise.resolve().then(again) })(); return 'x' }
    function now() { (function again() { Promise.resolve().then(again) })(); return 'x' }`)
  const later = anna.run('later')
  const [asked] = await lab.asked(1)
  asked?.answer(null)
  expect(await later).toMatchObject({ code: 'script_timeout' })
  expect(await anna.run('now')).toMatchObject({ code: 'script_timeout' })
  expect(await bram.result('click')).toBe('1')
  expect(await anna.result('click')).toBe('1')
})

test('clients: an unhandled rejection fails its call and no other', async () => {
  lab = createClientLab()
  const [anna, bram] = await pair(`${STATE} function bad() { Promise.reject(new Error('unheard')); return 'x' }`)
  const bad = anna.run('bad')
  expect(await bram.result('click')).toBe('1')
  expect(await bad).toMatchObject({ code: 'script_error', message: 'Error: unheard', position: { line: 1 } })
  expect(await anna.result('click')).toBe('1')
})

test('clients: waiting for others in the isolate does not count as a call’s time', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 2000 } })
  const [anna, bram, cleo] = (await open(
    3,
    `function busy(time) { const end = Date.now() + Number(time); while (Date.now() < end); return 'done' }
     async function asks() { await probe.ask('x'); return busy(1200) }`,
  )) as [LabClient, LabClient, LabClient]
  expect(await Promise.all([anna, bram, cleo].map((client) => client.run('busy', '800')))).toMatchObject(
    Array(3).fill({ code: 'returned' }),
  )
  const asks = anna.run('asks')
  const [asked] = await lab.asked(1)
  const busy = bram.run('busy', '1200')
  asked?.answer(null)
  expect(await busy).toMatchObject({ code: 'returned' })
  expect(await asks).toMatchObject({ code: 'returned', result: 'done' })
})

test('clients: if an isolate runs out of memory, only its own clients are terminated', async () => {
  lab = createClientLab({ limits: { ISOLATE_MEMORY: 24 * 1024 ** 2, CALL_TIME: 20_000 } })
  const clients = await open(
    25,
    `${STATE} const kept = []; function bad() { for (;;) kept.push(new Array(1000).fill(kept.length)) }
     async function ask() { await probe.ask('x') }`,
  )
  const [anna, bram] = clients as [LabClient, LabClient]
  const elsewhere = clients[24] as LabClient
  await elsewhere.result('click')
  const waiting = bram.run('ask')
  await lab.asked(1)
  expect(await anna.run('bad')).toMatchObject({ code: 'script_memory', limit: { name: 'ISOLATE_MEMORY' } })
  await Promise.all(clients.slice(0, 24).map(({ gone }) => gone))
  expect(await waiting).toMatchObject({ code: 'client_gone', started: true, changedSomething: false })
  expect(await elsewhere.result('click')).toBe('2')
  expect(lab.pids()).toHaveLength(1)
})

test('clients: a call whose memory grows while the host is busy still gets the error', async () => {
  lab = createClientLab({
    limits: { PROCESS_MEMORY: 150 * 1024 ** 2, ISOLATE_MEMORY: 2 * 1024 ** 3, CALL_TIME: 20_000 },
  })
  const [anna] = await pair(
    `${STATE} function bad() { const k = []; for (;;) { k.push(new Uint8Array(1 << 20).fill(1)); const end = Date.now() + 2; while (Date.now() < end); } }`,
  )
  const bad = anna.run('bad')
  // Block this thread. Until it continues, the host can't read any messages from the process, not even that the call
  // has started.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  expect(await bad).toMatchObject({ code: 'script_memory', limit: { name: 'PROCESS_MEMORY' } })
})

test('clients: if memory outside of the isolate grows too large, the process ends, and the responsible call gets the error', async () => {
  lab = createClientLab({ limits: { PROCESS_MEMORY: 200 * 1024 ** 2, CALL_TIME: 20_000 } })
  const [anna, bram] = await pair(
    `${STATE} function bad() { const kept = []; for (;;) kept.push(new Array(100000).fill(1.5)) }`,
  )
  expect(await anna.run('bad')).toMatchObject({ code: 'script_memory' })
  await anna.gone
  await bram.gone
  expect(await bram.run('click')).toMatchObject({ code: 'client_gone', started: false })
})

test('clients: a loop that can’t be interrupted terminates the process; the call that ran it fails, and the other clients are closed', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700 } })
  const clients = await open(
    25,
    `${STATE} function bad() { ${NATIVE_LOOP} } async function ask(what) { await probe.ask(what) }`,
  )
  const [anna, bram] = clients as [LabClient, LabClient]
  const elsewhere = clients[24] as LabClient
  const bad = anna.run('bad')
  expect(await elsewhere.result('click')).toBe('1')
  const beside = bram.run('click')
  expect(await bad).toMatchObject({ code: 'script_timeout', limit: { name: 'CALL_TIME' } })
  expect(await beside).toMatchObject({ code: 'client_gone', started: false })
  await Promise.all(clients.map(({ gone }) => gone))
  await waitUntil(() => expect(lab.pids()).toEqual([]), { interval: 20 })
})

test('clients: after three uninterruptible loops, no client of the version can open for a while, but those of other versions can', async () => {
  lab = createClientLab({ limits: { CALL_TIME: 700, LOAD_TIME: 300 } })
  const version = lab.version(NATIVE_LOOP)
  for (let tries = 0; tries < 3; tries++) {
    expect(await lab.tryOpen(version)).toMatchObject({ code: 'script_timeout', limit: { name: 'LOAD_TIME' } })
  }
  expect(await lab.tryOpen(version)).toMatchObject({ code: 'sandbox_busy', retryAt: expect.any(Number) })
  expect(lab.lines.map(({ message }) => message)).toEqual([
    expect.stringContaining('so new clients are blocked for 5 s'),
  ])
  const [other] = await open(1, STATE)
  expect(await other?.result('click')).toBe('1')
})

/**
 * Opens a client whose solution's top-level code hangs if it runs after a certain time. The client opens before that
 * time. Clients of the same version that open later hang.
 */
async function openedBefore(patience: number): Promise<{ version: Loadable; anna: LabClient; from: number }> {
  const from = Date.now() + patience
  const version = lab.version(
    `${STATE} if (Date.now() > ${from}) { Promise.resolve().then(() => { ${LOOP} }); ${LOOP} }`,
  )
  const opened = await lab.open(version).catch(() => null)
  // On a busy machine, the code may run too late and hang. If so, try again with a later time.
  return opened === null ? openedBefore(patience * 2) : { version, anna: opened, from }
}

test('clients: a client with endless top-level code fails to open, and other clients in the isolate are not affected', async () => {
  lab = createClientLab({ limits: { LOAD_TIME: 300 } })
  const { version, anna, from } = await openedBefore(1500)
  await waitUntil(() => expect(Date.now()).toBeGreaterThan(from), { timeout: from - Date.now() + 3000 })
  for (let tries = 0; tries < 2; tries++) {
    const opening = lab.tryOpen(version)
    expect(await anna.result('click')).toBe(`${tries + 1}`)
    expect(await opening).toMatchObject({ code: 'script_timeout', limit: { name: 'LOAD_TIME', allowed: 300 } })
  }
  expect(await anna.result('click')).toBe('3')
  expect(lab.supervisor.processes().filter(({ key }) => key === version.key)).toHaveLength(1)
})

test('clients: if a process is killed from outside, all its clients end, and no solution is blamed', async () => {
  lab = createClientLab()
  const version = lab.version(`${STATE} async function ask(what) { await probe.ask(what) }`)
  for (let round = 0; round < 4; round++) {
    const [anna, bram, cleo] = [await lab.open(version), await lab.open(version), await lab.open(version)]
    const running = [anna.run('ask', 'x'), bram.run('ask', 'change')]
    const waiting = anna.run('click')
    await lab.asked(2 * (round + 1))
    killProcess(lab.pids()[0])
    expect(await Promise.all(running)).toMatchObject([
      { code: 'client_gone', started: true, changedSomething: false },
      { code: 'client_gone', started: true, changedSomething: true },
    ])
    expect(await waiting).toMatchObject({ code: 'client_gone', started: false, changedSomething: false })
    await cleo.gone
  }
  expect(await (await lab.open(version)).result('click')).toBe('1')
})

test('clients: a client can answer neither requests nor calls for another client', async () => {
  lab = createClientLab()
  const [anna, bram] = await pair(`${STATE}
    async function ask() { return await probe.ask('secret') }
    function forge() {
      const found = []
      for (const name of Object.getOwnPropertyNames(globalThis)) {
        if (/solhost|host|enter|answer|done/i.test(name)) found.push(name)
      }
      // Its own requests have the same ids as those of the other one.
      for (let id = 0; id < 5; id++) probe.ask('mine')
      return JSON.stringify(found)
    }`)
  const asking = anna.run('ask')
  const [secret] = await lab.asked(1)
  expect(await bram.result('forge')).toBe('[]')
  const requests = await lab.asked(6)
  for (const { text, answer } of requests) if (text === 'mine') answer('forged')
  secret?.answer('told')
  expect(await asking).toMatchObject({ code: 'returned', result: 'told' })
})

test('clients: a retired version’s clients continue, new ones get another process, and the old process ends with its last client', async () => {
  lab = createClientLab()
  const version = lab.version(STATE)
  const anna = await lab.open(version)
  const [old] = lab.pids()
  lab.supervisor.retire(version.key)
  const bram = await lab.open(version)
  expect(lab.pids()).toHaveLength(2)
  expect([await anna.result('click'), await bram.result('click')]).toEqual(['1', '1'])
  anna.close()
  await waitUntil(() => expect(lab.pids()).not.toContain(old), { interval: 20 })
  expect(await bram.result('click')).toBe('2')
})

test('clients: a version’s logins and clients have separate processes', async () => {
  lab = createClientLab()
  const version = lab.version(`${STATE} function onSolutionOpen() { return click() }`)
  const client = await lab.open(version)
  const call = { unit: 'main', entry: 'onSolutionOpen', args: [], state: {}, timeLimit: 'CALL_TIME' } as const
  const state = { security: { signsIn: false, user: null }, i18n: 'en', application: null } as never
  const handlers = { log: () => {}, request: () => ({ changes: false, value: Promise.resolve(null) }) }
  expect(await lab.supervisor.call(version, { ...call, state }, handlers)).toMatchObject({ result: '1' })
  expect(await client.result('click')).toBe('1')
  expect(lab.supervisor.processes().filter(({ key }) => key === version.key)).toHaveLength(2)
})
