import type { SandboxSolution } from '../../runtime/protocol.ts'

/** The function that calls one of the scripts' own for a test. */
export const CALL = '$solhostTestCall'

/** Its file's name is none that a solution can have, so places in errors are those of the author's files. */
const FILE = 'solhost:test'
const SOURCE = `function ${CALL}(name, args) {
  'use strict'
  const dot = name.lastIndexOf('.')
  const owner = dot < 0 ? undefined : (0, eval)(name.slice(0, dot))
  const called = dot < 0 ? (0, eval)('typeof ' + name + ' === "undefined" ? undefined : ' + name) : owner[name.slice(dot + 1)]
  if (typeof called !== 'function') throw new TypeError(name + ' is no function of the scripts')
  const tell = (value) => JSON.stringify({ value })
  const result = called.apply(owner, args)
  return result instanceof Promise ? result.then(tell) : tell(result)
}`

/**
 * The solution with one script more: what an entry function may return is a text, so the functions that tests call
 * need one that makes it. It is there in tests alone, and loads before the author's.
 */
export function withCallScript(solution: SandboxSolution): SandboxSolution {
  const scripts = [...solution.scripts, { file: FILE, source: SOURCE }]
  return {
    ...solution,
    scripts,
    units: { ...solution.units, main: [scripts.length - 1, ...(solution.units.main ?? [])] },
  }
}

/** `name` or `forms.order.name`: nothing else is put into a script's text. */
export function isCallable(name: string): boolean {
  return /^[A-Za-z_$][\w$]{0,99}(\.[A-Za-z_$][\w$]{0,99}){0,3}$/.test(name)
}
