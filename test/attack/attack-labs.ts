import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { createLimits } from '../../runtime/limits.ts'
import { residentSize } from '../../runtime/process-memory.ts'
import { createScriptLab, type ScriptEnd, type ScriptLab } from '../support/solutions.ts'
import { type Attack, allowedEffects, endsOf, readAttacks } from './attacks.ts'
import { directory } from './directory/host.ts'

// Shared by the test files that run attack scripts. Each file has its own labs. Each script runs next to a normal
// solution (the neighbour), whose logins must all succeed. Each script has its own sandbox processes, unless it can't
// affect other logins to its solution version.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NEIGHBOUR = `function onSolutionOpen(arg, q) { security.login(q.username, 'n', ['Users']); return JSON.stringify({ n: q.username }) }`
const MANIFEST = { eventTypes: { probe_event: {}, probe_event_2: {} } }
const FILE = 'modules/auth/globals.js'
const LIMITS = createLimits()
/**
 * Time in ms within which a process must be idle after its calls have ended. Loading the next context has a separate
 * limit.
 */
const QUIET_AFTER = LIMITS.LOAD_TIME + 2000
/** The maximum memory growth, in bytes, of the process that acts as the host during an attack. */
const HOST_GROWTH = 256 * 1024 ** 2

const LITTLE_MEMORY = { ISOLATE_MEMORY: 16 * 1024 ** 2 }

type Realm = Manifest['realm']
/**
 * The errors that the hardened realm throws when it refuses an action of an attack script. The call then fails and
 * leaves nothing behind.
 */
const REFUSALS = [
  /: the hardened realm has no /,
  / cannot be set in the hardened realm, /,
  /^TypeError: Cannot (?:define|redefine|add|delete|assign)/,
  /^ReferenceError: \w+ is not defined/,
  /^SyntaxError: /,
]
/** The realm in which this file's labs run the scripts. */
let labsRealm: Realm = 'fresh'
/** See `sharedScript`; empty in the fresh realm. */
let shared = ''
/** A lab with a short deadline, for attacks that only a deadline can end. */
let lab: ScriptLab
/** A lab with little memory, for memory attacks that the deadline may also end. */
let patient: ScriptLab
/**
 * A lab with a long deadline, for attacks that must not end in a timeout. On a busy machine, attacks can take a long
 * time, because they run at the lowest priority.
 */
let unhurried: ScriptLab
/** Like `unhurried`, but with little memory, so that memory attacks need less CPU time to fill it. */
let small: ScriptLab
let healthy: { readonly asked: number; readonly answered: number }
let asking: Promise<void>
let stopAsking: () => void
const notes: string[] = []

/** Signs users of another solution in repeatedly while an attack runs in the same lab. */
function startNeighbour(attacked: ScriptLab): void {
  const counts = { asked: 0, answered: 0 }
  let stopped = false
  healthy = counts
  stopAsking = () => {
    stopped = true
  }
  asking = (async () => {
    while (!stopped || counts.asked < 5) {
      const username = `user-${++counts.asked}`
      const { effects } = await attacked.run({ script: NEIGHBOUR, queryParams: { username } })
      if (effects.login?.username === username) counts.answered++
      // Each login creates a context. Without a pause, the neighbour would use a CPU core during the whole attack.
      await wait(counts.asked < 5 ? 5 : 50)
    }
  })()
}

/** Checks that a script had no effect that is forbidden to all scripts, whatever it declares. */
function checkEffects(name: string, { effects }: ScriptEnd): void {
  const { login, showUrl, locale } = effects
  if (login !== null) {
    expect(login.username).toMatch(/^[^\p{Cc}\u202a-\u202e\ud800-\udfff]+$/u)
    expect(login.permissions.every((permission) => typeof permission === 'string')).toBe(true)
    expect(['timer', 'admin', '[object Object]']).not.toContain(name.startsWith('fault-login') ? '' : login.username)
    if (name === 'escape-tojson-arguments.js')
      expect(login).toEqual({ username: 'guest', uid: '5', permissions: ['Users'] })
    if (name === 'escape-symbol-species.js') expect(login.permissions).toEqual(['Users', 'Guests'])
  }
  if (showUrl !== null) expect(showUrl).toMatch(/^(https?:\/\/|mailto:|\/(?![/\\]))/)
  if (locale !== null) expect(locale).toMatch(/^[a-z]{2,3}(-([A-Z]{2}|\d{3}))?$/)
}

