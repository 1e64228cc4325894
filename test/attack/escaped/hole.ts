// Builds a sandbox process with a deliberate hole, only for escaped.parts.test.ts. The test starts the process from a
// copy of the program in which one file is replaced. Released builds don't contain the hole, and no setting or bundle
// can enable it.

/** A log line with this prefix is not logged, but run as code in the process, outside of the isolate. */
export const ESCAPE = '!escape '

const TOLD = 'log: (id, level, line, position) =>'

/**
 * Adds the hole to a program. @param source the source code of main.cjs, which is built from runtime/sandbox/main.ts
 */
export function withHole(source: string): string {
  if (source.split(TOLD).length !== 2) throw new TypeError('runtime/sandbox/main.ts has changed: find the hole a place')
  return `${source.replace(TOLD, `${TOLD} runEscaped(id, line) || `)}
function runEscaped(id, line) {
  if (!line.startsWith('${ESCAPE}')) return false
  const node = (name) => process.getBuiltinModule(name)
  const load = (specifier) => import(specifier)
  const run = async () => (0, eval)('(async (node, load, require) => {' + line.slice(${ESCAPE.length}) + '})')(node, load, require)
  run().then(
    (value) => 'done ' + (JSON.stringify(value) ?? ''),
    (error) => error?.code ?? error?.cause?.code ?? String(error),
  ).then((text) => send({ kind: 'log', id, level: 'info', message: String(text).slice(0, 5000) }))
  return true
}
`
}
