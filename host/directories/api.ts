import { faultsOfPermissions } from '../../base/accounts/user-rules.ts'
import { DONE } from '../../base/api/route.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { directoryTarget } from './ask-directories.ts'
import type { Directories, Directory } from './directories.ts'
import { DirectoryFields, DirectoryForm, DirectoryName, TEST_STEPS } from './directory-settings.ts'
import type { DirectoryTest } from './test-directory.ts'

export type DirectoryApiParts = {
  readonly directories: Directories
  readonly testDirectory: DirectoryTest
  readonly endAccessOfDirectory: (name: string) => Promise<void>
  readonly limits: Limits
}

const ShownDirectory = DirectoryFields.omit({ bindPassword: true })
  .extend({
    name: DirectoryName,
    hasBindPassword: z.boolean(),
    lastTest: z
      .object({ time: z.number().describe('epoch ms'), failed: z.enum(TEST_STEPS).nullable() })
      .nullable()
      .describe(
        'when the current settings were last tested, and the first step that failed; null if they have not been tested',
      ),
  })
  .meta({ id: 'Directory' })

const TestForm = z
  .strictObject({
    username: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('username of a person to look up; if absent, the steps `person` and `membership` are skipped'),
  })
  .meta({ id: 'DirectoryTestForm' })

const DirectoryTestResult = z
  .object({
    steps: z.array(
      z.object({
        step: z.enum(TEST_STEPS),
        result: z.enum(['ok', 'failed', 'skipped']),
        message: z.string().describe('the result as text, without secrets'),
      }),
    ),
  })
  .meta({ id: 'DirectoryTest' })

type OfDirectory = { readonly params: { readonly name: string } }

/**
 * Routes for directories (LDAP, Active Directory), which are sources of users. They require the admin account or an API
 * token with the scope `admin`, because the settings determine who can sign in to which account.
 */
export function directoryRoutes({
  directories,
  testDirectory,
  endAccessOfDirectory,
  limits,
}: DirectoryApiParts): AdminRoute[] {
  const names = ({ params: { name } }: OfDirectory) => ({ target: directoryTarget(name) })

  async function need(name: string): Promise<Directory> {
    const found = (await directories.all()).find((one) => one.name === name)
    if (found !== undefined) return found
    throw new PlatformError('ERR_NOT_FOUND', `There is no directory named ${JSON.stringify(name)}. Check the name.`)
  }

  async function shown(name: string) {
    await need(name)
    const found = (await directories.list()).find((one) => one.name === name)
    if (found !== undefined) return found
    throw new PlatformError('ERR_NOT_FOUND', `There is no directory named ${JSON.stringify(name)}. Check the name.`)
  }

  return [
    route(
      'GET /directories',
      {
        summary: 'List the user directories (LDAP, Active Directory), in the order in which the host searches them',
        right: null,
        answers: { 200: z.object({ items: z.array(ShownDirectory) }) },
      },
      async () => ({ items: await directories.list() }),
    ),
    route(
      'GET /directories/:name',
      { summary: 'Get a directory, without its bind password', right: null, answers: { 200: ShownDirectory } },
      ({ params: { name } }) => shown(name),
    ),
    route(
      'PUT /directories/:name',
      {
        summary: 'Add a directory, or replace its settings. New settings apply from the next sign-in or lookup',
        right: null,
        act: 'directory',
        names,
        before: ({ params: { name } }) => checkName(name),
        body: DirectoryForm,
        answers: { 200: ShownDirectory },
      },
      async ({ params: { name }, body }) => {
        checkPermissions(body, limits)
        return directories.put(name, body)
      },
    ),
    route(
      'DELETE /directories/:name',
      {
        summary: 'Delete a directory. Its users are signed out and can’t sign in anymore; they stay in the users table',
        right: null,
        act: 'directory',
        names,
        answers: DONE,
      },
      async ({ params: { name } }) => {
        if (!(await directories.remove(name))) await need(name)
        await endAccessOfDirectory(name)
      },
    ),
    route(
      'POST /directories/:name/test',
      {
        summary:
          'Test a directory step by step: its servers, the bind account, the base, the groups and, if given, a person',
        right: null,
        body: TestForm.nullable(),
        isBodyOptional: true,
        answers: { 200: DirectoryTestResult },
      },
      async ({ params: { name }, body }) => {
        const directory = await need(name)
        const steps = await testDirectory(directory, body?.username ?? null)
        await directories.noteTest(directory, steps.find(({ result }) => result === 'failed')?.step ?? null)
        return { steps }
      },
    ),
  ]
}

function checkName(name: string): void {
  const checked = DirectoryName.safeParse(name)
  if (checked.success) return
  throw new PlatformError('ERR_REQUEST_INVALID', `The directory’s name ${checked.error.issues[0]?.message}.`)
}

/** Checks the permissions of all groups together, because a person can be a member of several. */
function checkPermissions({ groups }: DirectoryForm, limits: Limits): void {
  const faults = faultsOfPermissions(
    groups.flatMap(({ permissions }) => permissions),
    limits,
  )
  if (faults[0] !== undefined) throw new PlatformError('ERR_REQUEST_INVALID', `groups: ${faults[0].message}`)
}
