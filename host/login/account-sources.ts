import type { Login } from '../../plugins/security/host.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Series } from '../sessions/remembered.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { type Effects, noEffects } from '../solutions/host-call.ts'
import { permissionsOf } from '../solutions/prepared-solution.ts'
import { secretFields } from '../solutions/redact.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { User, Users } from '../users/users.ts'
import { argumentOf, queryParams } from './query-params.ts'
import type { SignInMode } from './sign-in-mode.ts'

/** Who knows an account: the users table, which is one for all solutions, or a solution's own module (`''`). */
export type AccountSourceName = 'users' | ''

/** One who wants in: what the browser sent, and where from. */
export type Asking = {
  readonly solution: ActiveSolution
  readonly locale: string
  readonly url: ReadonlyMap<string, string>
  readonly correlationId: string
  readonly serverUrl: string
  /** The network address of the browser. */
  readonly address: string
}

/** What a source says of somebody. Refusals are answers; `failed` means that it could not say. */
export type SignInAnswer =
  | { readonly kind: 'accepted'; readonly login: Login; readonly effects: Effects; readonly user: User | null }
  | { readonly kind: 'refused'; readonly effects: Effects; readonly values: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failed'; readonly failure: Failed }

export type Accepted = Extract<SignInAnswer, { kind: 'accepted' }>

export interface AccountSource {
  readonly name: AccountSourceName
  /** The name under which attempts on its accounts are counted. */
  countedAs(solution: ActiveSolution): string
  /** Checks what was typed into the login page. */
  check(asking: Asking, fields: ReadonlyMap<string, string>): Promise<SignInAnswer>
  /** Asks about somebody who signed in before: rights may have changed since. */
  recheck(asking: Asking, series: Series): Promise<SignInAnswer>
  /**
   * Whether what was accepted a moment ago still holds. Asked once the session is there: what ended the user's access
   * before that found no session to end.
   */
  stillHolds(asking: Asking, accepted: Accepted): Promise<boolean>
}

export type AccountSources = (mode: Exclude<SignInMode, 'NONE'>) => AccountSource

export function createAccountSources(users: Users, runEntry: EntryRunner): AccountSources {
  const table = usersTable(users)
  const module = authenticatorModule(runEntry)
  return (mode) => (mode === 'DEFAULT' ? table : module)
}

function usersTable(users: Users): AccountSource {
  /** Chosen here: without a permission for the solution nobody signs in, as `security.login` takes no empty list. */
  async function answerFor({ solution }: Asking, user: User): Promise<SignInAnswer> {
    const listed = permissionsOf(solution)
    const held = await users.permissionsFor(user.uid, solution.name)
    // The table is one for all solutions: names that this one does not list are another's.
    const permissions = listed === null ? held : held.filter((name) => listed.includes(name))
    if (permissions.length === 0) return refused()
    const login = { username: user.username, uid: user.uid, permissions }
    return { kind: 'accepted', login, effects: { ...noEffects(), login }, user }
  }

  /** Users must be as they were when the password was checked, and may have gained permissions, but lost none. */
  async function isAsBefore(asking: Asking, { login, user: before }: Accepted): Promise<boolean> {
    const user = await users.get(login.uid)
    if (!user?.enabled || user.passwordChangedAt !== before?.passwordChangedAt) return false
    const now = await answerFor(asking, user)
    return now.kind === 'accepted' && login.permissions.every((name) => now.login.permissions.includes(name))
  }

  return {
    name: 'users',
    stillHolds: isAsBefore,
    countedAs: () => 'users',
    async check(asking, fields) {
      const user = await users.authenticate(fields.get('username') ?? '', fields.get('password') ?? '')
      return user === null ? refused() : answerFor(asking, user)
    },
    async recheck(asking, series) {
      const user = await users.get(series.uid)
      // Who has to choose a new password does that at the login page.
      return user?.enabled && !user.mustChangePassword ? answerFor(asking, user) : refused()
    },
  }
}

function authenticatorModule(runEntry: EntryRunner): AccountSource {
  async function ask(
    { solution, locale, url, correlationId, serverUrl, address }: Asking,
    params: Record<string, Json>,
    secrets: ReadonlyMap<string, string>,
  ): Promise<SignInAnswer> {
    const { failure, effects, values } = await runEntry(solution, {
      unit: 'authenticator',
      entry: 'onSolutionOpen',
      args: [argumentOf(url), params],
      secrets,
      call: { kind: 'login', correlationId, user: null, account: null, address, locale, serverUrl },
    })
    if (failure !== null) return { kind: 'failed', failure }
    const { login } = effects
    return login === null ? { kind: 'refused', effects, values } : { kind: 'accepted', login, effects, user: null }
  }

  return {
    name: '',
    countedAs: (solution) => `solution ${solution.name}`,
    check: (asking, fields) =>
      ask(asking, queryParams(asking.url, fields), secretFields(new Map([...asking.url, ...fields]))),
    recheck(asking, { lastLoginAt, uid, permissions, username }) {
      const lastLogin = { last_login: lastLoginAt, uid, permissions, username }
      const params = { ...queryParams(asking.url), username, last_login: lastLogin }
      return ask(asking, params, secretFields(asking.url))
    },
    // Its users are its own: nobody but it can end their access.
    stillHolds: async () => true,
  }
}

function refused(): SignInAnswer {
  return { kind: 'refused', effects: noEffects(), values: {} }
}
