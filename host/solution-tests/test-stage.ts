import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Limits } from '../../runtime/limits.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { createStage, type Stage } from './stage.ts'
import { endsWithProcess } from './with-process.ts'

/**
 * A stage for the command line, in a temporary folder that is removed when the stage stops or the process exits.
 * @param packed as in an upload
 * @throws ERR_BUNDLE_REFUSED with every error in `details.faults`
 */
export async function createTestStage(packed: Uint8Array, name: string, limits: Limits): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const remove = endsWithProcess(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  try {
    const stage = await createStage(packed, name, {
      folder,
      limits,
      createSupervisor: (options) => createSupervisor({ ...options, keepsSpare: false }),
    })
    return {
      ...stage,
      async stop() {
        await stage.stop()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}
