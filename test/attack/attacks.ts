import { readdirSync, readFileSync } from 'node:fs'
import { type Effects, noEffects } from '../../base/bundles/host-call.ts'
import type { ScriptEnd } from '../support/solutions.ts'

/**
 * How an attack may end: its attempts fail ("contained"), it is stopped in one of these ways, or it succeeds
 * ("escaped").
 */
export type End = 'contained' | 'error' | 'timeout' | 'memory' | 'busy' | 'escaped'

/** A malicious script, with the declarations from its first lines. */
export type Attack = {
  readonly name: string
  readonly source: string
  /** The permitted outcomes, from the lines `// expect:`, `// also:`, `// also2:` and so on. */
  readonly expected: readonly string[]
  /** `// calls: n` runs `n` logins, in order. */
  readonly calls: number
  /** `// together: yes` runs the logins at the same time. */
  readonly together: boolean
  /**
   * `// shared: yes` runs the script in a process shared with other scripts. Use it only if the attack doesn't depend on
   * how the script is loaded or on a separate process, and leaves nothing behind.
   */
  readonly isShared: boolean
  /** `// code:` is the expected error code. Needed if `error` would allow several codes. */
  readonly code: string | null
  /** `// lines: n` is the expected number of log lines. */
  readonly lines: number | null
  /**
   * `// effects:` lists all permitted effects of a successful call, as JSON. `#` is replaced by the number of the
   * login.
   */
  readonly effects: string
}

/**
 * Whether this is `npm run long -- attacks`, which runs every script in every realm. The usual tests skip some scripts.
 */
const isEveryAttackRun = process.env.LONG_ATTACKS === 'all'

/**
 * Returns only the first scripts of each kind, such as `cpu-` or `escape-`, because running all of them takes too long.
 */
export function someOfEachKind(attacks: readonly Attack[], count: number): readonly Attack[] {
  if (isEveryAttackRun) return attacks
  const kinds = Map.groupBy(attacks, ({ name }) => name.split('-')[0])
  return [...kinds.values()].flatMap((all) => all.slice(0, count))
}

/**
 * Returns which scripts of a kind to run if usually only those with these names run.
 * @throws Error if there is no script with one of these names, for example after it was renamed
 */
export function usuallyOnly(names: readonly string[]): (attack: Attack) => boolean {
  const known = ['own', 'scripts'].flatMap(readAttacks).map(({ name }) => name)
  const missing = names.filter((name) => !known.includes(name))
  if (missing.length > 0) throw new Error(`there are no attack scripts named ${missing.join(', ')}`)
  return ({ name }) => isEveryAttackRun || names.includes(name)
}

/** Reads the scripts in a folder next to this file. */
export function readAttacks(folder: string): readonly Attack[] {
  const url = new URL(`${folder}/`, import.meta.url)
  const names = readdirSync(url).filter((name) => name.endsWith('.js'))
  return names.sort().map((name) => readAttack(name, readFileSync(new URL(name, url), 'utf8')))
}

function readAttack(name: string, source: string): Attack {
  const line = (key: string) => new RegExp(`^// ${key}: (.+)$`, 'm').exec(source)?.[1] ?? null
  const lines = line('lines')
  return {
    name,
    source,
    expected: [...source.matchAll(/^\/\/ (?:expect|also\d?): (\w+)/gm)].map((match) => match[1] ?? ''),
    calls: Number(line('calls') ?? 1),
    together: line('together') !== null,
    isShared: line('shared') !== null,
    code: line('code'),
    lines: lines === null ? null : Number(lines),
    effects: line('effects') ?? '{}',
  }
}

/** A malicious client script. The user starts `attack` with a button. */
export type ClientAttack = {
  readonly name: string
  readonly source: string
  /**
   * The permitted outcomes, from the lines `// expect:` and `// also:`. "contained": the attempts fail or have only
   * permitted effects. "error": the user sees an error.
   */
  readonly expected: readonly ('contained' | 'error' | 'closed' | 'reopened')[]
  /** `// presses: n` presses the attack's button `n` times. */
  readonly presses: number
  /** `// shows:` is a text that the browser must receive. */
  readonly shows: string | null
  /** `// alone: yes` runs the script in a separate solution, because loading or ending it affects other clients. */
  readonly isAlone: boolean
  /** `// settles: no` means that the attacking client's own user can't do anything afterwards. */
  readonly settles: boolean
}

export function readClientAttacks(): readonly ClientAttack[] {
  return readAttacks('clients').map(({ name, source, expected }) => {
    const line = (key: string) => new RegExp(`^// ${key}: (.+)$`, 'm').exec(source)?.[1] ?? null
    return {
      name,
      source,
      expected: expected as ClientAttack['expected'],
      presses: Number(line('presses') ?? 1),
      shows: line('shows'),
      isAlone: line('alone') !== null,
      settles: line('settles') === null,
    }
  })
}

/** Describes how the attack ended, in the words that the scripts' first lines use. */
export function endsOf({ failure, values, log }: ScriptEnd): readonly End[] {
  if (failure === null) {
    if (values.escaped === true) return ['escaped']
    // If a result is not a string, the host ignores it and writes a log line. Some scripts declare this as "error",
    // others as "contained".
    return log.some(({ message }) => /^onSolutionOpen returned /.test(message)) ? ['error', 'contained'] : ['contained']
  }
  const ends = {
    script_error: 'error',
    script_quota: 'error',
    script_timeout: 'timeout',
    script_memory: 'memory',
    script_crashed: 'memory',
    sandbox_busy: 'busy',
  } as const
  return [ends[failure.code]]
}

/** Returns the effects that the attack's first lines allow for this login. A failed call must have no effects. */
export function allowedEffects(
  { effects }: Attack,
  call: number,
  failed: boolean,
): { readonly effects: Effects; readonly notes: readonly string[] } {
  const {
    messages = {},
    notes = [],
    ...written
  } = failed ? ({} as Record<string, never>) : JSON.parse(effects.replaceAll('#', String(call)))
  return { effects: { ...noEffects(), ...written, messages: new Map(Object.entries(messages)) }, notes }
}
