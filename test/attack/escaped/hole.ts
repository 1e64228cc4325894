// A build of the sandbox process with a hole, only for escaped.parts.test.ts. The test starts the process from a copy
// of its program in which one file is replaced. Nothing that is shipped, no setting and no bundle can enable this.

/** A log line with this prefix is run as code in the process, outside of the isolate, instead of being logged. */
export const ESCAPE = '!escape '

const TOLD = 'log: (id, level, line, position) =>'

/** @param source the text of main.cjs, which is built from runtime/sandbox/main.ts */
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
