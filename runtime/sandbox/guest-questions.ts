import { isAllowedAddress } from '../address.ts'
import type { LogLevel, Position } from '../outcome.ts'
import type { Json, Tables } from '../plugin.ts'
import { findPosition } from './positions.ts'

type Texts = ReadonlyMap<string, string>
/** Finds a table by the plugin's and the table's name, with a space between them. */
export type FindTable = (name: string) => Texts | undefined

/** Handles messages from contexts' guest parts, and responds to them. `C` is the process's state for a context. */
export type GuestListener<C> = {
  /** The solution's own files. Positions in other files are not reported. */
  readonly files: ReadonlySet<string>
  /** Returns a text of a plugin's table, or null. `table` is the plugin's and the table's name. */
  readonly lookUp: (table: string, key: string) => string | null
  readonly contextOf: (id: number) => C | undefined
  readonly log: (context: C, level: LogLevel, message: string, position?: Position) => void
  readonly request: (context: C, request: number, plugin: string, method: string, args: readonly Json[]) => void
  /** Called when the Promise that the entry function returned is settled. The context is still running then. */
  readonly done: (context: C, text: string) => void
}

/**
 * The only function of the sandbox process that a context can call (`Host` in types.guest.ts). Only the context's
 * trusted part can call it. The trusted part passes the context's id.
 */
export type FromGuest = (context: unknown, kind: unknown, text: unknown, key: unknown) => string | null | false

/**
 * The function never throws, because an error from the host would expose its stack to the isolate. It returns false if
 * the message could not be handled, for example because the stack is exhausted.
 */
export function createFromGuest<C>(listener: GuestListener<C>): FromGuest {
  const { files, lookUp, contextOf, log, request, done } = listener

  return (context, kind, text, key) => {
    try {
      if (kind === 'random') return randomDigits()
      const created = contextOf(context as number)
      if (created === undefined) return null
      if (typeof text !== 'string') return null
      if (kind === 'uuid') return crypto.randomUUID()
      if (kind === 'address') return isAllowedAddress(text) ? '' : null
      if (kind === 'look') return typeof key === 'string' ? lookUp(text, key) : null
      needStack()
      if (kind === 'done') {
        done(created, text)
        return null
      }
      const message = JSON.parse(text) as Record<string, unknown>
      if (kind === 'log') {
        const { level, message: line, stack } = message as { level: LogLevel; message: string; stack: string }
        log(created, level, line, findPosition(stack, files))
      } else if (kind === 'request') {
        const { id, plugin, method, args } = message as { id: number; plugin: string; method: string; args: Json[] }
        request(created, id, plugin, method, args)
      }
      return null
    } catch {
      return false
    }
  }
}

/** Passing these numbers as arguments needs 64 kB of stack. */
const LARGE: readonly number[] = Array(8192).fill(0)

/**
 * Makes sure that enough of the stack is left for a write. If a script had nearly exhausted the stack, a write could
 * fail halfway. The channel would then be unusable, and every later call of the process would hang.
 * @throws RangeError if not enough of the stack is left
 */
function needStack(): void {
  Reflect.apply(nothing, undefined, LARGE)
}

function nothing(): void {}

/** Returns 64 random numbers of 52 bits each, as hexadecimal digits. */
export function randomDigits(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(416))).toString('hex')
}

/**
 * Returns a function that looks up a table by its name. A table is parsed when it is first looked up.
 * @param tables see `Trusted`
 */
export function parsedOnDemand(tables: Readonly<Record<string, string>>): FindTable {
  const texts = new Map(Object.entries(tables))
  const parsed = new Map<string, Texts>()
  return (name) => {
    const text = parsed.has(name) ? undefined : texts.get(name)
    if (text !== undefined) parsed.set(name, new Map(Object.entries(JSON.parse(text) as Record<string, string>)))
    return parsed.get(name)
  }
}

/** @param own the version's own tables. @param shared finds the tables that all solutions share */
export function createLookUp(
  own: Readonly<Record<string, Tables>>,
  shared: FindTable,
): GuestListener<unknown>['lookUp'] {
  const tables = textsByTable(own)
  return (table, key) => (tables.get(table) ?? shared(table))?.get(key) ?? null
}

/** Returns the lookup tables by the guest's key, which consists of the plugin's and the table's name. */
function textsByTable(tables: Readonly<Record<string, Tables>>): ReadonlyMap<string, Texts> {
  return new Map(
    Object.entries(tables).flatMap(([plugin, named]) =>
      Object.entries(named).map(([table, texts]): [string, Map<string, string>] => [
        `${plugin} ${table}`,
        new Map(Object.entries(texts)),
      ]),
    ),
  )
}
