import type { SandboxSolution } from '../../runtime/protocol.ts'

/** The name of the function that calls a script's function for a test. */
export const CALL = '$solhostTestCall'

/** Not a valid file name in a solution, so that positions in errors refer only to the author's files. */
const FILE = 'solhost:test'
const SOURCE = `function ${CALL}(name, args) {
  'use strict'
  const dot = name.lastIndexOf('.')
  const owner = dot < 0 ? undefined : (0, eval)(name.slice(0, dot))
  const called = dot < 0 ? (0, eval)('typeof ' + name + ' === "undefined" ? undefined : ' + name) : owner[name.slice(dot + 1)]
  if (typeof called !== 'function') throw new TypeError(name + ' is not a function of the scripts')
  const tell = (value) => JSON.stringify({ value })
  const result = called.apply(owner, args)
  return result instanceof Promise ? result.then(tell) : tell(result)
}`

/**
 * Adds a script that calls a function by its name for a test and serializes the result. Entry functions can't do this,
 * because they can only return text. The script exists only in tests, and loads before the author's scripts.
 */
export function withCallScript(solution: SandboxSolution): SandboxSolution {
  const scripts = [...solution.scripts, { file: FILE, source: SOURCE }]
  return {
    ...solution,
    scripts,
    units: { ...solution.units, main: [scripts.length - 1, ...(solution.units.main ?? [])] },
  }
}

/**
 * Whether the text is a name such as `name` or `forms.order.name`. Other text could add code to the script that
 * contains it.
 */
export function isCallable(name: string): boolean {
  return /^[A-Za-z_$][\w$]{0,99}(\.[A-Za-z_$][\w$]{0,99}){0,3}$/.test(name)
}
