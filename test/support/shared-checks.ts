import { createHash } from 'node:crypto'
import type { UploadCheck } from '../../runtime/check-upload.ts'
import { createSupervisor, type Supervisor, type SupervisorOptions } from '../../runtime/supervisor.ts'

/**
 * The maximum size of an upload whose check is reused, in characters of JSON. The results for larger uploads would use
 * too much memory.
 */
const LARGEST = 200 * 1024
/** This worker's upload checks. The key is a hash of everything that the result depends on. */
const checks = new Map<string, Promise<UploadCheck>>()

/**
 * Creates a supervisor for a test host. Tests upload the same solutions to many hosts, and each check needs a process.
 * If an upload is valid, this worker's other hosts therefore reuse the result. The supervisor starts no spare
 * processes. Tests of checks or spare processes must use `createSupervisor`.
 */
export function createSharedSupervisor(options: SupervisorOptions): Supervisor {
  const supervisor = createSupervisor({ ...options, keepsSpare: false })
  const surroundings = hashOf(JSON.stringify([options.limits, options.trusted, options.timeZone]))

  async function checkUpload(...parts: Parameters<Supervisor['checkUpload']>): Promise<UploadCheck> {
    const [files, prepare, probes] = parts
    const text = JSON.stringify([files, probes.map(({ isNeeded, ...probe }) => [probe, isNeeded !== undefined])])
    if (text.length > LARGEST) return supervisor.checkUpload(...parts)
    const key = surroundings + hashOf(text)
    const other = await checks.get(key)?.catch(() => null)
    if (other?.checked && other.faults.length === 0) {
      await prepare(other.checked)
      return other
    }
    const check = supervisor.checkUpload(...parts)
    checks.set(key, check)
    return check
  }

  return { ...supervisor, checkUpload }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