/**
 * Checks the messages that the solution's author sees. Their length is limited, they refer to the solution's own file,
 * and they contain no text from the host.
 */
function checkTexts({ failure, log, values }: ScriptEnd): void {
  // In addition to the quota, allow the line that reports that the quota is used up, and the platform's lines about the
  // call's end.
  expect(log.length).toBeLessThanOrEqual(LIMITS.LOG_LINES + 3)
  expect(log.reduce((sum, { message }) => sum + message.length, 0)).toBeLessThan(LIMITS.LOG_SIZE + 10_000)
  const texts = [...log.map(({ message }) => message), failure?.message ?? '', JSON.stringify(values)]
  for (const text of texts) {
    expect(text).not.toContain(ROOT)
    expect(text).not.toMatch(/node:internal|runtime\/sandbox|a secret of the host/)
  }
  for (const place of [failure?.position, ...log.map(({ position }) => position)]) {
    if (place !== undefined) expect(place.file).toBe(FILE)
  }
}

/** Checks that no loop keeps running after a call, and that memory use falls below the limit. */
async function checkQuiet(before: ReadonlySet<number>): Promise<void> {
  const end = performance.now() + QUIET_AFTER
  for (;;) {
    const made = servingProcesses().filter((pid) => !before.has(pid))
    const busy = await Promise.all(made.map(isBusy))
    // The host checks every 50 ms, so the memory may exceed the limit for a moment.
    const isLarge = made.some((pid) => residentSize(pid) >= LIMITS.PROCESS_MEMORY)
    if (!busy.includes(true) && !isLarge) return
    const what = isLarge ? 'stays above PROCESS_MEMORY' : 'goes on using its core'
    expect(performance.now(), `a sandbox process without calls ${what}`).toBeLessThan(end)
  }
}

function servingProcesses(): number[] {
  const all = [lab, patient, unhurried, small].flatMap(({ supervisor }) => supervisor.processes())
  return all.filter(({ key }) => key !== null).map(({ pid }) => pid)
}

/** Checks the process several times. @returns whether it was running each time */
async function isBusy(pid: number): Promise<boolean> {
  for (let looks = 0; looks < 8; looks++) {
    if (!wantsToRun(pid)) return false
    await wait(20)
  }
  return true
}

function wantsToRun(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.startsWith('R') ?? false
  } catch {
    return false
  }
}

function labOf({ name, expected }: Attack): ScriptLab {
  const fillsMemory = name.startsWith('mem-')
  if (expected.includes('timeout')) return fillsMemory ? patient : lab
  return fillsMemory ? small : unhurried
}

/**
 * All scripts that can share a process, as functions in one script. The hardened realm needs this script, because it
 * has no `eval`.
 */
function sharedScript(): string {
  const functions = ['own', 'scripts'].flatMap((folder) =>
    readAttacks(folder)
      .filter(({ isShared }) => isShared)
      .map(({ name, source }) => `${JSON.stringify(name)}: function () { ${source}\nreturn onSolutionOpen }`),
  )
  return `const attacks = { ${functions.join(',\n')} }
function onSolutionOpen(arg, queryParams) {
  const { attack } = queryParams
  delete queryParams.attack
  return attacks[attack]()(arg, queryParams)
}`
}

