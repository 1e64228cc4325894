// Loaded before everything else in a sandbox process (--import). The host sends the modules that every sandbox process
// needs without their types over the standard input; to strip them here would cost each process 8 MB and its start time.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** Module texts by file URL. */
const sources = JSON.parse(readFileSync(0, 'utf8'))

registerHooks({
  load(url, context, nextLoad) {
    return Object.hasOwn(sources, url)
      ? { format: 'module', source: sources[url], shortCircuit: true }
      : nextLoad(url, context)
  },
})
