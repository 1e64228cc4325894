import type { Findings } from './findings.ts'
import { MOST_JOBS } from './job-schema.ts'
import { folderOf, MANIFEST } from './layout.ts'
import { clientModules, type Modules, type ReadManifest } from './modules.ts'
import { createSchedule } from './schedule.ts'

/** Checks the jobs of all manifests together. */
export function checkJobs(main: ReadManifest, modules: Modules, found: Findings): void {
  const forClients = clientModules(main, modules)
  const all = [{ name: null, ...main }, ...modules.reached]
  const names = new Set<string>()
  for (const { name, manifest, places } of all) {
    const jobs = Object.keys(manifest?.jobs ?? {})
    if (jobs.length === 0) continue
    for (const job of jobs) names.add(job)
    if (name === null || forClients.has(name)) continue
    const message = `"jobs" has no effect in the module "${name}", because that module signs users in; move "jobs" to the solution or another module`
    found.fault(`${folderOf(name)}${MANIFEST}`, 'module_invalid', message, places.key(['jobs']))
  }
  if (names.size > MOST_JOBS) {
    const message = `the solution and its modules have ${names.size} jobs; at most ${MOST_JOBS} are allowed`
    found.fault(MANIFEST, 'manifest_invalid', message, main.places.key(['jobs']))
  }
  if (found.faults.length === 0) checkDue(all, found)
}

/**
 * Reports a schedule that is never due. Stops at the first one, because the search for its next time takes a tenth of a
 * second.
 */
function checkDue(all: readonly (ReadManifest & { readonly name: string | null })[], found: Findings): void {
  for (const { name, manifest, places } of all) {
    for (const [job, { schedule }] of Object.entries(manifest?.jobs ?? {})) {
      if (schedule === null || createSchedule(schedule, 'Etc/UTC').next(Date.now()) !== null) continue
      const message = `"jobs.${job}.schedule" matches no date, so the job would never run: "${schedule}"`
      found.fault(`${folderOf(name)}${MANIFEST}`, 'manifest_invalid', message, places.value(['jobs', job, 'schedule']))
      return
    }
  }
}
