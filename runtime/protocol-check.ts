import { MOST_ENDPOINTS } from './bundle/endpoint-schema.ts'
import { FAULT_CODES, WARNING_CODES } from './bundle/faults.ts'
import { MOST_JOBS } from './bundle/job-schema.ts'
import { isJsonObject } from './json.ts'
import { FAILURES } from './outcome.ts'
import type { FromSandbox } from './protocol.ts'

// Checks the form and size of every message from a sandbox process, because malicious code may run there. Written by
// hand because every login passes through here, and a schema library took 0.1 ms (`npm run bench`).

/** Checks one value. Must not throw, and must read only own properties of parsed JSON. */
type Check = (value: unknown) => boolean

const LEVELS = new Set(['debug', 'info', 'warn', 'error'])

const isMessage = textUpTo(10_000)
const isName = textUpTo(100)
const isFile = textUpTo(300)
const isAnything: Check = () => true
const isId: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isPlace: Check = (value) => isId(value) && (value as number) <= 1e9
/** JSON can express an infinite number: 1e999. */
const isNumber: Check = (value) => Number.isFinite(value)
const isMilliseconds: Check = (value) => isNumber(value) && (value as number) >= 0
const isText: Check = (value) => typeof value === 'string'

const isPosition = object({ file: isFile, line: isPlace, column: isPlace })
const isFault = object(
  { file: isFile, code: oneOf(Object.keys(FAULT_CODES)), message: isMessage },
  { line: isPlace, column: isPlace },
)
const isWarning = object(
  { file: isFile, code: oneOf(Object.keys(WARNING_CODES)), message: isMessage },
  { line: isPlace, column: isPlace },
)
const isArguments = listUpTo(100, isAnything)
const isCommand = object({ plugin: isName, method: isName, args: isArguments })

const isReturned = object(
  {
    ok: (value) => value === true,
    result: (value) => value === null || typeof value === 'string',
    commands: listUpTo(10_000, isCommand),
    milliseconds: isMilliseconds,
  },
  { odd: isName, unanswered: listUpTo(10_000, isId) },
)
const isFailed = object(
  {
    ok: (value) => value === false,
    code: oneOf(Object.keys(FAILURES)),
    message: isMessage,
    milliseconds: isMilliseconds,
  },
  {
    cutOff: (value) => typeof value === 'boolean',
    position: isPosition,
    limit: object({ name: isName, allowed: isNumber }, { used: isNumber }),
  },
)
const isNames = listUpTo(Number.POSITIVE_INFINITY, isName)
const isScope = object({ name: isFile, names: isNames, shared: isNames, isOwn: (value) => typeof value === 'boolean' })
const isRealmNames = listUpTo(
  Number.POSITIVE_INFINITY,
  object({ globals: isNames, lexicals: isNames }, { readsThis: (value) => typeof value === 'boolean' }),
)
const isChecked = object(
  {
    faults: listUpTo(100_000, isFault),
    warnings: listUpTo(100_000, isWarning),
    scripts: listUpTo(Number.POSITIVE_INFINITY, isText),
    scopes: listUpTo(Number.POSITIVE_INFINITY, isScope),
    formScripts: listUpTo(Number.POSITIVE_INFINITY, isText),
    formFunctions: listUpTo(Number.POSITIVE_INFINITY, object({ names: isNames, bound: isNames })),
    forms: listUpTo(Number.POSITIVE_INFINITY, isAnything),
    i18n: listUpTo(Number.POSITIVE_INFINITY, isTable),
    template: isAnything,
  },
  { realmNames: isRealmNames },
)

/** Checks for messages, by their `kind`. */
const MESSAGES: Readonly<Record<FromSandbox['kind'], Check>> = {
  ready: object({ kind: isText }, { snapshot: isText }),
  clientSnapshot: object({ kind: isText }, { snapshot: isText }),
  unready: object({ kind: isText, message: isMessage }),
  pong: object({ kind: isText }),
  settled: object({ kind: isText }),
  loaded: object({ kind: isText, faults: listUpTo(10_000, isFault) }),
  started: object({ kind: isText, id: isId }),
  gone: object({ kind: isText, clients: listUpTo(1000, isId) }),
  hung: object({ kind: isText, id: isId }),
  loading: object({ kind: isText, file: isFile }),
  ended: object({ kind: isText, id: isId, outcome: (value) => isReturned(value) || isFailed(value) }),
  probed: object({
    kind: isText,
    id: isId,
    faults: listUpTo(10, isFault),
    found: listUpTo(MOST_ENDPOINTS + MOST_JOBS, isName),
  }),
  log: object(
    { kind: isText, id: isId, level: (value) => LEVELS.has(value as string), message: isMessage },
    { position: isPosition },
  ),
  request: object({ kind: isText, id: isId, request: isId, plugin: isName, method: isName, args: isArguments }),
  checked: object({ kind: isText, checked: isChecked }),
  // `message` needs no length check: the frame is limited, and only the debugger uses the content.
  inspected: object({ kind: isText, session: isId, message: isText }),
  detached: object({ kind: isText, session: isId }),
}

/** @returns null if the text is not a valid message; the process can then no longer be trusted */
export function checkFromSandbox(text: string): FromSandbox | null {
  try {
    const message: unknown = JSON.parse(text)
    const kind = isJsonObject(message) ? message.kind : null
    if (typeof kind !== 'string' || !Object.hasOwn(MESSAGES, kind)) return null
    return MESSAGES[kind as FromSandbox['kind']](message) ? (message as FromSandbox) : null
  } catch {
    return null
  }
}

/** A check for objects that have all `required` properties and, apart from `optional` ones, no others. */
function object(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check {
  const checks = new Map(Object.entries({ ...required, ...optional }))
  const names = Object.keys(required)
  return (value) => {
    if (!isJsonObject(value)) return false
    for (const name of Object.keys(value)) {
      const check = checks.get(name)
      if (check === undefined || !check(value[name])) return false
    }
    return names.every((name) => Object.hasOwn(value, name))
  }
}

function listUpTo(length: number, check: Check): Check {
  return (value) => Array.isArray(value) && value.length <= length && value.every(check)
}

function textUpTo(length: number): Check {
  return (value) => typeof value === 'string' && value.length <= length
}

function oneOf(values: readonly string[]): Check {
  const known = new Set(values)
  return (value) => known.has(value as string)
}

function isTable(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isText)
}
