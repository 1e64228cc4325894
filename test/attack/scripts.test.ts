import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createScriptLab, type ScriptEnd, type ScriptLab } from '../support/solutions.ts'

// Each script runs in a sandbox process of its own beside a healthy neighbour, whose logins must all succeed.

const FOLDER = new URL('scripts/', import.meta.url)
const NEIGHBOUR = `function onSolutionOpen(arg, q) { security.login(q.username, 'n', ['Users']); return JSON.stringify({ n: q.username }) }`
const MANIFEST = { eventTypes: { probe_event: {}, probe_event_2: {} } }

/** What a script's first lines say: `// expect:`, `// also:`, `// calls: n`. */
type Attack = {
  readonly name: string
  readonly source: string
  readonly expected: readonly string[]
  readonly calls: number
}

function readAttack(name: string): Attack {
  const source = readFileSync(new URL(name, FOLDER), 'utf8')
  const expected = [...source.matchAll(/^\/\/ (?:expect|also\d?): (\w+)/gm)].map((match) => match[1] ?? '')
  return { name, source, expected, calls: Number(/^\/\/ calls: (\d+)/m.exec(source)?.[1] ?? 1) }
}

const ATTACKS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.js'))
  .sort()
  .map(readAttack)

/** The ends that fit, in the words of the scripts' first lines. */
function endsOf({ failure, values, log }: ScriptEnd): readonly string[] {
  if (failure === null) {
    if (values.escaped === true) return ['escaped']
    // What is no text is refused with a line in the log and nothing of it is used: an error to one, contained to another.
    return log.some(({ message }) => /^onSolutionOpen returned /.test(message)) ? ['error', 'contained'] : ['contained']
  }
  const ends = {
    script_error: 'error',
    script_quota: 'error',
    script_timeout: 'timeout',
    script_memory: 'memory',
    script_crashed: 'memory',
    sandbox_busy: 'busy',
  }
  return [ends[failure.code]]
}

/** Time for attacks on memory to get there; the others need not wait so long. */
let patient: ScriptLab
let lab: ScriptLab
let healthy: { readonly asked: number; readonly answered: number }
let asking: Promise<void>
let stopAsking: () => void

beforeAll(() => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 1500 }, manifest: MANIFEST })
  patient = createScriptLab({ manifest: MANIFEST })
})
afterAll(() => {
  lab.stop()
  patient.stop()
})

/** Logs in one after the other, as long as an attack runs. */
function startNeighbour(): void {
  const counts = { asked: 0, answered: 0 }
  let stopped = false
  healthy = counts
  stopAsking = () => {
    stopped = true
  }
  asking = (async () => {
    while (!stopped || counts.asked < 5) {
      const username = `user-${++counts.asked}`
      const { effects } = await lab.run({ script: NEIGHBOUR, queryParams: { username } })
      if (effects.login?.username === username) counts.answered++
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
}

afterEach(async () => {
  stopAsking()
  await asking
  expect(healthy.answered).toBe(healthy.asked)
})

/** What no script may have got, whatever it says itself. */
function checkEffects(name: string, { effects, log }: ScriptEnd): void {
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
  expect(log.length).toBeLessThanOrEqual(203)
}

test.each(ATTACKS)(
  'attack $name ends as a sound sandbox ends it, and its neighbour does not notice',
  { timeout: 60_000 },
  async ({ name, source, expected, calls }) => {
    startNeighbour()
    for (let call = 0; call < calls; call++) {
      const attacked = name.startsWith('mem-') ? patient : lab
      const end = await attacked.run({
        script: source,
        queryParams: { username: `user-${call}`, password: `secret-${call}` },
      })
      checkEffects(name, end)
      const ends = endsOf(end)
      const isSound = ends.some((one) => expected.includes(one))
      expect(isSound, `expected ${expected}, but it was ${ends} (${end.failure?.message})`).toBe(true)
    }
  },
)
