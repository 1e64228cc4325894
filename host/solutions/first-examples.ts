import type { Logger } from 'pino'
import { packFolder } from '../../base/bundles/pack.ts'
import { isLoopback } from '../../base/config/host-names.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { whyNotAtStart } from '../../runtime/memory-full.ts'
import type { Settings } from '../config/settings.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { ExampleUsers } from './example-users.ts'
import { exampleFolder, firstExampleNames } from './examples.ts'
import type { Uploads } from './upload.ts'

/**
 * Adds the examples and their users. It does so only on the first startup, so that deleted examples don't return. If
 * adding them fails, for example because memory is low, the host starts without them. It retries at its next startup.
 * @returns whether they were added, now or at an earlier startup
 */
export async function addExamplesOnce(
  db: HostDatabase,
  settings: Settings,
  uploads: Uploads,
  exampleUsers: Pick<ExampleUsers, 'create'>,
  log: Pick<Logger, 'warn'>,
): Promise<boolean> {
  const decided = await db.selectFrom('platform').select('value').where('key', '=', 'examples').executeTakeFirst()
  if (decided !== undefined) return decided.value === 'added'
  const value = getsExamples(settings) ? 'added' : 'none'
  if (value === 'added') {
    try {
      for (const name of firstExampleNames()) await uploads.upload(await packFolder(exampleFolder(name)), name)
      await exampleUsers.create()
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      log.warn(
        { code: error.code },
        `the example solutions were not added (the host tries again at its next start): ${whyNotAtStart(error)}`,
      )
      return false
    }
  }
  await insertOnce(db, 'platform', { key: 'examples', value })
  return value === 'added'
}

/**
 * Whether to add the examples. They are added only on a developer's machine, because some have public passwords. They
 * are not added if the image contains other solutions.
 */
export function getsExamples({ host, environment, solutionsFolder }: Settings): boolean {
  return solutionsFolder === '' && isLoopback(host) && ['none', 'dev', 'e2e'].includes(environment)
}
