import { PlatformError } from '../../runtime/errors.ts'
import type { Connection, Connections } from './connection.ts'
import type { Directory } from './directories.ts'
import { TEST_STEPS, type TestStepName } from './directory-settings.ts'
import { type FoundEntry, findByName } from './entries.ts'
import { groupsOf, permissionsOf } from './groups.ts'

/**
 * `skipped` means that the step does not apply, or that an earlier step failed. `message` says why, without any
 * secrets.
 */
export type TestStep = {
  readonly step: TestStepName
  readonly result: 'ok' | 'failed' | 'skipped'
  readonly message: string
}

/** Tests a directory. @param username the person to find; null skips this step */
export type DirectoryTest = (directory: Directory, username: string | null) => Promise<readonly TestStep[]>

/** Maximum groups listed in a message. */
const MOST_NAMED = 10
/** Maximum characters of a message. */
const LONGEST_MESSAGE = 2000

/** Finds the row of the users table that has this name, and the directory entry that it belongs to, if any. */
export type FindNamed = (
  username: string,
) => Promise<{ readonly directory: string | null; readonly directory_id: string | null } | undefined>

export function createDirectoryTest(connections: Connections, findNamed: FindNamed): DirectoryTest {
  return async (directory, username) => {
    const steps: TestStep[] = []
    const add = (step: TestStepName, result: TestStep['result'], message: string) =>
      void steps.push({ step, result, message: message.slice(0, LONGEST_MESSAGE) })

    /** Runs a step. @returns whether the next steps can run */
    async function run(step: TestStepName, work: () => Promise<string>): Promise<boolean> {
      try {
        add(step, 'ok', await work())
        return true
      } catch (error) {
        if (!(error instanceof PlatformError) && !(error instanceof Failed)) throw error
        add(step, 'failed', error.message)
        return error instanceof Failed && error.mayContinue
      }
    }

    async function runOnConnection(connection: Connection): Promise<void> {
      add('bind', 'ok', describeBind(directory))
      if (!(await run('base', () => checkBase(connection, directory)))) return
      await run('groups', () => checkGroups(connection, directory))
      if (username === null) return
      let entry: FoundEntry | null = null
      const isFound = await run('person', async () => {
        entry = await findPerson(connection, directory, username)
        await checkNames(entry, directory, username, findNamed)
        return describeEntry(entry)
      })
      const person = entry as FoundEntry | null
      if (isFound && person !== null) await run('membership', () => checkMembership(connection, directory, person))
    }

    if (await run('connection', () => checkServers(connections, directory))) {
      try {
        await connections.use(directory, runOnConnection)
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        // If the bind account had already signed in, the connection failed during a later step.
        if (!steps.some(({ step }) => step === 'bind')) add('bind', 'failed', error.message)
      }
    }
    const notReached = (step: TestStepName): TestStep => {
      const isOfPerson = username === null && (step === 'person' || step === 'membership')
      return {
        step,
        result: 'skipped',
        message: isOfPerson
          ? 'This step was skipped, because no username was entered.'
          : 'This step was skipped, because an earlier step failed.',
      }
    }
    return TEST_STEPS.map((name) => steps.find(({ step }) => step === name) ?? notReached(name))
  }
}

class Failed extends Error {
  readonly mayContinue: boolean

  constructor(message: string, { mayContinue }: { readonly mayContinue: boolean }) {
    super(message)
    this.mayContinue = mayContinue
  }
}

/** Tests each server separately, because a sign-in uses the other servers only while the first one is down. */
async function checkServers(connections: Connections, directory: Directory): Promise<string> {
  const lines: string[] = []
  let failures = 0
  for (const url of directory.urls) {
    try {
      lines.push(`${url}: ${await connections.probe(directory, url)}`)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      failures++
      lines.push(error.message)
    }
  }
  if (failures === 0) return lines.join(' ')
  throw new Failed(lines.join(' '), { mayContinue: failures < directory.urls.length })
}

