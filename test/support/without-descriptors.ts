// Run this as a separate program with a low `ulimit -n`. It uses up all file descriptors, then tries to start
// everything that needs a process or thread. Then it frees the descriptors and tries again. It prints the results as
// JSON.
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { builtInPlugins } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../base/bundles/trusted.ts'
import { runBuilder } from '../../control-center/pipelines/builder.ts'
import { threadDialect } from '../../control-center/telemetry/database/thread-dialect.ts'
import { createEmbeddedDatabase } from '../../host/solution-databases/embedded-database.ts'
import { createLimits } from '../../runtime/limits.ts'
import { startSandboxProcess } from '../../runtime/sandbox-process.ts'

const [folder = ''] = process.argv.slice(2)
const timeZone = 'UTC'
const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
const told: string[] = []
const onError = (message: string) => void told.push(message)
const database = createEmbeddedDatabase({ file: join(folder, 'data.sqlite'), limits, timeZone, onError })
const telemetry = threadDialect({ file: join(folder, 'telemetry.sqlite'), readOnly: false }).createDriver()

/** Waits for a promise, and returns its outcome as a string. */
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    (value) => `done: ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  )

async function startSandbox(): Promise<string> {
  const sandbox = startSandboxProcess({ timeZone, trusted })
  const ended = Promise.withResolvers<void>()
  sandbox.onEnd = () => ended.resolve()
  const ready = await outcome(sandbox.ready)
  sandbox.kill()
  await ended.promise
  return ready
}

const build = () =>
  runBuilder({
    ...{ words: ['true'], folder, wayOut: null, time: 60_000 },
    ...{ signal: new AbortController().signal, say: () => {}, secrets: [] },
  })

/** Sends a query to the telemetry database, which runs in its own thread. */
async function ask(): Promise<unknown> {
  const connection = await telemetry.acquireConnection()
  try {
    return (await connection.executeQuery(CompiledQuery.raw('select 1 as one'))).rows
  } finally {
    await telemetry.releaseConnection(connection)
  }
}

/** Ends the telemetry database's thread. The next query starts a new one. */
async function endThread(): Promise<void> {
  const connection = await telemetry.acquireConnection()
  await telemetry.releaseConnection(connection)
  await (connection as DatabaseConnection & { readonly worker: Worker }).worker.terminate()
}

async function tryAll(): Promise<Record<string, string>> {
  const results = {
    sandbox: await startSandbox(),
    query: await outcome(database.query('select 1 as one', [])),
    builder: await outcome(build()),
    thread: await outcome(ask()),
  }
  await database.kill()
  return results
}

await telemetry.init()
// This first run also loads the files that are read only once, so later runs need no descriptors for them.
const before = await tryAll()
await endThread()

const held: number[] = []
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch {
  // The error means that no descriptor is left.
}
const without = await tryAll()
for (const descriptor of held) closeSync(descriptor)
console.log(JSON.stringify({ before, without, told, after: await tryAll() }))
await telemetry.destroy()
