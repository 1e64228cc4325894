// Runs checks that take too long for the normal tests. `npm run long -- chaos` runs one check; without a name, all
// checks run. Each check prints its requirements, and fails if one is not met. Some checks have variants, such as `--
// center-load postgresql`. Some write files to a folder, such as `-- first-hour ./pictures`. The environment variable
// LONG_JSON is the path of a file for the results.
import { attacks } from './attacks.ts'
import { centerLoad } from './center-load.ts'
import { chaos } from './chaos.ts'
import { collectorAway } from './collector-away.ts'
import { devSaves } from './dev-saves.ts'
import { firstHour } from './first-hour.ts'
import { forgottenPassword } from './forgotten-password.ts'
import { fullScale } from './full-scale.ts'
import { fuzzServers } from './fuzz.ts'
import { growth } from './growth.ts'
import { heldTests } from './held-tests.ts'
import { jobs } from './jobs.ts'
import { killedSignIns } from './killed-sign-ins.ts'
import { killedUploads } from './killed-uploads.ts'
import { manySolutions } from './many-solutions.ts'
import { memory } from './memory.ts'
import { mutations } from './mutations.ts'
import { outage } from './outage.ts'
import { createRows, machine, printReport, type Report, type Rows, writeJson } from './report.ts'
import { samba } from './samba.ts'
import { soak } from './soak.ts'
import { twoNodes } from './two-nodes.ts'

const RUNS: Readonly<Record<string, (rows: Rows, folder: string | undefined) => Promise<void>>> = {
  attacks,
  'center-load': (rows) => centerLoad(rows),
  'center-load postgresql': (rows) => centerLoad(rows, 'postgresql'),
  chaos,
  'collector-away': collectorAway,
  'dev-saves': devSaves,
  'first-hour': firstHour,
  'forgotten-password': forgottenPassword,
  'full-scale': fullScale,
  fuzz: fuzzServers,
  growth,
  'held-tests': heldTests,
  jobs: (rows) => jobs(rows),
  'jobs postgresql': (rows) => jobs(rows, 'postgresql'),
  'jobs mariadb': (rows) => jobs(rows, 'mariadb'),
  'kill-sign-ins': killedSignIns,
  'kill-uploads': killedUploads,
  'many-solutions': manySolutions,
  memory,
  mutations,
  outage,
  samba,
  soak,
  'two-nodes': twoNodes,
}

const { names: asked, folder } = readWords(process.argv.slice(2))
const unknown = asked.filter((name) => !Object.hasOwn(RUNS, name))
if (unknown.length > 0) {
  process.stderr.write(`There is no long run "${unknown[0]}", only ${Object.keys(RUNS).join(', ')}.\n`)
  process.exit(2)
}

process.stdout.write(`${machine()}\n`)
const reports: Report[] = []
let allHolds = true
for (const name of asked.length === 0 ? Object.keys(RUNS) : asked) {
  const rows = createRows()
  const start = performance.now()
  try {
    await RUNS[name]?.(rows, folder)
  } catch (error) {
    process.stderr.write(`${name}: it could not be run to its end. ${(error as Error).stack}\n`)
    allHolds = false
  }
  const report = { name, seconds: (performance.now() - start) / 1000, rows: rows.rows }
  reports.push(report)
  if (!printReport(report)) allHolds = false
}
if (process.env.LONG_JSON) writeJson(process.env.LONG_JSON, reports)
process.exit(allHolds ? 0 : 1)

/**
 * Parses the command line. A variant's name follows the run's name. An argument with a slash is the folder for the
 * runs' files.
 */
function readWords(words: readonly string[]): {
  readonly names: readonly string[]
  readonly folder: string | undefined
} {
  const folder = words.find((word) => word.includes('/'))
  const names: string[] = []
  for (const word of words.filter((one) => one !== folder)) {
    const longer = `${names.at(-1)} ${word}`
    if (Object.hasOwn(RUNS, longer)) names[names.length - 1] = longer
    else names.push(word)
  }
  return { names, folder }
}