function describeBind({ bindDn }: Directory): string {
  return bindDn === null
    ? 'No bind account is set, so the host searches anonymously.'
    : `The directory accepts the bind account ${bindDn}.`
}

async function checkBase(connection: Connection, { base }: Directory): Promise<string> {
  if ((await connection.find(base, null)) !== null) return `${base} exists.`
  const message = `The entry ${base} doesn’t exist, or the bind account isn’t allowed to read it. Fix the base, or give the account read access.`
  throw new Failed(message, { mayContinue: false })
}

async function checkGroups(connection: Connection, { groups }: Directory): Promise<string> {
  const missing: string[] = []
  for (const { dn } of groups) if ((await connection.find(dn, null)) === null) missing.push(dn)
  if (missing.length === 0) return groups.length === 1 ? 'The mapped group exists.' : 'All mapped groups exist.'
  const message = `These groups don’t exist, or the bind account isn’t allowed to read them: ${named(missing)}. Fix their names, or give the account read access.`
  throw new Failed(message, { mayContinue: true })
}

async function findPerson(connection: Connection, directory: Directory, username: string): Promise<FoundEntry> {
  const [entry, ...others] = await findByName(connection, directory, username)
  const stop = { mayContinue: false }
  if (entry === undefined)
    throw new Failed(
      'No entry below the base matches the filter for this username. Check the username, the filter and the base.',
      stop,
    )
  if (others.length > 0)
    throw new Failed(
      'Several entries match the filter for this username. Change the filter so that only one entry matches.',
      stop,
    )
  const { attributes, idAttribute } = directory
  if (entry.id === null)
    throw new Failed(
      `The attribute ${idAttribute} of the entry ${entry.dn} is missing or invalid. Check the setting idAttribute.`,
      stop,
    )
  if (entry.username === null)
    throw new Failed(
      `The entry ${entry.dn} has no attribute ${attributes.username}. Check the setting attributes.username.`,
      stop,
    )
  if (entry.isDisabled)
    throw new Failed(`The account ${entry.dn} is disabled or has expired. Enable or renew it in the directory.`, stop)
  return entry
}

/**
 * A sign-in first looks up the typed name in the users table. It asks no directory about the password of a user who is
 * only in that table. Otherwise, the user's row gets the entry's name, which must be free.
 */
async function checkNames(
  entry: FoundEntry,
  { name }: Directory,
  username: string,
  findNamed: FindNamed,
): Promise<void> {
  for (const one of new Set([username, entry.username ?? username])) {
    const row = await findNamed(one)
    if (row === undefined || (row.directory === name && row.directory_id === entry.id)) continue
    const message = `${describeEntry(entry)} But the users table contains another user named "${one}", who doesn’t belong to this entry, so this person can’t sign in. Rename or delete that user.`
    throw new Failed(message, { mayContinue: true })
  }
}

function describeEntry({ dn, id, username, displayName, email }: FoundEntry): string {
  const more = [displayName, email].filter((one) => one !== null)
  return `Found ${dn}: username ${username}${more.length === 0 ? '' : ` (${more.join(', ')})`}, id ${id}.`
}

async function checkMembership(connection: Connection, directory: Directory, entry: FoundEntry): Promise<string> {
  const groups = await groupsOf(connection, directory, entry)
  if (groups.length === 0) {
    throw new Failed(
      'This person isn’t a member of any mapped group, so they can’t sign in. Add them to a mapped group, or map one of their groups.',
      { mayContinue: false },
    )
  }
  const permissions = permissionsOf(groups).map((one) =>
    typeof one === 'string' ? one : `${one.name}@${one.solution}`,
  )
  return `Member of ${named(groups.map(({ dn }) => dn))}. Permissions: ${named(permissions)}.`
}

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return `${names.slice(0, MOST_NAMED).join('; ')}${more > 0 ? ` and ${more} more` : ''}`
}
