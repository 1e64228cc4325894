// Measures the metrics in docs/performance.md: all of them, or only those named on the command line.
// Usage: npm run bench -- w1 events --json figures.json
import { parseArgs } from 'node:util'
import { measureActiveMemory } from './active-memory.ts'
import { measureClients } from './clients.ts'
import { measureColdBurst } from './cold-burst.ts'
import { measureColdStart } from './cold-start.ts'
import { measureEndpoints } from './endpoints.ts'
import { measureEvents } from './events.ts'
import { measureFloors } from './floors.ts'
import { measureHashing } from './hashing.ts'
import { measureIdleMemory } from './idle-memory.ts'
import { measureManyUsers } from './many-users.ts'
import { measureNeighbour } from './neighbour.ts'
import { measureRefusals } from './refused.ts'
import { type Measured, type Report, type Row, reportOf, tableOf, writeJson } from './report.ts'
import { measureSessions } from './session.ts'
import { measureTelemetry } from './telemetry.ts'
import { measureUploadCheck } from './upload-check.ts'
import { measureLogins } from './w1-login.ts'
import { measureFormPosts } from './w2-form-post.ts'

const SUBJECTS: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  w1: measureLogins,
  cold: measureColdStart,
  burst: measureColdBurst,
  check: measureUploadCheck,
  w2: measureFormPosts,
  events: measureEvents,
  endpoints: measureEndpoints,
  memory: measureActiveMemory,
  idle: measureIdleMemory,
  neighbour: measureNeighbour,
  session: measureSessions,
  floors: measureFloors,
  refused: measureRefusals,
  users: measureManyUsers,
  hashing: measureHashing,
  clients: measureClients,
  telemetry: measureTelemetry,
}

// isolated-vm needs this flag in every process that creates isolates. Measurement W1 creates some in this process.
if (!process.execArgv.includes('--no-node-snapshot'))
  throw new Error('The flag --no-node-snapshot is missing. Run "npm run bench".')
const { values, positionals } = parseArgs({ options: { json: { type: 'string' } }, allowPositionals: true })
const unknown = positionals.filter((name) => !Object.hasOwn(SUBJECTS, name))
if (unknown.length > 0) {
  process.stderr.write(
    `There is no measurement "${unknown[0]}". The measurements are: ${Object.keys(SUBJECTS).join(', ')}.\n`,
  )
  process.exit(2)
}
// Exit if a run is interrupted: exit handlers then terminate the hosts, whereas the signal's default action would not.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await run(positionals.length === 0 ? Object.keys(SUBJECTS) : positionals, values.json ?? process.env.BENCH_JSON)

/** If a measurement fails, the others still run. */
async function run(subjects: readonly string[], json: string | undefined): Promise<void> {
  const rows: Measured[] = []
  const failed: Report['failed'][number][] = []
  for (const subject of subjects) {
    process.stderr.write(`measuring ${subject} …\n`)
    try {
      const measured = (await SUBJECTS[subject]?.()) ?? []
      rows.push(...measured.map((row) => ({ subject, ...row })))
    } catch (error) {
      failed.push({ subject, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  const report = reportOf(rows, failed)
  process.stdout.write(tableOf(report))
  if (json !== undefined) writeJson(report, json)
  process.exit(failed.length === 0 ? 0 : 1)
}