function attempt(attack: Attack): (() => Promise<ScriptEnd[]>)[] {
  const { name, source, calls, together, isShared } = attack
  const attacked = labOf(attack)
  const isFunction = isShared && labsRealm === 'hardened'
  const runs = Array.from(
    { length: calls },
    (_, call) => () =>
      attacked.run({
        script: isFunction ? shared : source,
        evaluated: isShared,
        file: FILE,
        queryParams: {
          username: `user-${call}`,
          password: `secret-${call}`,
          ...(isFunction ? { attack: name } : {}),
        },
      }),
  )
  if (!together) return runs.map((run) => async () => [await run()])
  return [async () => Promise.all(runs.map((run) => run()))]
}

function expectEnd(expected: readonly string[], end: ScriptEnd): void {
  const ends = endsOf(end)
  const isSound = ends.some((one) => expected.includes(one)) || isRefused(end)
  const values = JSON.stringify(end.values).slice(0, 1000)
  expect(isSound, `expected ${expected}, but it was ${ends} (${end.failure?.message ?? values})`).toBe(true)
}

function isRefused({ failure }: ScriptEnd): boolean {
  return labsRealm === 'hardened' && failure !== null && REFUSALS.some((refusal) => refusal.test(failure.message))
}

export async function check(attack: Attack, checkMore: (end: ScriptEnd, call: number) => void): Promise<void> {
  const { name, expected } = attack
  const hostSize = process.memoryUsage().rss
  const processes = new Set(servingProcesses())
  startNeighbour(labOf(attack))
  let call = 0
  for (const run of attempt(attack)) {
    for (const end of await run()) {
      checkEffects(name, end)
      expectEnd(expected, end)
      checkMore(end, call++)
    }
  }
  expect(process.memoryUsage().rss - hostSize).toBeLessThan(HOST_GROWTH)
  stopAsking()
  await asking
  await checkQuiet(processes)
  // Retires the script's own processes. Has no effect if the script ran in a shared process.
  labOf(attack).retire({ script: attack.source, file: FILE })
}

/** Starts the labs before a file's tests and stops them afterwards. */
export function useLabs(realm: Realm = 'fresh'): void {
  beforeAll(() => {
    labsRealm = realm
    if (realm === 'hardened') shared = sharedScript()
    const plugins = [directory((_call, text) => void notes.push(text))]
    const manifest = { ...MANIFEST, realm }
    // Native loops run until LOAD_TIME has passed too. The limit also applies to the neighbour, whose process can get no
    // CPU time for almost half a second on a busy machine.
    lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 700, LOAD_TIME: 500 }, manifest, plugins })
    patient = createScriptLab({ limits: { ...LITTLE_MEMORY, AUTHENTICATOR_TIME: 1200 }, manifest, plugins })
    const unlimited = { AUTHENTICATOR_TIME: 60_000, LOAD_TIME: 10_000 }
    unhurried = createScriptLab({ limits: unlimited, manifest, plugins })
    small = createScriptLab({ limits: { ...unlimited, ...LITTLE_MEMORY }, manifest, plugins })
  })
  afterAll(() => {
    lab.stop()
    patient.stop()
    unhurried.stop()
    small.stop()
  })
  afterEach(async () => {
    stopAsking()
    await asking
    expect(healthy.answered).toBe(healthy.asked)
  })
}

/** Does the checks of `check`, and also compares the effects with those that the script declares. */
export function checkOwn(attack: Attack): Promise<void> {
  return check(attack, (end, call) => {
    const allowed = allowedEffects(attack, call, end.failure !== null)
    expect(end.effects).toEqual(allowed.effects)
    expect(notes.splice(0)).toEqual(allowed.notes)
    checkTexts(end)
    // Scripts can't set a log line's code, so only the line about a failure has one. Logins that run at the same time
    // are skipped, because they share their log lines.
    const codes = end.log.flatMap(({ code }) => code ?? [])
    if (!attack.together) expect(codes).toEqual(end.failure === null ? [] : [end.failure.code])
    if (isRefused(end)) return
    if (attack.code !== null) expect(end.failure?.code).toBe(attack.code)
    if (attack.lines !== null) expect(end.log.length).toBe(attack.lines)
    // A script that reports no result did not run its attack.
    if (endsOf(end).join() === 'contained') expect(end.values.escaped).toBe(false)
  })
}
